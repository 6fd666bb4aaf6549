//! Drivers run the replicas of dedicated endpoints: as processes of this machine, or as Pods of a cluster.
//!
//! A driver decides nothing: the reconciler compares the desired state in the store with [`Driver::list`] and calls the
//! other methods. Every method is idempotent. A replica runs once: a restarted one gets a new name.

mod auth;
mod device;
mod dispatch;
#[cfg(feature = "kubernetes")]
pub mod kubernetes;
#[cfg(not(feature = "kubernetes"))]
#[path = "kubernetes/absent.rs"]
pub mod kubernetes;
mod observation;
mod preview;
pub mod process;
mod spec;

pub use auth::ReplicaAuth;
pub use device::*;
pub use dispatch::Drivers;
pub use observation::*;
pub use preview::{CommandPreview, preview, preview_pool};
pub use spec::*;

use crate::engine::{EngineLoad, LoadError, ProbeResult};
use domain::Timestamp;
use kubernetes::KubernetesDriver;
use std::future::Future;
use std::io;

/// State of a replica that gets no new calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draining {
    pub since: Timestamp,
    /// Calls running or queued in the engine, if it reports them.
    pub in_flight: Option<u64>,
}

/// The operations that every driver has.
pub trait Driver: Send + Sync + 'static {
    /// Picks devices and a block of ports that are free. Reserves nothing: the caller's rows do.
    fn bind(
        &self,
        spec: &ReplicaSpec,
        taken: &TakenResources,
    ) -> impl Future<Output = Result<Binding, PlacementError>> + Send;

    /// Starts a replica, unless it was started before. Returns when its process is recorded, not when it serves.
    fn start(&self, spec: &ReplicaSpec, binding: &Binding) -> impl Future<Output = Result<(), StartError>> + Send;

    /// Probes a starting replica: it must be healthy and serve a small call.
    fn probe_start(&self, replica: &ReplicaName) -> impl Future<Output = ProbeResult> + Send;

    /// Probes the health of a replica that was ready.
    fn probe(&self, replica: &ReplicaName) -> impl Future<Output = ProbeResult> + Send;

    fn load(&self, replica: &ReplicaName) -> impl Future<Output = Result<EngineLoad, LoadError>> + Send;

    /// Marks a replica as draining and returns its calls in flight. Routing and time limits are the caller's task.
    fn drain(&self, replica: &ReplicaName) -> impl Future<Output = io::Result<Draining>> + Send;

    /// Removes the mark, so that the replica may get calls again.
    fn undrain(&self, replica: &ReplicaName) -> impl Future<Output = io::Result<()>> + Send;

    /// Asks the processes of a replica to end, and kills those whose grace period is over. Returns at once.
    fn stop(&self, replica: &ReplicaName) -> impl Future<Output = io::Result<()>> + Send;

    /// All replicas found, including those without a row.
    fn list(&self) -> impl Future<Output = io::Result<Vec<ObservedReplica>>> + Send;

    /// The key that requests to a replica have; `None` if its driver knows none.
    fn key(&self, _replica: &ReplicaName) -> Option<String> {
        None
    }

    /// Where a replica's engine is called, `HOST:PORT` or `unix:SOCKET:PORT`; `None` once it has ended.
    fn address(&self, replica: &ReplicaName) -> Option<String>;

    /// The end of its log, at most 4 KiB.
    fn log_tail(&self, replica: &ReplicaName) -> impl Future<Output = String> + Send;

    /// The devices among these on which a process still computes. An ended replica frees them only when there is none.
    fn busy_devices(&self, devices: &[DeviceId]) -> impl Future<Output = Vec<DeviceId>> + Send;

    /// Removes the files or objects of a replica that has ended and whose hold is closed.
    fn forget(&self, replica: &ReplicaName) -> impl Future<Output = io::Result<()>> + Send;

    /// The cluster, if one is configured. Operations that only a cluster has are methods of [`KubernetesDriver`].
    fn cluster(&self) -> Option<&KubernetesDriver> {
        None
    }
}
