//! Health probes of replicas. They run in the background: a round starts them, a later one uses their results.

use super::Round;
use super::replica::{event, name_of};
use crate::fault;
use crate::reconciler::RoundError;
use crate::reconciler::rows::Rows;
use domain::endpoint::event::EventType;
use domain::endpoint::replica::{Replica, ReplicaState};
use domain::{Endpoint, ReplicaId, Timestamp};
use fleet::drivers::Driver;
use fleet::engine::{PROBE_PERIOD, ProbeResult, ProbeStreak, Readiness};
use std::collections::HashMap;
use std::time::Duration;
use store::LeaderWrite;
use tokio::task::JoinSet;

/// Probe period of a replica that starts.
const START_PROBE_PERIOD: Duration = Duration::from_millis(500);
/// How often `last_seen` and the log tail of a ready replica are stored.
const REPORT_PERIOD: Duration = Duration::from_secs(15);
const START_REPORT_PERIOD: Duration = Duration::from_secs(5);

/// Probes in flight, and the latest results.
#[derive(Default)]
pub(in crate::reconciler) struct Probes {
    replicas: HashMap<ReplicaId, ProbeState>,
    in_flight: JoinSet<(ReplicaId, ProbeResult)>,
}

#[derive(Default)]
struct ProbeState {
    probed_at: Option<Timestamp>,
    in_flight: bool,
    /// A result that no round has used yet.
    result: Option<ProbeResult>,
    streak: ProbeStreak,
    reported_at: Option<Timestamp>,
    /// Whether the latest probe failed.
    is_unhealthy: bool,
}

impl ProbeState {
    /// Whether to probe now; if so, counts as probed.
    fn take_probe_due(&mut self, period: Duration, now: Timestamp) -> bool {
        let due = !self.in_flight && is_over(self.probed_at, period, now);
        if due {
            (self.in_flight, self.probed_at) = (true, Some(now));
        }
        due
    }

    /// Whether to store `last_seen` now; if so, counts as reported. An unhealthy replica may be gone with its machine: then
    /// it was last seen when it last responded.
    fn take_report_due(&mut self, was_ready: bool, now: Timestamp) -> bool {
        let is_present = !was_ready || !self.is_unhealthy;
        let period = if was_ready { REPORT_PERIOD } else { START_REPORT_PERIOD };
        let due = is_present && is_over(self.reported_at, period, now);
        if due {
            self.reported_at = Some(now);
        }
        due
    }
}

/// Whether a period is over, or the clock was set back meanwhile.
fn is_over(began: Option<Timestamp>, period: Duration, now: Timestamp) -> bool {
    began.is_none_or(|began| now < began || u128::from(now.millis_since(began)) >= period.as_millis())
}

impl Probes {
    pub(super) fn forget(&mut self, replica: &ReplicaId) {
        self.replicas.remove(replica);
    }

    fn collect(&mut self) {
        while let Some(ended) = self.in_flight.try_join_next() {
            if let Ok((id, result)) = ended
                && let Some(state) = self.replicas.get_mut(&id)
            {
                (state.in_flight, state.result) = (false, Some(result));
            }
        }
    }
}

impl<D: Driver + Clone, S: Rows> Round<'_, D, S> {
    /// Uses the latest probe result of a running replica, and starts the next probe when it is due.
    pub(super) async fn probe(&mut self, endpoint: &Endpoint, replica: &mut Replica) -> Result<(), RoundError> {
        self.probes.collect();
        let (now, was_ready) = (self.now, replica.ready_at.is_some());
        let state = self.probes.replicas.entry(replica.id.clone()).or_default();
        let result = state.result.take();
        if state.take_probe_due(if was_ready { PROBE_PERIOD } else { START_PROBE_PERIOD }, now) {
            let (driver, id, name) = (self.parts.driver.clone(), replica.id.clone(), name_of(replica));
            self.probes.in_flight.spawn(async move {
                let result = if was_ready { driver.probe(&name).await } else { driver.probe_start(&name).await };
                (id, result)
            });
        }
        let verdict = result.as_ref().map(|result| state.streak.record(result));
        if let Some(result) = &result {
            state.is_unhealthy = *result != ProbeResult::Healthy;
        }
        if state.take_report_due(was_ready, now) {
            self.report(replica).await?;
        }
        match (verdict, result) {
            (_, Some(ProbeResult::Healthy)) if replica.state() != ReplicaState::Ready => {
                self.ready(endpoint, replica).await
            }
            (Some(Readiness::NotReady), _) if replica.state() == ReplicaState::Ready => {
                replica.transition(ReplicaState::Starting)?;
                self.write(replica).await
            }
            (Some(Readiness::Restart), Some(ProbeResult::Unhealthy(reason))) if was_ready => {
                // Stored before the stop, so that its end has an explanation.
                replica.last_error = Some(format!("the replica failed its health checks: {reason}"));
                self.write(replica).await?;
                self.stop(&name_of(replica)).await;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Stores when the replica was seen, and the tail of its log if that has changed. A leader that was paused since has not
    /// seen it later.
    async fn report(&self, replica: &mut Replica) -> Result<(), RoundError> {
        let log_tail = self.parts.driver.log_tail(&name_of(replica)).await;
        let has_new_log = replica.log_tail != log_tail && !log_tail.is_empty();
        if has_new_log {
            replica.log_tail = log_tail;
        }
        let mut writes = vec![LeaderWrite::Seen { replica: &replica.id, at: self.snapshot.observed_at }];
        writes.extend(has_new_log.then_some(LeaderWrite::Replica(replica)));
        Ok(self.commit(&writes).await?)
    }

    async fn ready(&self, endpoint: &Endpoint, replica: &mut Replica) -> Result<(), RoundError> {
        replica.transition(ReplicaState::Ready)?;
        replica.ready_at.get_or_insert(self.now);
        if let Some(address) = self.parts.driver.address(&name_of(replica)) {
            replica.address = Some(address);
        }
        let event = event(endpoint, replica, EventType::ReplicaReady, "", self.now);
        fault::point("ready-before-commit");
        self.commit(&[LeaderWrite::Replica(replica), LeaderWrite::Event(&event)]).await?;
        fault::point("ready-after-commit");
        Ok(())
    }
}
