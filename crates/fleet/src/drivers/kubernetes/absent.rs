//! Stands for the driver in a build without the feature `kubernetes`, such as that of `make run`: no value of it exists.

mod report;
pub mod settings;

use crate::drivers::{
    Binding, DeviceId, Draining, Driver, ObservedReplica, PlacementError, ReplicaAuth, ReplicaName, ReplicaSpec,
    StartError, TakenResources,
};
use crate::engine::{EngineLoad, EngineMetrics, LoadError, ProbeResult};
use crate::routes::Routes;
use domain::Timestamp;
pub use report::*;
pub use settings::Settings;
use std::collections::BTreeMap;
use std::io;

/// Number of replicas that each endpoint should have, by its id.
pub type ReplicaTargets = BTreeMap<String, u32>;

/// Why the cluster cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("this program was built without its feature `kubernetes`; packages and `cargo build` have it")]
pub struct InspectError;

pub async fn inspect(_settings: &Settings) -> Result<ClusterInfo, InspectError> {
    Err(InspectError)
}

/// The command of a Pod, which this program cannot start.
pub(super) fn command_of(_spec: &ReplicaSpec, _settings: &Settings) -> Option<(Vec<String>, Vec<String>)> {
    None
}

/// Has no value, so that the compiler knows that nothing of what follows ever runs.
#[derive(Clone, Copy)]
enum Never {}

#[derive(Clone)]
pub struct KubernetesDriver {
    never: Never,
}

impl KubernetesDriver {
    pub async fn open(_settings: Settings, _auth: ReplicaAuth, _now: fn() -> Timestamp) -> Result<Self, InspectError> {
        Err(InspectError)
    }

    pub async fn changed(&self) {
        match self.never {}
    }

    pub fn knows(&self, _replica: &ReplicaName) -> bool {
        match self.never {}
    }

    pub fn is_synced(&self) -> bool {
        match self.never {}
    }

    pub async fn metrics(&self, _replica: &ReplicaName) -> Result<EngineMetrics, LoadError> {
        match self.never {}
    }

    pub async fn is_gone(&self, _replica: &ReplicaName) -> io::Result<bool> {
        match self.never {}
    }

    pub fn route(&self, _replica: &ReplicaName, _row_address: Option<&str>) -> Option<String> {
        match self.never {}
    }

    pub async fn protect(&self, _targets: &ReplicaTargets) {
        match self.never {}
    }

    pub async fn keep_pools(&self, _routes: &Routes) {
        match self.never {}
    }

    pub async fn gpus(&self) -> Vec<ClusterGpus> {
        match self.never {}
    }

    pub async fn gpu_busy(&self) -> Vec<(DeviceId, u32)> {
        match self.never {}
    }

    pub fn list_logs(&self) -> Vec<PodLog> {
        match self.never {}
    }

    pub async fn read_log(&self, _replica: &ReplicaName, _max_bytes: u64) -> Option<String> {
        match self.never {}
    }
}

impl Driver for KubernetesDriver {
    async fn bind(&self, _spec: &ReplicaSpec, _taken: &TakenResources) -> Result<Binding, PlacementError> {
        match self.never {}
    }

    async fn start(&self, _spec: &ReplicaSpec, _binding: &Binding) -> Result<(), StartError> {
        match self.never {}
    }

    async fn probe_start(&self, _replica: &ReplicaName) -> ProbeResult {
        match self.never {}
    }

    async fn probe(&self, _replica: &ReplicaName) -> ProbeResult {
        match self.never {}
    }

    async fn load(&self, _replica: &ReplicaName) -> Result<EngineLoad, LoadError> {
        match self.never {}
    }

    async fn drain(&self, _replica: &ReplicaName) -> io::Result<Draining> {
        match self.never {}
    }

    async fn undrain(&self, _replica: &ReplicaName) -> io::Result<()> {
        match self.never {}
    }

    async fn stop(&self, _replica: &ReplicaName) -> io::Result<()> {
        match self.never {}
    }

    async fn list(&self) -> io::Result<Vec<ObservedReplica>> {
        match self.never {}
    }

    fn address(&self, _replica: &ReplicaName) -> Option<String> {
        match self.never {}
    }

    async fn log_tail(&self, _replica: &ReplicaName) -> String {
        match self.never {}
    }

    async fn busy_devices(&self, _devices: &[DeviceId]) -> Vec<DeviceId> {
        match self.never {}
    }

    async fn forget(&self, _replica: &ReplicaName) -> io::Result<()> {
        match self.never {}
    }
}

pub struct Pools {
    never: Never,
}

impl Pools {
    pub fn new(driver: KubernetesDriver, _routes: Routes) -> Self {
        match driver.never {}
    }

    pub async fn run(self) {
        match self.never {}
    }
}
