//! What runs the replicas of dedicated endpoints, and the words in which a driver and its caller speak.
//!
//! A driver decides nothing: the reconciler compares what the store wants with what [`Driver::list`] finds, and calls
//! the rest. Every call may be repeated without harm. A replica has one life: who wants it again gives it a new name.

mod device;
mod family;
pub mod kubernetes;
mod load;
pub mod process;
mod replica;
mod several;
mod sighting;

pub use device::*;
pub use family::Family;
pub use load::*;
pub use replica::*;
pub use several::Drivers;
pub use sighting::*;

use crate::routes::Routes;
use domain::Timestamp;
use domain::model::DriverKind;
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;

/// What one probe found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    Well,
    Unwell(String),
}

/// A replica that gets no new calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draining {
    pub since: Timestamp,
    /// Calls that the engine still works on or has in its queue, if it says so.
    pub in_flight: Option<u64>,
}

/// How many replicas each endpoint should have, by its id.
pub type Protected = BTreeMap<String, u32>;

/// Runs replicas on one kind of place. No method has a default: whoever stands before other drivers must pass on each.
pub trait Driver: Send + Sync + 'static {
    /// Cards or slots and a block of ports, out of what is free. Nothing is reserved: the caller's rows do that.
    fn bind(&self, spec: &ReplicaSpec, taken: &Taken) -> impl Future<Output = Result<Binding, NoRoom>> + Send;

    /// Starts it, unless it was started before. Returns when its process is recorded, not when it serves.
    fn start(&self, spec: &ReplicaSpec, binding: &Binding) -> impl Future<Output = Result<(), StartError>> + Send;

    /// Whether a starting replica has become ready: it says that it is well, and it answers a small call.
    fn probe_start(&self, replica: &ReplicaName) -> impl Future<Output = Probe> + Send;

    /// Whether a replica that was ready says that it is well.
    fn probe(&self, replica: &ReplicaName) -> impl Future<Output = Probe> + Send;

    fn load(&self, replica: &ReplicaName) -> impl Future<Output = Result<EngineLoad, NoLoad>> + Send;

    /// Notes that it gets no new calls, and tells what is left. Routing and limits are the caller's.
    fn drain(&self, replica: &ReplicaName) -> impl Future<Output = io::Result<Draining>> + Send;

    /// It may have calls again.
    fn undrain(&self, replica: &ReplicaName) -> impl Future<Output = io::Result<()>> + Send;

    /// Asks whatever runs under this name to end, and forces what was asked long ago. Returns at once.
    fn stop(&self, replica: &ReplicaName) -> impl Future<Output = io::Result<()>> + Send;

    /// Everything that is here, whoever started it.
    fn list(&self) -> impl Future<Output = io::Result<Vec<Observed>>> + Send;

    /// Waits until one of these, which were seen running, does not run any more; for ever if there are none.
    fn watch(&self, running: &[ReplicaName]) -> impl Future<Output = ReplicaName> + Send;

    /// Where it is called, until it has ended.
    fn address(&self, replica: &ReplicaName) -> Option<SocketAddr>;

    /// The end of its log, at most 4 KiB.
    fn log_tail(&self, replica: &ReplicaName) -> impl Future<Output = String> + Send;

    /// Those of these cards on which something still computes: a replica's end frees them only when there is none.
    /// Where others count the cards there is nothing to look at.
    fn not_released(&self, devices: &[DeviceId]) -> impl Future<Output = Vec<DeviceId>> + Send;

    /// Removes what is left of a replica that has ended and whose hold is closed.
    fn forget(&self, replica: &ReplicaName) -> impl Future<Output = io::Result<()>> + Send;

    /// Whether [`Driver::list`] tells of all replicas that this kind of driver runs.
    fn sees(&self, kind: DriverKind) -> bool;

    /// Whether a replica that is not listed is really not there: a list may be older than its start.
    fn is_gone(&self, replica: &ReplicaName, kind: DriverKind) -> impl Future<Output = io::Result<bool>> + Send;

    /// Where calls to a ready replica go from this node, if they may; `known` is the address in its row.
    fn route(&self, replica: &ReplicaName, kind: DriverKind, known: Option<&str>) -> Option<String>;

    /// So many replicas of each endpoint in a cluster are wanted, and there are no others: whoever may call them, and
    /// whoever empties machines, is told so.
    fn protect(&self, wanted: &Protected) -> impl Future<Output = ()> + Send;

    /// Runs the pools of the catalogue that this driver is to run.
    fn keep_pools(&self, routes: &Routes) -> impl Future<Output = ()> + Send;
}
