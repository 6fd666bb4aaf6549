//! Makes what runs follow what is wanted.
//!
//! One node leads at a time. Every round it looks at the whole picture, rows and processes, and does the next thing for
//! each replica and each endpoint; a round that fails half-way is made good by the next. Nothing is remembered between
//! rounds that the rows and the driver could not tell again. Every write goes through the leader's fence.

mod autoscale;
mod follow;
mod leader;
mod replica;
mod step;
mod upkeep;

pub use follow::Follower;

use crate::endpoints::{Note, Transition, transition};
use crate::entropy;
use autoscale::Autoscaler;
use domain::endpoint::failure::{self, Ending, Exit, Verdict};
use domain::endpoint::replica::{Candidate, Replica, ReplicaState, Wish, pick_to_drain};
use domain::endpoint::state::{State, Trigger};
use domain::{Endpoint, ReplicaId, Timestamp};
use fleet::drivers::{DeviceId, Driver, Observed, Sighting, Taken};
use fleet::{Endpoints, Routes};
use leader::Leader;
use replica::Probes;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use store::{Fenced, Page, Store, StoreError, endpoints, holds, nodes, replicas};
use tokio::sync::Notify;
use upkeep::Upkeep;

/// How often a round is made when nothing asks for one.
const ROUND: Duration = Duration::from_millis(500);
/// A node that says nothing for so long is lost.
const NODE_LOST_MILLIS: u64 = 60_000;
/// Replicas that have ended and are looked at when the next start is decided about.
const REMEMBERED_EXITS: u32 = 20;

/// What the control plane works with.
#[derive(Clone)]
pub struct Parts<D> {
    pub store: Store,
    pub driver: D,
    pub routes: Routes,
    pub endpoints: Endpoints,
    pub node: String,
    pub now: fn() -> Timestamp,
    /// Somebody knows that there is something to do.
    pub nudge: Arc<Notify>,
}

pub struct Reconciler<D> {
    parts: Parts<D>,
    probes: Probes,
    autoscaler: Autoscaler,
    upkeep: Upkeep,
}

impl<D: Driver + Clone> Reconciler<D> {
    pub fn new(parts: Parts<D>) -> Self {
        Self { parts, probes: Probes::default(), autoscaler: Autoscaler::default(), upkeep: Upkeep::default() }
    }

    /// Leads whenever it may, for ever.
    pub async fn run(mut self) {
        let mut leader = Leader::new(self.parts.store.clone(), self.parts.node.clone());
        loop {
            let _ = tokio::time::timeout(ROUND, self.parts.nudge.notified()).await;
            let Some(epoch) = leader.look((self.parts.now)()).await else { continue };
            if let Err(error) = self.round(epoch).await {
                tracing::warn!(%error, "a round of the control plane was not finished");
            }
        }
    }

    /// Closes the holds of this machine's replicas that have ended because all of them were to end.
    pub async fn release_ended(&mut self) -> Result<(), StoreError> {
        let mut leader = Leader::new(self.parts.store.clone(), self.parts.node.clone());
        let Some(epoch) = leader.look((self.parts.now)()).await else { return Ok(()) };
        let all = endpoints::list_all(&self.parts.store).await?;
        let seen = self.parts.driver.list().await.unwrap_or_default();
        for mut replica in replicas::list_live(&self.parts.store).await? {
            let exit = sighting(&replica, &seen).and_then(|observed| match &observed.sighting {
                Sighting::Exited(exit) => Some(exit.at),
                _ => None,
            });
            let endpoint = all.iter().find(|endpoint| endpoint.id == replica.endpoint);
            if let (Some(at), Some(endpoint)) = (exit, endpoint) {
                self.end(epoch, endpoint, &mut replica, at, None).await?;
            }
        }
        Ok(())
    }

    /// Looks at everything once and does the next thing.
    pub async fn round(&mut self, epoch: u64) -> Result<(), StoreError> {
        let all = endpoints::list_all(&self.parts.store).await?;
        let live = replicas::list_live(&self.parts.store).await?;
        let seen = match self.parts.driver.list().await {
            Ok(seen) => seen,
            Err(error) => {
                tracing::warn!(%error, "the replicas of this machine cannot be listed");
                return Ok(());
            }
        };
        self.end_strangers(&live, &seen).await;
        self.give_up_lost_nodes(epoch, &all, &live).await?;
        let mut taken = taken(&live, &self.parts.node);
        for endpoint in all {
            let own = live.iter().filter(|replica| replica.endpoint == endpoint.id).cloned().collect();
            match self.tend(epoch, endpoint, own, &seen, &mut taken).await {
                // Somebody else changed it meanwhile: the next round sees what is so now.
                Ok(()) | Err(StoreError::EndpointStale) => {}
                Err(error) => return Err(error),
            }
        }
        self.autoscaler.tick(&self.parts, epoch).await?;
        self.upkeep.tick(&self.parts, epoch).await
    }

    async fn tend(
        &mut self,
        epoch: u64,
        endpoint: Endpoint,
        mut own: Vec<Replica>,
        seen: &[Observed],
        taken: &mut Taken,
    ) -> Result<(), StoreError> {
        for replica in &mut own {
            self.follow(epoch, &endpoint, replica, seen).await?;
        }
        own.retain(|replica| !replica.state.is_over());
        let endpoint = self.step_endpoint(epoch, endpoint, &own).await?;
        let Some(endpoint) = endpoint else { return Ok(()) };
        self.make_the_number_right(epoch, &endpoint, &mut own).await?;
        for replica in own.iter().filter(|replica| replica.state == ReplicaState::Pending) {
            self.place(epoch, &endpoint, replica, taken).await?;
        }
        Ok(())
    }

    /// Lets the endpoint's state follow its replicas; `None` when it is gone.
    async fn step_endpoint(
        &self,
        epoch: u64,
        endpoint: Endpoint,
        own: &[Replica],
    ) -> Result<Option<Endpoint>, StoreError> {
        let ready = own.iter().filter(|one| one.state == ReplicaState::Ready && one.wish == Wish::Run).count();
        let ready = u32::try_from(ready).unwrap_or(u32::MAX);
        let trigger = match endpoint.state {
            State::Deleting if own.is_empty() => Trigger::LastHoldReleased,
            State::Provisioning if ready > 0 => Trigger::Ready,
            State::Serving if ready == 0 && endpoint.status.desired > 0 => Trigger::ReplicaLost { ready },
            State::Serving if ready < endpoint.status.desired && self.has_failed(&endpoint).await? => {
                Trigger::ReplicaLost { ready }
            }
            State::Serving if ready >= endpoint.status.desired => Trigger::Ready,
            _ => return Ok(Some(endpoint)),
        };
        self.happen(epoch, endpoint, trigger, String::new()).await
    }

    /// Writes what follows from a trigger.
    async fn happen(
        &self,
        epoch: u64,
        endpoint: Endpoint,
        trigger: Trigger,
        message: String,
    ) -> Result<Option<Endpoint>, StoreError> {
        let mut tx = Fenced::begin(&self.parts.store, epoch).await?;
        let note = Note { part: "reconciler", message, data: Value::Null };
        let written = transition(&mut tx, &endpoint, trigger, note, (self.parts.now)()).await?;
        match written {
            Transition::Same | Transition::OutOfPlace(_) => Ok(Some(endpoint)),
            Transition::Changed(changed) => {
                tx.commit().await?;
                Ok(Some(*changed))
            }
            Transition::Gone => {
                tx.commit().await?;
                Ok(None)
            }
        }
    }

    /// More replicas where some are missing, fewer where there are too many.
    async fn make_the_number_right(
        &mut self,
        epoch: u64,
        endpoint: &Endpoint,
        own: &mut Vec<Replica>,
    ) -> Result<(), StoreError> {
        let wanted = endpoint.status.desired as usize;
        let running = own.iter().filter(|replica| replica.wish == Wish::Run).count();
        if running > wanted {
            return self.let_go(epoch, endpoint, own, running - wanted).await;
        }
        for _ in running..wanted {
            if let Some(draining) =
                own.iter_mut().find(|one| one.state == ReplicaState::Draining && one.wish == Wish::Go)
            {
                self.keep(epoch, endpoint, draining).await?;
                continue;
            }
            match self.verdict(endpoint).await? {
                Some(Verdict::GiveUp(reason)) if own.iter().all(|one| one.state != ReplicaState::Ready) => {
                    let message = self.last_words(endpoint).await?.unwrap_or_else(|| reason.message().to_owned());
                    self.happen(epoch, endpoint.clone(), Trigger::StartFailed(reason), message).await?;
                    return Ok(());
                }
                Some(Verdict::StartAgain { not_before }) if not_before > (self.parts.now)() => return Ok(()),
                _ => own.push(self.add(epoch, endpoint).await?),
            }
        }
        Ok(())
    }

    async fn let_go(
        &self,
        epoch: u64,
        endpoint: &Endpoint,
        own: &mut [Replica],
        surplus: usize,
    ) -> Result<(), StoreError> {
        let now = (self.parts.now)();
        let candidates: Vec<Candidate> = own
            .iter()
            .filter(|replica| replica.wish == Wish::Run)
            .map(|one| Candidate { id: one.id.clone(), state: one.state, ready_at: one.ready_at, in_flight: 0 })
            .collect();
        let goes = pick_to_drain(&candidates, surplus, endpoint.scaling.windows.down_secs, now);
        let drain_secs = endpoints::drain_secs(&self.parts.store, &endpoint.id).await?.unwrap_or(0);
        for replica in own.iter_mut().filter(|replica| goes.contains(&replica.id)) {
            replica.wish = Wish::Go;
            replica.drain_until = Some(now.plus_millis(i64::from(drain_secs) * 1_000));
            if replica.state == ReplicaState::Ready {
                replica.state = ReplicaState::Draining;
            }
            self.write(epoch, replica).await?;
        }
        Ok(())
    }

    /// What the failed starts since the endpoint began, or was last well for long, say about the next.
    async fn verdict(&self, endpoint: &Endpoint) -> Result<Option<Verdict>, StoreError> {
        let exits = self.exits(endpoint).await?;
        Ok((!exits.is_empty()).then(|| failure::after_exit(&exits, (self.parts.now)())))
    }

    async fn has_failed(&self, endpoint: &Endpoint) -> Result<bool, StoreError> {
        Ok(!self.exits(endpoint).await?.is_empty())
    }

    async fn exits(&self, endpoint: &Endpoint) -> Result<Vec<Exit>, StoreError> {
        let newest = replicas::newest_of(&self.parts.store, &endpoint.id, REMEMBERED_EXITS).await?;
        Ok(fresh_exits(&newest, endpoint))
    }

    async fn last_words(&self, endpoint: &Endpoint) -> Result<Option<String>, StoreError> {
        let newest = replicas::newest_of(&self.parts.store, &endpoint.id, REMEMBERED_EXITS).await?;
        Ok(newest.into_iter().rev().find_map(|replica| replica.last_error))
    }

    async fn add(&self, epoch: u64, endpoint: &Endpoint) -> Result<Replica, StoreError> {
        let now = (self.parts.now)();
        let new = Replica {
            id: ReplicaId::new(now, entropy::for_id()),
            endpoint: endpoint.id.clone(),
            wish: Wish::Run,
            drain_until: None,
            state: ReplicaState::Pending,
            driver: endpoint.shape.flavor.driver,
            node: None,
            address: None,
            gpu_ids: Vec::new(),
            created_at: now,
            started_at: None,
            ready_at: None,
            ended_at: None,
            last_error: None,
            ending: None,
            log_tail: String::new(),
        };
        let mut tx = Fenced::begin(&self.parts.store, epoch).await?;
        replicas::insert(&mut tx, &new).await?;
        tx.commit().await?;
        Ok(new)
    }

    async fn write(&self, epoch: u64, replica: &Replica) -> Result<(), StoreError> {
        let mut tx = Fenced::begin(&self.parts.store, epoch).await?;
        replicas::update(&mut tx, replica).await?;
        tx.commit().await
    }

    /// A node that has been silent for long is gone with its replicas, as far as anyone can tell: their holds end when
    /// they were last seen. Should it come back, it finds that nobody wants them.
    async fn give_up_lost_nodes(&mut self, epoch: u64, all: &[Endpoint], live: &[Replica]) -> Result<(), StoreError> {
        let elsewhere = |replica: &&Replica| replica.node.as_deref().is_some_and(|node| node != self.parts.node);
        let away: Vec<Replica> = live.iter().filter(elsewhere).cloned().collect();
        if away.is_empty() {
            return Ok(());
        }
        let now = (self.parts.now)();
        let known = nodes::list(&self.parts.store, Page::default()).await?;
        let lives =
            |name: &str| known.iter().any(|node| node.id == name && now.millis_since(node.seen_at) < NODE_LOST_MILLIS);
        let open = holds::list_open(&self.parts.store).await?;
        for mut replica in away {
            let endpoint = all.iter().find(|endpoint| endpoint.id == replica.endpoint);
            let (Some(node), Some(endpoint)) = (replica.node.clone(), endpoint) else { continue };
            if !lives(&node) {
                let hold = open.iter().find(|held| held.replica == replica.id);
                let at = hold.map_or(now, |held| held.hold.last_seen_at);
                let ending = Some((Ending::NodeLost, format!("the node {node} has not been seen for a minute")));
                self.end(epoch, endpoint, &mut replica, at, ending).await?;
            }
        }
        Ok(())
    }

    /// Ends what runs here and has no row, and clears away what is over.
    async fn end_strangers(&self, live: &[Replica], seen: &[Observed]) {
        let driver = &self.parts.driver;
        for observed in seen {
            if live.iter().any(|replica| replica.id.as_str() == observed.replica.as_str()) {
                continue;
            }
            let done = if observed.sighting.lives() {
                driver.stop(&observed.replica).await
            } else {
                driver.forget(&observed.replica).await
            };
            if let Err(error) = done {
                tracing::warn!(replica.id = %observed.replica, %error, "a replica that nobody wants cannot be ended");
            }
        }
    }
}

/// Failed starts that still count: a retry, a resume or ten good minutes give a fresh budget.
fn fresh_exits(newest: &[Replica], endpoint: &Endpoint) -> Vec<Exit> {
    let mut exits = Vec::new();
    for replica in newest {
        let served = match (replica.ready_at, replica.ended_at) {
            (Some(ready), Some(ended)) => ended.millis_since(ready),
            _ => 0,
        };
        if served >= failure::HEALTHY_MILLIS {
            exits.clear();
        }
        if let (Some(at), Some(ending)) = (replica.ended_at, replica.ending)
            && at >= budget_since(endpoint)
        {
            exits.push(Exit { at, ending });
        }
    }
    exits
}

/// A start that somebody asked for begins with nothing on its account.
fn budget_since(endpoint: &Endpoint) -> Timestamp {
    use domain::endpoint::state::StateReason;
    match endpoint.reason {
        StateReason::Created | StateReason::Resumed | StateReason::Retry | StateReason::ColdStart => {
            endpoint.state_since
        }
        _ => Timestamp::default(),
    }
}

/// What open holds have on this machine.
fn taken(live: &[Replica], node: &str) -> Taken {
    let here = || live.iter().filter(|replica| replica.node.as_deref() == Some(node));
    Taken {
        devices: here().flat_map(|replica| &replica.gpu_ids).map(|id| DeviceId::new(id)).collect(),
        ports: here().filter_map(port_of).collect(),
    }
}

fn port_of(replica: &Replica) -> Option<u16> {
    replica.address.as_deref()?.rsplit_once(':')?.1.parse().ok()
}

/// By the name of its row.
fn sighting<'a>(replica: &Replica, seen: &'a [Observed]) -> Option<&'a Observed> {
    seen.iter().find(|observed| observed.replica.as_str() == replica.id.as_str())
}
