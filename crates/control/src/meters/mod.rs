//! Measures this node's replicas and engines: how busy their GPUs are, their KV-cache usage, and their token counters; and
//! the prompts that this node has in flight at the replicas of endpoints and models. The leader also counts replicas.
//!
//! Every node measures its own; upstreams that all nodes share are measured by the leader. No decision depends on these
//! measurements.

mod busy;
mod engines;
mod prefill;
mod replica_counts;

use crate::bill_check::{Monitor, SharedServers};
use crate::retention::leads;
use background::Tasks;
use busy::BusyMeter;
use domain::gpu_time::SAMPLE_MILLIS;
use domain::{ModelId, Timestamp, WorkspaceId};
use engines::EngineMeter;
use fleet::drivers::{DeviceId, Drivers, ReplicaName};
use fleet::engine::{EngineMetrics, LoadError};
use fleet::{Connector, Endpoints, Routes};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use store::{Store, StoreError};

/// Engines are read, and samples stored, every this many rounds.
const READ_EVERY: u32 = 2;
/// The bill check runs every this many rounds.
const COMPARE_EVERY: u32 = 12;

/// Measuring instruments for the replicas of a machine.
pub trait Instruments: Send + Sync + 'static {
    /// How busy each GPU is, in percent.
    fn gpu_busy(&self) -> impl Future<Output = Vec<(DeviceId, u32)>> + Send;

    /// The same of the replicas in the cluster, as far as it measures their GPUs.
    fn gpu_busy_in_cluster(&self) -> impl Future<Output = Vec<(DeviceId, u32)>> + Send;

    fn cpu_time(&self, replica: &ReplicaName) -> impl Future<Output = Option<Duration>> + Send;

    fn metrics(&self, replica: &ReplicaName) -> impl Future<Output = Result<EngineMetrics, LoadError>> + Send;
}

impl Instruments for Drivers {
    async fn gpu_busy(&self) -> Vec<(DeviceId, u32)> {
        self.process.gpu_busy().await
    }

    async fn gpu_busy_in_cluster(&self) -> Vec<(DeviceId, u32)> {
        match &self.kubernetes {
            Some(cluster) => cluster.gpu_busy().await,
            None => Vec::new(),
        }
    }

    async fn cpu_time(&self, replica: &ReplicaName) -> Option<Duration> {
        self.process.cpu_time(replica).await
    }

    async fn metrics(&self, replica: &ReplicaName) -> Result<EngineMetrics, LoadError> {
        Self::metrics(self, replica).await
    }
}

/// The dependencies of the meters.
pub struct MeterParts<I> {
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
    parts: MeterParts<I>,
    busy: BusyMeter,
    engines: EngineMeter,
}

impl<I: Instruments> Meters<I> {
    pub fn new(parts: MeterParts<I>) -> Self {
        Self { parts, busy: BusyMeter::default(), engines: EngineMeter::default() }
    }

    /// Starts measuring.
    pub fn start(mut self, tasks: &Tasks) {
        let rounds = tasks.every("meters", Duration::from_millis(SAMPLE_MILLIS));
        let mut number = 0_u32;
        tasks.spawn(rounds.run(async move || {
            number = number.wrapping_add(1);
            self.round(number).await
        }));
    }

    /// Samples the GPUs; every [`READ_EVERY`]th round also reads the engines.
    pub async fn round(&mut self, round: u32) -> Result<(), StoreError> {
        self.busy.sample(&self.parts).await;
        if round.is_multiple_of(READ_EVERY) {
            self.busy.write(&self.parts).await?;
            let leads = leads(&self.parts.store, &self.parts.node).await?;
            self.engines.read(&self.parts, leads).await?;
            prefill::sample(&self.parts, leads).await?;
            if leads {
                replica_counts::sample(&self.parts).await?;
            }
        }
        if round % COMPARE_EVERY == 1 {
            let shared = SharedServers::of(&self.parts.routes.table());
            self.parts.bill.refresh(&self.parts.store, &shared, (self.parts.now)()).await?;
        }
        Ok(())
    }
}

/// The workspace and the Model ID of an endpoint.
fn owner_of(endpoints: &Endpoints, id: &str) -> Option<(WorkspaceId, ModelId)> {
    let endpoint = endpoints.all().into_iter().find(|endpoint| endpoint.id == id)?;
    let model = endpoint.view().route.model.id.clone();
    Some((endpoint.workspace.clone(), model))
}
