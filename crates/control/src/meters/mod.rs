//! Reads what this node's replicas and engines say of themselves: how busy their GPUs are, how full their caches, and how
//! many tokens they have counted.
//!
//! Every node reads its own; model servers that all nodes share are read by the one that leads. Nothing here decides
//! anything, and nothing waits for it.

mod busy;
mod engines;

use crate::bill_check::Monitor;
use crate::retention::leads;
use busy::BusyMeter;
use domain::gpu_time::SAMPLE_MILLIS;
use domain::{ModelId, Timestamp, WorkspaceId};
use engines::EngineMeter;
use fleet::drivers::{DeviceId, Drivers, EngineFigures, NoLoad, ReplicaName};
use fleet::{Connector, Endpoints, Routes};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use store::{Store, StoreError};

/// How often engines are asked, and samples are written.
const READ_EVERY: u32 = 2;
/// How often the two sides of the bill are held against each other.
const COMPARE_EVERY: u32 = 12;

/// What can be measured of the replicas on a machine.
pub trait Instruments: Send + Sync + 'static {
    /// In percent.
    fn cards_busy(&self) -> impl Future<Output = Vec<(DeviceId, u32)>> + Send;

    fn cpu_time(&self, replica: &ReplicaName) -> impl Future<Output = Option<Duration>> + Send;

    fn figures(&self, replica: &ReplicaName) -> impl Future<Output = Result<EngineFigures, NoLoad>> + Send;
}

impl Instruments for Drivers {
    async fn cards_busy(&self) -> Vec<(DeviceId, u32)> {
        self.process.cards_busy().await
    }

    async fn cpu_time(&self, replica: &ReplicaName) -> Option<Duration> {
        self.process.cpu_time(replica).await
    }

    async fn figures(&self, replica: &ReplicaName) -> Result<EngineFigures, NoLoad> {
        Self::figures(self, replica).await
    }
}

/// What the meters work with.
pub struct Parts<I> {
    pub store: Store,
    pub instruments: I,
    pub routes: Routes,
    pub endpoints: Endpoints,
    pub connector: Connector,
    pub node: String,
    pub now: fn() -> Timestamp,
    /// Where the difference between billed and counted tokens is left for others to read.
    pub bill: Arc<Monitor>,
}

pub struct Meters<I> {
    parts: Parts<I>,
    busy: BusyMeter,
    engines: EngineMeter,
}

impl<I: Instruments> Meters<I> {
    pub fn new(parts: Parts<I>) -> Self {
        Self { parts, busy: BusyMeter::default(), engines: EngineMeter::default() }
    }

    /// Measures, for ever.
    pub async fn run(mut self) {
        let mut ticks = tokio::time::interval(Duration::from_millis(SAMPLE_MILLIS));
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        for round in 1_u32.. {
            ticks.tick().await;
            if let Err(error) = self.round(round).await {
                tracing::debug!(%error, "what was measured waits for the store");
            }
        }
    }

    /// One look at the GPUs; now and then one at the engines, too.
    pub async fn round(&mut self, round: u32) -> Result<(), StoreError> {
        self.busy.sample(&self.parts).await;
        if round.is_multiple_of(READ_EVERY) {
            self.busy.write(&self.parts).await?;
            let leads = leads(&self.parts.store, &self.parts.node).await?;
            self.engines.read(&self.parts, leads).await?;
        }
        if round % COMPARE_EVERY == 1 {
            self.parts.bill.refresh(&self.parts.store, (self.parts.now)()).await?;
        }
        Ok(())
    }
}

/// The workspace of an endpoint, and the Model ID by which it is called.
fn place_of(endpoints: &Endpoints, id: &str) -> Option<(WorkspaceId, ModelId)> {
    let endpoint = endpoints.all().into_iter().find(|endpoint| endpoint.id == id)?;
    let model = endpoint.view().route.model.id.clone();
    Some((endpoint.workspace.clone(), model))
}
