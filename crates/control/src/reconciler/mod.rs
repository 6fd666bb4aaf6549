//! Makes the running replicas match the desired state.
//!
//! One node leads at a time. In every round it takes a snapshot of rows and processes, [`plan`] decides the next steps of each
//! replica and endpoint, and [`round::Round`] executes them. A round that fails half-way is completed by the next one: no
//! decision depends on anything but rows and the driver's observations. Every write goes through the leader's fence.

mod autoscale;
mod budgets;
mod follower;
mod gpu_costs;
mod leader;
mod maintenance;
mod metrics;
mod plan;
mod reach;
mod round;
mod rows;
#[cfg(test)]
mod simulation;
mod snapshot;

pub use budgets::suspend_spent;
pub use follower::Follower;
pub use gpu_costs::write_gpu_costs;
pub use leader::resign;
pub use metrics::Metrics;
pub use reach::Reach;

use autoscale::Autoscaler;
use background::{Loop, Pace, Tasks};
use domain::Timestamp;
use domain::endpoint::replica::TransitionError;
use domain::leadership::LOOK_EVERY;
use fleet::drivers::Driver;
use fleet::{Endpoints, Routes};
use leader::{Elector, Leadership};
use maintenance::Maintenance;
use round::{Probes, Round};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{Store, StoreError};
use tokio::sync::Notify;

/// Period of the rounds without a nudge.
const ROUND: Duration = Duration::from_millis(500);
/// The same while there are neither endpoints nor replicas. A new endpoint is a nudge.
const IDLE_ROUND: Duration = Duration::from_secs(20);
/// The same where engines of models run in a cluster.
const IDLE_ROUND_OF_CLUSTER: Duration = Duration::from_secs(5);

/// Why a round, or its work on one endpoint, was not finished.
#[derive(Debug, thiserror::Error)]
pub enum RoundError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Transition(#[from] TransitionError),
}

/// The dependencies of the control plane's loops.
#[derive(Clone)]
pub struct Parts<D, S = Store> {
    pub store: S,
    pub driver: D,
    pub routes: Routes,
    pub endpoints: Endpoints,
    pub node: String,
    /// The nodes whose replicas the driver can observe.
    pub reach: Reach,
    pub now: fn() -> Timestamp,
    /// Makes the leader start a round at once.
    pub nudge: Arc<Notify>,
    pub metrics: Arc<Metrics>,
}

pub struct Reconciler<D> {
    parts: Parts<D>,
    probes: Probes,
    autoscaler: Autoscaler,
    maintenance: Maintenance,
}

impl<D: Driver + Clone> Reconciler<D> {
    pub fn new(parts: Parts<D>) -> Self {
        Self {
            parts,
            probes: Probes::default(),
            autoscaler: Autoscaler::default(),
            maintenance: Maintenance::default(),
        }
    }

    /// Starts the election, and the rounds while this node leads. The term is renewed beside the rounds, so that a slow round
    /// does not lose it. The GPU costs of budgets are written, and endpoints of spent ones suspended, beside them, so that many
    /// workspaces do not delay a round.
    pub fn start(mut self, tasks: &Tasks) {
        let leadership = Leadership::default();
        let mut elector = Elector::new(&self.parts, leadership.clone());
        let election = tasks.every("leader election", LOOK_EVERY);
        tasks.spawn(election.run(async move || elector.tick().await));
        let (store, now, leading) = (self.parts.store.clone(), self.parts.now, leadership.clone());
        let gpu_costs = tasks.every("GPU costs of budgets", gpu_costs::PERIOD);
        tasks.spawn(gpu_costs.run(async move || match leading.epoch() {
            Some(epoch) => {
                write_gpu_costs(&store, epoch, now()).await?;
                suspend_spent(&store, now()).await
            }
            None => Ok(()),
        }));
        let rounds = tasks.register(Loop::every("reconciler", ROUND).nudged_by(Arc::clone(&self.parts.nudge)));
        tasks.spawn(rounds.run_paced(async move || self.round_if_leading(&leadership).await));
    }

    async fn round_if_leading(&mut self, leadership: &Leadership) -> Result<Pace, RoundError> {
        let Some(epoch) = leadership.epoch() else { return Ok(Pace::Usual) };
        let started = Instant::now();
        let done = self.round_of(leadership, epoch).await;
        self.parts.metrics.count_round(done.is_ok(), started.elapsed());
        done
    }

    /// One round of the leader of `epoch`.
    pub async fn round(&mut self, epoch: u64) -> Result<(), RoundError> {
        self.round_of(&Leadership::renewed(epoch), epoch).await.map(drop)
    }

    async fn round_of(&mut self, leadership: &Leadership, epoch: u64) -> Result<Pace, RoundError> {
        let begun = Round::begin(&self.parts, &mut self.probes, leadership, epoch).await?;
        let Some(mut round) = begun else { return Ok(Pace::Usual) };
        let pace = match self.parts.driver.cluster() {
            _ if !round.snapshot.is_empty() => Pace::Usual,
            Some(_) => Pace::Idle(IDLE_ROUND_OF_CLUSTER),
            None => Pace::Idle(IDLE_ROUND),
        };
        round.reconcile().await?;
        self.autoscaler.tick(&round).await?;
        self.maintenance.tick(&round).await?;
        Ok(pace)
    }

    /// Closes the holds of this machine's replicas after a shutdown that stopped all of them.
    pub async fn release_ended(&mut self) -> Result<(), RoundError> {
        let leadership = Leadership::default();
        Elector::new(&self.parts, leadership.clone()).tick().await?;
        let Some(epoch) = leadership.epoch() else { return Ok(()) };
        match Round::begin(&self.parts, &mut self.probes, &leadership, epoch).await? {
            Some(mut round) => round.release_ended().await,
            None => Ok(()),
        }
    }
}
