//! The drivers of one gateway: each replica is run by the driver that its flavor names.

use super::kubernetes::KubernetesDriver;
use super::process::ProcessDriver;
use super::{
    Binding, DeviceId, Draining, Driver, ObservedReplica, PlacementError, ReplicaName, ReplicaSpec, StartError,
    TakenResources,
};
use crate::engine::{EngineLoad, EngineMetrics, LoadError, ProbeResult};
use domain::model::DriverKind;
use std::io;

/// Processes on this machine, and Pods if a cluster is configured. Clones share the same drivers.
#[derive(Clone)]
pub struct Drivers {
    pub process: ProcessDriver,
    pub kubernetes: Option<KubernetesDriver>,
}

/// Evaluates an expression with the driver that has the replica. Driver futures have no common type, hence a macro.
macro_rules! with_driver {
    ($drivers:expr, $replica:expr, $driver:ident => $call:expr) => {
        match &$drivers.kubernetes {
            Some($driver) if $driver.knows($replica) => $call,
            _ => {
                let $driver = &$drivers.process;
                $call
            }
        }
    };
}

impl Driver for Drivers {
    async fn bind(&self, spec: &ReplicaSpec, taken: &TakenResources) -> Result<Binding, PlacementError> {
        match (spec.driver, &self.kubernetes) {
            (DriverKind::Process, _) => self.process.bind(spec, taken).await,
            (DriverKind::Kubernetes, Some(cluster)) if cluster.is_synced() => cluster.bind(spec, taken).await,
            (DriverKind::Kubernetes, Some(_)) => {
                Err(PlacementError::Unschedulable("the cluster does not respond".to_owned()))
            }
            (DriverKind::Kubernetes, None) => Err(PlacementError::Unschedulable("no cluster is configured".to_owned())),
        }
    }

    async fn start(&self, spec: &ReplicaSpec, binding: &Binding) -> Result<(), StartError> {
        match (spec.driver, &self.kubernetes) {
            (DriverKind::Process, _) => self.process.start(spec, binding).await,
            (DriverKind::Kubernetes, Some(cluster)) => cluster.start(spec, binding).await,
            (DriverKind::Kubernetes, None) => Err(StartError::PodGone),
        }
    }

    async fn probe_start(&self, replica: &ReplicaName) -> ProbeResult {
        with_driver!(self, replica, driver => driver.probe_start(replica).await)
    }

    async fn probe(&self, replica: &ReplicaName) -> ProbeResult {
        with_driver!(self, replica, driver => driver.probe(replica).await)
    }

    async fn load(&self, replica: &ReplicaName) -> Result<EngineLoad, LoadError> {
        with_driver!(self, replica, driver => driver.load(replica).await)
    }

    async fn drain(&self, replica: &ReplicaName) -> io::Result<Draining> {
        with_driver!(self, replica, driver => driver.drain(replica).await)
    }

    async fn undrain(&self, replica: &ReplicaName) -> io::Result<()> {
        with_driver!(self, replica, driver => driver.undrain(replica).await)
    }

    async fn stop(&self, replica: &ReplicaName) -> io::Result<()> {
        with_driver!(self, replica, driver => driver.stop(replica).await)
    }

    /// Pods are missing until the cluster has been listed once; see [`KubernetesDriver::is_synced`].
    async fn list(&self) -> io::Result<Vec<ObservedReplica>> {
        let mut found = self.process.list().await?;
        if let Some(cluster) = &self.kubernetes {
            found.extend(cluster.list().await?);
        }
        Ok(found)
    }

    fn key(&self, replica: &ReplicaName) -> Option<String> {
        self.process.key(replica)
    }

    fn address(&self, replica: &ReplicaName) -> Option<String> {
        with_driver!(self, replica, driver => driver.address(replica))
    }

    async fn log_tail(&self, replica: &ReplicaName) -> String {
        with_driver!(self, replica, driver => driver.log_tail(replica).await)
    }

    /// Devices of a cluster are unknown to this machine, so they are never among these.
    async fn busy_devices(&self, devices: &[DeviceId]) -> Vec<DeviceId> {
        self.process.busy_devices(devices).await
    }

    async fn forget(&self, replica: &ReplicaName) -> io::Result<()> {
        with_driver!(self, replica, driver => driver.forget(replica).await)
    }

    fn cluster(&self) -> Option<&KubernetesDriver> {
        self.kubernetes.as_ref()
    }
}

impl Drivers {
    /// Load and token counters of a replica's engine.
    pub async fn metrics(&self, replica: &ReplicaName) -> Result<EngineMetrics, LoadError> {
        with_driver!(self, replica, driver => driver.metrics(replica).await)
    }
}
