//! The drivers of one gateway, as one: each replica is with the driver that its flavor names.

use super::kubernetes::KubernetesDriver;
use super::process::ProcessDriver;
use super::{
    Binding, DeviceId, Draining, Driver, EngineFigures, EngineLoad, NoLoad, NoRoom, Observed, Probe, Protected,
    ReplicaName, ReplicaSpec, StartError, Taken,
};
use crate::routes::Routes;
use domain::model::DriverKind;
use std::io;
use std::net::SocketAddr;

/// Processes on this machine, and Pods where a cluster is configured. Clones are the same drivers.
#[derive(Clone)]
pub struct Drivers {
    pub process: ProcessDriver,
    pub kubernetes: Option<KubernetesDriver>,
}

/// Does the same with whichever driver has the replica: a cluster knows its own Pods, all else is of this machine.
macro_rules! with_its_driver {
    ($drivers:expr, $replica:expr, $driver:ident => $does:expr) => {
        match &$drivers.kubernetes {
            Some($driver) if $driver.knows($replica) => $does,
            _ => {
                let $driver = &$drivers.process;
                $does
            }
        }
    };
}

impl Driver for Drivers {
    async fn bind(&self, spec: &ReplicaSpec, taken: &Taken) -> Result<Binding, NoRoom> {
        match (spec.driver, &self.kubernetes) {
            (DriverKind::Process, _) => self.process.bind(spec, taken).await,
            (DriverKind::Kubernetes, Some(cluster)) if cluster.is_synced() => cluster.bind(spec, taken).await,
            (DriverKind::Kubernetes, Some(_)) => Err(NoRoom::Unplaced("the cluster does not answer".to_owned())),
            (DriverKind::Kubernetes, None) => Err(NoRoom::Unplaced("no cluster is configured".to_owned())),
        }
    }

    async fn start(&self, spec: &ReplicaSpec, binding: &Binding) -> Result<(), StartError> {
        match (spec.driver, &self.kubernetes) {
            (DriverKind::Process, _) => self.process.start(spec, binding).await,
            (DriverKind::Kubernetes, Some(cluster)) => cluster.start(spec, binding).await,
            (DriverKind::Kubernetes, None) => Err(StartError::PodGone),
        }
    }

    async fn probe_start(&self, replica: &ReplicaName) -> Probe {
        with_its_driver!(self, replica, driver => driver.probe_start(replica).await)
    }

    async fn probe(&self, replica: &ReplicaName) -> Probe {
        with_its_driver!(self, replica, driver => driver.probe(replica).await)
    }

    async fn load(&self, replica: &ReplicaName) -> Result<EngineLoad, NoLoad> {
        with_its_driver!(self, replica, driver => driver.load(replica).await)
    }

    async fn drain(&self, replica: &ReplicaName) -> io::Result<Draining> {
        with_its_driver!(self, replica, driver => driver.drain(replica).await)
    }

    async fn undrain(&self, replica: &ReplicaName) -> io::Result<()> {
        with_its_driver!(self, replica, driver => driver.undrain(replica).await)
    }

    async fn stop(&self, replica: &ReplicaName) -> io::Result<()> {
        with_its_driver!(self, replica, driver => driver.stop(replica).await)
    }

    /// A cluster that has not been heard of yet is left out; [`Driver::sees`] says so.
    async fn list(&self) -> io::Result<Vec<Observed>> {
        let mut found = self.process.list().await?;
        if let Some(cluster) = &self.kubernetes {
            found.extend(cluster.list().await?);
        }
        Ok(found)
    }

    async fn watch(&self, running: &[ReplicaName]) -> ReplicaName {
        self.process.watch(running).await
    }

    fn address(&self, replica: &ReplicaName) -> Option<SocketAddr> {
        with_its_driver!(self, replica, driver => driver.address(replica))
    }

    async fn log_tail(&self, replica: &ReplicaName) -> String {
        with_its_driver!(self, replica, driver => driver.log_tail(replica).await)
    }

    /// Cards of a cluster are none that this machine knows.
    async fn not_released(&self, devices: &[DeviceId]) -> Vec<DeviceId> {
        self.process.not_released(devices).await
    }

    async fn forget(&self, replica: &ReplicaName) -> io::Result<()> {
        with_its_driver!(self, replica, driver => driver.forget(replica).await)
    }

    fn sees(&self, kind: DriverKind) -> bool {
        match kind {
            DriverKind::Process => self.process.sees(kind),
            DriverKind::Kubernetes => self.kubernetes.as_ref().is_some_and(KubernetesDriver::is_synced),
        }
    }

    async fn is_gone(&self, replica: &ReplicaName, kind: DriverKind) -> io::Result<bool> {
        match (kind, &self.kubernetes) {
            (DriverKind::Kubernetes, Some(cluster)) => cluster.is_gone(replica, kind).await,
            (DriverKind::Kubernetes, None) => Ok(false),
            (DriverKind::Process, _) => self.process.is_gone(replica, kind).await,
        }
    }

    fn route(&self, replica: &ReplicaName, kind: DriverKind, known: Option<&str>) -> Option<String> {
        match (kind, &self.kubernetes) {
            (DriverKind::Kubernetes, Some(cluster)) => cluster.route(replica, kind, known),
            (DriverKind::Kubernetes, None) | (DriverKind::Process, _) => self.process.route(replica, kind, known),
        }
    }

    async fn protect(&self, wanted: &Protected) {
        if let Some(cluster) = &self.kubernetes {
            cluster.protect(wanted).await;
        }
    }

    async fn keep_pools(&self, routes: &Routes) {
        if let Some(cluster) = &self.kubernetes {
            cluster.keep_pools(routes).await;
        }
    }
}

impl Drivers {
    /// What a replica's engine says of itself, read at once.
    pub async fn figures(&self, replica: &ReplicaName) -> Result<EngineFigures, NoLoad> {
        with_its_driver!(self, replica, driver => driver.figures(replica).await)
    }
}
