//! Makes what runs follow what is wanted.
//!
//! One node leads at a time. Every round it looks at the whole picture, rows and processes, and does the next thing for
//! each replica and each endpoint; a round that fails half-way is made good by the next. Nothing is remembered between
//! rounds that the rows and the driver could not tell again. Every write goes through the leader's fence.

mod autoscale;
mod figures;
mod follow;
mod leader;
mod lost;
mod number;
mod picture;
mod place;
mod probe;
mod reach;
mod replica;
mod report;
mod step;
mod upkeep;

pub use figures::Figures;
pub use follow::Follower;
pub use leader::resign;
pub use reach::Reach;

use crate::endpoints::{Note, Transition, transition};
use autoscale::Autoscaler;
use domain::endpoint::replica::{Intent, Replica, ReplicaState, TransitionError};
use domain::endpoint::state::{State, Trigger};
use domain::model::DriverKind;
use domain::{Endpoint, Timestamp};
use fleet::drivers::{Driver, Protected, Sighting, Taken};
use fleet::{Endpoints, Routes};
use leader::{Keeper, Leadership};
use picture::Picture;
use probe::Probes;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{Fenced, Store, StoreError, endpoints, replicas};
use tokio::sync::Notify;
use upkeep::Upkeep;

/// How often a round is made when nothing asks for one.
const ROUND: Duration = Duration::from_millis(500);

/// Why a round, or its work on one endpoint, was not finished.
#[derive(Debug, thiserror::Error)]
pub enum RoundError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Transition(#[from] TransitionError),
}

/// What the control plane works with.
#[derive(Clone)]
pub struct Parts<D> {
    pub store: Store,
    pub driver: D,
    pub routes: Routes,
    pub endpoints: Endpoints,
    pub node: String,
    /// Whose replicas the driver can see.
    pub reach: Reach,
    pub now: fn() -> Timestamp,
    /// Somebody knows that there is something to do.
    pub nudge: Arc<Notify>,
    pub figures: Arc<Figures>,
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

    /// Leads whenever it may, for ever. The lease is kept beside the rounds: a slow one does not cost it.
    pub async fn run(mut self) {
        let leadership = Leadership::default();
        let keeper = Keeper::new(&self.parts, leadership.clone());
        tokio::select! {
            () = keeper.keep() => {}
            () = self.lead(&leadership) => {}
        }
    }

    async fn lead(&mut self, leadership: &Leadership) {
        let mut is_troubled = false;
        loop {
            let _ = tokio::time::timeout(ROUND, self.parts.nudge.notified()).await;
            let Some(epoch) = leadership.epoch((self.parts.now)()) else { continue };
            let started = Instant::now();
            let done = self.round(epoch).await;
            self.parts.figures.count_round(done.is_ok(), started.elapsed());
            match done {
                Ok(()) => is_troubled = false,
                Err(error) if is_troubled => tracing::debug!(%error, "another round was not finished"),
                Err(error) => {
                    is_troubled = true;
                    tracing::warn!(%error, "a round of the control plane was not finished; it is tried again");
                }
            }
        }
    }

    /// Closes the holds of this machine's replicas that have ended because all of them were to end, or never began.
    pub async fn release_ended(&mut self) -> Result<(), RoundError> {
        let leadership = Leadership::default();
        Keeper::new(&self.parts, leadership.clone()).look().await?;
        let now = (self.parts.now)();
        let Some(epoch) = leadership.epoch(now) else { return Ok(()) };
        let all = endpoints::list_all(&self.parts.store).await?;
        let Some(picture) = self.look().await? else { return Ok(()) };
        for mut replica in picture.live.clone() {
            let is_here = replica.node.as_deref().is_some_and(|node| self.parts.reach.covers(node));
            let ended_at = match picture.sighting(&replica).map(|observed| &observed.sighting) {
                Some(Sighting::Exited(exit)) => Some(exit.at),
                Some(_) => None,
                None => is_here.then_some(now),
            };
            let endpoint = all.iter().find(|endpoint| endpoint.id == replica.endpoint);
            if let (Some(at), Some(endpoint)) = (ended_at, endpoint) {
                self.end(epoch, endpoint, &mut replica, at, None).await?;
            }
        }
        Ok(())
    }

    /// Looks at everything once and does the next thing.
    pub async fn round(&mut self, epoch: u64) -> Result<(), RoundError> {
        let all = endpoints::list_all(&self.parts.store).await?;
        let Some(picture) = self.look().await? else { return Ok(()) };
        self.end_strangers(&picture).await;
        self.give_up_lost_nodes(epoch, &all, &picture).await?;
        let mut taken = picture.taken(&self.parts.reach);
        let protected = self.protected(&all);
        for endpoint in all {
            let name = endpoint.name.clone();
            match self.tend(epoch, endpoint, &picture, &mut taken).await {
                // It was changed meanwhile: the next round sees the new record.
                Ok(()) | Err(RoundError::Store(StoreError::EndpointStale)) => {}
                Err(RoundError::Store(error @ (StoreError::NotLeader { .. } | StoreError::Unavailable(_)))) => {
                    return Err(error.into());
                }
                // What is wrong with one endpoint is not the others' trouble.
                Err(error) => tracing::error!(endpoint.name = %name, %error, "endpoint {name} could not be tended"),
            }
        }
        self.parts.driver.protect(&protected).await;
        self.parts.driver.keep_pools(&self.parts.routes).await;
        self.autoscaler.tick(&self.parts, epoch, &picture).await?;
        Ok(self.upkeep.tick(&self.parts, epoch).await?)
    }

    /// What there is; nothing where the driver cannot tell.
    async fn look(&self) -> Result<Option<Picture>, RoundError> {
        // First what runs, then the rows: whatever runs has had its row before, whoever wrote it.
        let seen = match self.parts.driver.list().await {
            Ok(seen) => seen,
            Err(error) => {
                tracing::warn!(%error, "the replicas of this machine cannot be listed");
                return Ok(None);
            }
        };
        let live = replicas::list_live(&self.parts.store).await?;
        let loads = store::endpoint_loads::list(&self.parts.store).await?;
        let told_at = self.parts.store.clock().await?;
        Ok(Some(Picture { live, seen, loads, told_at }))
    }

    async fn tend(
        &mut self,
        epoch: u64,
        endpoint: Endpoint,
        picture: &Picture,
        taken: &mut Taken,
    ) -> Result<(), RoundError> {
        let mut own = picture.replicas_of(&endpoint.id);
        self.keep_the_wanted(epoch, &endpoint, &mut own).await?;
        for replica in &mut own {
            self.follow(epoch, &endpoint, replica, picture).await?;
        }
        own.retain(|replica| !replica.state().is_over());
        let Some(endpoint) = self.step_endpoint(epoch, endpoint, &own).await? else { return Ok(()) };
        self.make_the_number_right(epoch, &endpoint, &mut own, picture).await?;
        for replica in own.iter().filter(|one| one.state() == ReplicaState::Pending && one.intent == Intent::Run) {
            self.place(epoch, &endpoint, replica, taken).await?;
        }
        Ok(())
    }

    /// The endpoints whose replicas a cluster runs.
    fn protected(&self, all: &[Endpoint]) -> Protected {
        let catalogue = self.parts.routes.catalogue();
        let in_cluster = |endpoint: &&Endpoint| {
            let shape = endpoint.shape.in_force(&endpoint.model, &catalogue);
            shape.flavor.driver == DriverKind::Kubernetes && endpoint.state != State::Deleting
        };
        let wanted = |endpoint: &Endpoint| (endpoint.id.to_string(), endpoint.status.desired);
        all.iter().filter(in_cluster).map(wanted).collect()
    }

    /// Lets the endpoint's state follow its replicas; `None` when it is gone.
    async fn step_endpoint(
        &self,
        epoch: u64,
        endpoint: Endpoint,
        own: &[Replica],
    ) -> Result<Option<Endpoint>, RoundError> {
        let ready = own.iter().filter(|one| one.is_serving()).count();
        let ready = u32::try_from(ready).unwrap_or(u32::MAX);
        let trigger = match endpoint.state {
            State::Deleting if own.is_empty() => Trigger::LastHoldReleased,
            State::Provisioning if ready > 0 => Trigger::Ready,
            State::Serving if ready == 0 && endpoint.status.desired > 0 => Trigger::ReplicaLost { ready },
            State::Serving if ready < endpoint.status.desired && !self.exits(&endpoint).await?.is_empty() => {
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
    ) -> Result<Option<Endpoint>, RoundError> {
        let mut tx = Fenced::begin(&self.parts.store, epoch).await?;
        let note = Note { part: "reconciler", message, data: json!({}) };
        let written = transition(&mut tx, &endpoint, trigger, note, (self.parts.now)()).await?;
        match written {
            Transition::Unchanged | Transition::NotApplicable(_) => Ok(Some(endpoint)),
            Transition::Changed(changed) => {
                tx.commit().await?;
                Ok(Some(*changed))
            }
            Transition::Gone => {
                store::autoscaler::forget(&mut tx, &endpoint.id).await?;
                store::endpoint_loads::forget(&mut tx, &endpoint.id).await?;
                tx.commit().await?;
                Ok(None)
            }
        }
    }

    async fn write(&self, epoch: u64, replica: &Replica) -> Result<(), RoundError> {
        let mut tx = Fenced::begin(&self.parts.store, epoch).await?;
        replicas::update(&mut tx, replica).await?;
        Ok(tx.commit().await?)
    }
}
