//! Asks replicas how they are, without waiting for the answers: a later round hears them.

use super::replica::{event, name_of};
use super::{Reconciler, RoundError};
use crate::fault;
use domain::endpoint::event::EventType;
use domain::endpoint::replica::{Replica, ReplicaState};
use domain::{Endpoint, ReplicaId, Timestamp};
use fleet::drivers::process::{PROBE_PERIOD, Streak, Verdict};
use fleet::drivers::{Driver, Probe};
use std::collections::HashMap;
use std::time::Duration;
use store::{Fenced, endpoint_events, holds, replicas};
use tokio::task::JoinSet;

/// How often a replica that starts is asked whether it is ready.
const ASK_STARTING: Duration = Duration::from_millis(500);
/// How often the store is told that a replica is still there, and what it said last.
const TELL_SEEN: Duration = Duration::from_secs(15);
const TELL_STARTING: Duration = Duration::from_secs(5);

/// Questions that are under way, and what was last heard.
#[derive(Default)]
pub(super) struct Probes {
    known: HashMap<ReplicaId, Known>,
    asking: JoinSet<(ReplicaId, Probe)>,
}

#[derive(Default)]
struct Known {
    asked_at: Option<Timestamp>,
    asking: bool,
    heard: Option<Probe>,
    streak: Streak,
    told_at: Option<Timestamp>,
    /// What it last answered was not well.
    is_unwell: bool,
}

impl Known {
    /// Whether it is time to ask again; then it counts as asked.
    fn is_due(&mut self, period: Duration, now: Timestamp) -> bool {
        let due = !self.asking && is_over(self.asked_at, period, now);
        if due {
            (self.asking, self.asked_at) = (true, Some(now));
        }
        due
    }

    /// Whether it is time to tell that it is there; then it counts as told.
    fn is_to_be_told(&mut self, was_ready: bool, now: Timestamp) -> bool {
        // One that does not answer any more may be gone with its machine: then it was last there when it answered.
        let is_there = !was_ready || !self.is_unwell;
        let due = is_there && is_over(self.told_at, if was_ready { TELL_SEEN } else { TELL_STARTING }, now);
        if due {
            self.told_at = Some(now);
        }
        due
    }
}

/// Whether a period that began then is over, or the clock was set back meanwhile.
fn is_over(began: Option<Timestamp>, period: Duration, now: Timestamp) -> bool {
    began.is_none_or(|began| now < began || u128::from(now.millis_since(began)) >= period.as_millis())
}

impl Probes {
    pub(super) fn forget(&mut self, replica: &ReplicaId) {
        self.known.remove(replica);
    }

    fn collect(&mut self) {
        while let Some(ended) = self.asking.try_join_next() {
            if let Ok((id, probe)) = ended
                && let Some(known) = self.known.get_mut(&id)
            {
                (known.asking, known.heard) = (false, Some(probe));
            }
        }
    }
}

impl<D: Driver + Clone> Reconciler<D> {
    /// Hears what a running replica answered, and asks again when it is time.
    pub(super) async fn ask(
        &mut self,
        epoch: u64,
        endpoint: &Endpoint,
        replica: &mut Replica,
    ) -> Result<(), RoundError> {
        self.probes.collect();
        let (now, was_ready) = ((self.parts.now)(), replica.ready_at.is_some());
        let known = self.probes.known.entry(replica.id.clone()).or_default();
        let heard = known.heard.take();
        if known.is_due(if was_ready { PROBE_PERIOD } else { ASK_STARTING }, now) {
            let (driver, id, name) = (self.parts.driver.clone(), replica.id.clone(), name_of(replica));
            self.probes.asking.spawn(async move {
                let probe = if was_ready { driver.probe(&name).await } else { driver.probe_start(&name).await };
                (id, probe)
            });
        }
        let verdict = heard.as_ref().map(|probe| known.streak.note(probe));
        if let Some(probe) = &heard {
            known.is_unwell = *probe != Probe::Well;
        }
        if known.is_to_be_told(was_ready, now) {
            self.tell_of(epoch, replica, now).await?;
        }
        match (verdict, heard) {
            (_, Some(Probe::Well)) if replica.state() != ReplicaState::Ready => {
                self.ready(epoch, endpoint, replica).await
            }
            (Some(Verdict::NotReady), _) if replica.state() == ReplicaState::Ready => {
                replica.transition(ReplicaState::Starting)?;
                self.write(epoch, replica).await
            }
            (Some(Verdict::Restart), Some(Probe::Unwell(why))) if was_ready => {
                // Written before it is told: whoever sees its end knows whose doing it was.
                replica.last_error = Some(format!("the replica did not answer its health checks: {why}"));
                self.write(epoch, replica).await?;
                self.stop(&name_of(replica)).await;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Tells the store that it is there, and the end of its log if there is something new in it.
    async fn tell_of(&self, epoch: u64, replica: &mut Replica, now: Timestamp) -> Result<(), RoundError> {
        let log_tail = self.parts.driver.log_tail(&name_of(replica)).await;
        let mut tx = Fenced::begin(&self.parts.store, epoch).await?;
        holds::seen(&mut tx, &replica.id, now).await?;
        if replica.log_tail != log_tail && !log_tail.is_empty() {
            replica.log_tail = log_tail;
            replicas::update(&mut tx, replica).await?;
        }
        Ok(tx.commit().await?)
    }

    async fn ready(&mut self, epoch: u64, endpoint: &Endpoint, replica: &mut Replica) -> Result<(), RoundError> {
        let now = (self.parts.now)();
        replica.transition(ReplicaState::Ready)?;
        replica.ready_at.get_or_insert(now);
        if let Some(address) = self.parts.driver.address(&name_of(replica)) {
            replica.address = Some(address.to_string());
        }
        let mut tx = Fenced::begin(&self.parts.store, epoch).await?;
        replicas::update(&mut tx, replica).await?;
        endpoint_events::append(&mut tx, &event(endpoint, replica, EventType::ReplicaReady, "", now)).await?;
        fault::point("ready-before-commit");
        tx.commit().await?;
        fault::point("ready-after-commit");
        Ok(())
    }
}
