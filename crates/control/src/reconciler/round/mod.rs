//! One round: a snapshot, and the execution of what [`plan`](super::plan) decides on it.

mod health;
mod orphans;
mod replica;
mod start;

pub(super) use health::Probes;
pub(super) use replica::name_of;

use super::leader::Leadership;
use super::plan::{self, EndpointAction};
use super::rows::Rows;
use super::snapshot::{Snapshot, port_of};
use super::{Parts, RoundError};
use crate::endpoints::{Note, Transition, transition};
use crate::{entropy, fault};
use domain::endpoint::failure::{Exit, FailureClass};
use domain::endpoint::replica::{Intent, Replica, ReplicaState, recent_exits};
use domain::endpoint::state::{State, Trigger};
use domain::model::DriverKind;
use domain::{Endpoint, ReplicaId, Timestamp};
use fleet::drivers::kubernetes::ReplicaTargets;
use fleet::drivers::{Driver, Observation, TakenResources};
use serde_json::json;
use store::{LeaderWrite, Store, StoreError};

/// Bound of the ended replicas that influence the next start.
const HISTORY: u32 = 20;
/// Ports used by other programs are avoided for this long.
const AVOID_PORTS_MILLIS: u64 = 10 * 60_000;

pub(super) struct Round<'a, D, S = Store> {
    pub(super) parts: &'a Parts<D, S>,
    pub(super) epoch: u64,
    leadership: &'a Leadership,
    pub(super) now: Timestamp,
    pub(super) snapshot: Snapshot,
    probes: &'a mut Probes,
    /// GPUs and ports in use; grows with every replica that is placed.
    taken: TakenResources,
}

/// The recently ended replicas of an endpoint, as far as they influence the next start.
#[derive(Default)]
struct History {
    exits: Vec<Exit>,
    last_error: Option<String>,
    /// Ports on which replicas met another program.
    foreign_ports: Vec<u16>,
}

impl<'a, D: Driver + Clone, S: Rows> Round<'a, D, S> {
    /// Takes a snapshot; `None` if the driver cannot list its replicas.
    pub(super) async fn begin(
        parts: &'a Parts<D, S>,
        probes: &'a mut Probes,
        leadership: &'a Leadership,
        epoch: u64,
    ) -> Result<Option<Self>, StoreError> {
        let Some(snapshot) = Snapshot::take(parts).await? else { return Ok(None) };
        let taken = snapshot.taken(&parts.reach);
        Ok(Some(Self { parts, epoch, leadership, now: (parts.now)(), snapshot, probes, taken }))
    }

    /// Executes the next steps of every replica and endpoint.
    pub(super) async fn reconcile(&mut self) -> Result<(), RoundError> {
        self.stop_orphans().await;
        self.give_up_lost_nodes().await?;
        let targets = self.replica_targets();
        for endpoint in std::mem::take(&mut self.snapshot.endpoints) {
            let name = endpoint.name.clone();
            match self.reconcile_endpoint(endpoint).await {
                Ok(reconciled) => self.snapshot.endpoints.extend(reconciled),
                // It was changed meanwhile: the next round sees the new record.
                Err(RoundError::Store(StoreError::EndpointStale)) => {}
                Err(RoundError::Store(error @ (StoreError::NotLeader { .. } | StoreError::Unavailable(_)))) => {
                    return Err(error.into());
                }
                // An error of one endpoint does not stop the others.
                Err(error) => tracing::error!(endpoint.name = %name, %error, "cannot reconcile endpoint {name}"),
            }
        }
        if let Some(cluster) = self.parts.driver.cluster() {
            cluster.protect(&targets).await;
            cluster.keep_pools(&self.parts.routes).await;
        }
        Ok(())
    }

    /// Closes the holds of this machine's replicas that have ended, or never started, at a shutdown that stops them all.
    pub(super) async fn release_ended(&mut self) -> Result<(), RoundError> {
        for mut replica in self.snapshot.live.clone() {
            let is_here = replica.node.as_deref().is_some_and(|node| self.parts.reach.covers(node));
            let ended_at = match self.snapshot.observation(&replica) {
                Some(Observation::Exited(exit)) => Some(exit.at),
                Some(_) => None,
                None => is_here.then_some(self.now),
            };
            let endpoint = self.snapshot.endpoint(&replica.endpoint).cloned();
            if let (Some(at), Some(endpoint)) = (ended_at, endpoint) {
                self.end(&endpoint, &mut replica, at, None).await?;
            }
        }
        Ok(())
    }

    /// Executes the next steps of one endpoint. Returns its new record; `None` if it was deleted.
    async fn reconcile_endpoint(&mut self, endpoint: Endpoint) -> Result<Option<Endpoint>, RoundError> {
        let mut replicas = self.snapshot.replicas_of(&endpoint.id);
        let kept = plan::to_keep(&endpoint, &replicas, self.now);
        for replica in &mut replicas {
            if kept.contains(&replica.id) {
                self.keep(&endpoint, replica).await?;
            }
            self.advance(&endpoint, replica).await?;
        }
        replicas.retain(|replica| !replica.state().is_over());
        let reconciled = self.execute_plan(endpoint, &mut replicas).await?;
        if let Some(endpoint) = &reconciled {
            self.snapshot.live.retain(|replica| replica.endpoint != endpoint.id);
            self.snapshot.live.extend(replicas);
        }
        Ok(reconciled)
    }

    async fn execute_plan(
        &mut self,
        mut endpoint: Endpoint,
        replicas: &mut Vec<Replica>,
    ) -> Result<Option<Endpoint>, RoundError> {
        let needs_history = plan::needs_history(&endpoint, replicas);
        let history = if needs_history { self.history(&endpoint).await? } else { History::default() };
        let loads = self.snapshot.loads_of(&endpoint.id);
        for action in plan::plan(&endpoint, replicas, loads, &history.exits, self.now) {
            match action {
                EndpointAction::Apply(trigger) => match self.apply(endpoint, trigger, String::new()).await? {
                    Some(changed) => endpoint = changed,
                    None => return Ok(None),
                },
                EndpointAction::GiveUp(reason) => {
                    let message = history.last_error.clone().unwrap_or_else(|| reason.message().to_owned());
                    return self.apply(endpoint, Trigger::StartFailed(reason), message).await;
                }
                EndpointAction::Drain(drained) => self.begin_drain(&endpoint, replicas, &drained).await?,
                EndpointAction::Add(count) => {
                    for _ in 0..count {
                        replicas.push(self.add(&endpoint).await?);
                    }
                }
                EndpointAction::PlacePending => {
                    for replica in replicas.iter_mut().filter(|replica| plan::is_pending(replica)) {
                        self.place(&mut endpoint, replica, &history.foreign_ports).await?;
                    }
                }
            }
        }
        Ok(Some(endpoint))
    }

    async fn history(&self, endpoint: &Endpoint) -> Result<History, RoundError> {
        let newest = self.parts.store.newest_replicas(&endpoint.id, HISTORY).await?;
        let is_recent = |ended_at: Timestamp| self.now.millis_since(ended_at) < AVOID_PORTS_MILLIS;
        let met_program = |replica: &&Replica| {
            replica.failure == Some(FailureClass::PortTaken) && replica.ended_at.is_some_and(is_recent)
        };
        Ok(History {
            exits: recent_exits(&newest, endpoint.started_at, self.now),
            foreign_ports: newest.iter().filter(met_program).filter_map(port_of).collect(),
            last_error: newest.into_iter().rev().find_map(|replica| replica.last_error),
        })
    }

    async fn begin_drain(
        &self,
        endpoint: &Endpoint,
        replicas: &mut [Replica],
        drained: &[ReplicaId],
    ) -> Result<(), RoundError> {
        let drain_secs = self.parts.store.drain_secs(&endpoint.id).await?.unwrap_or(0);
        for replica in replicas.iter_mut().filter(|replica| drained.contains(&replica.id)) {
            replica.intent = Intent::Remove;
            replica.drain_until = Some(self.now.plus_millis(i64::from(drain_secs) * 1_000));
            if replica.state() == ReplicaState::Ready {
                replica.transition(ReplicaState::Draining)?;
            }
            let failed_start = endpoint.state == State::Failed && replica.ready_at.is_none();
            let mut writes = vec![LeaderWrite::Replica(replica)];
            writes.extend(failed_start.then_some(LeaderWrite::NotBilled(&replica.id)));
            self.commit(&writes).await?;
            fault::point("drain-begun");
        }
        Ok(())
    }

    async fn add(&self, endpoint: &Endpoint) -> Result<Replica, RoundError> {
        let catalogue = self.parts.routes.catalogue();
        let id = ReplicaId::new(self.now, entropy::for_id());
        let mut added = Replica::new(id, endpoint.id.clone(), self.now);
        added.driver = endpoint.shape.effective(&endpoint.model, &catalogue).flavor.driver;
        self.commit(&[LeaderWrite::Unchanged(endpoint), LeaderWrite::AddReplica(&added)]).await?;
        fault::point("replica-added");
        Ok(added)
    }

    /// The desired replicas of the endpoints that run in a cluster.
    fn replica_targets(&self) -> ReplicaTargets {
        let catalogue = self.parts.routes.catalogue();
        let is_in_cluster = |endpoint: &&Endpoint| {
            let shape = endpoint.shape.effective(&endpoint.model, &catalogue);
            shape.flavor.driver == DriverKind::Kubernetes && endpoint.state != State::Deleting
        };
        let target = |endpoint: &Endpoint| (endpoint.id.to_string(), endpoint.status.desired);
        self.snapshot.endpoints.iter().filter(is_in_cluster).map(target).collect()
    }

    /// Applies a trigger to an endpoint and stores the result; `None` if the endpoint was deleted.
    async fn apply(
        &self,
        endpoint: Endpoint,
        trigger: Trigger,
        message: String,
    ) -> Result<Option<Endpoint>, RoundError> {
        let note = Note { part: "reconciler", message, data: json!({}) };
        let outcome = transition(&endpoint, trigger, note, self.now);
        {
            let writes = outcome.writes();
            if !writes.is_empty() {
                self.commit(&writes).await?;
            }
        }
        Ok(match outcome {
            Transition::Unchanged | Transition::NotApplicable(_) => Some(endpoint),
            Transition::Changed(changed) => Some(changed.endpoint),
            Transition::Gone(_) => None,
        })
    }

    /// Stores all writes or none. Fails if this node no longer leads.
    pub(super) async fn commit(&self, writes: &[LeaderWrite<'_>]) -> Result<(), StoreError> {
        self.parts.store.commit(self.epoch, writes).await
    }

    /// Whether this node still leads by its own clock. The store does not fence calls to the driver, so a leader that was
    /// paused must not continue with them.
    pub(super) fn still_leads(&self) -> Result<(), StoreError> {
        let leads = self.leadership.epoch() == Some(self.epoch);
        leads.then_some(()).ok_or(StoreError::NotLeader { epoch: self.epoch })
    }

    async fn write(&self, replica: &Replica) -> Result<(), RoundError> {
        Ok(self.commit(&[LeaderWrite::Replica(replica)]).await?)
    }
}
