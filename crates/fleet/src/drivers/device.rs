//! What a replica runs on, and why it may not.

use super::process;
use domain::Timestamp;
use std::collections::BTreeSet;
use std::fmt;
use std::io;

/// One card or one slot: the UUID of a GPU, or a slot's number behind its type (`local/cpu#0`).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct DeviceId(Box<str>);

impl DeviceId {
    /// One that was read from a row; whether the machine has it shows at the start.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    pub fn slot(gpu_type: &str, number: u32) -> Self {
        Self(format!("{gpu_type}#{number}").into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A card or slot that the machine has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    pub id: DeviceId,
    pub gpu_type: String,
    /// The number by which CUDA knows a card; none for a slot.
    pub index: Option<u32>,
    /// Cards with the same number reach each other over NVLink.
    pub island: u32,
    /// Whether some process computes on it.
    pub busy: bool,
}

/// What a replica is to run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    pub devices: Vec<DeviceId>,
    /// The first of its block of ports, and the one where it is called.
    pub port: u16,
    /// The machine, where it is not this one.
    pub node: Option<String>,
    /// Since when the devices are held, where that is not now.
    pub since: Option<Timestamp>,
}

impl Binding {
    /// On this machine, from now on.
    pub const fn here(devices: Vec<DeviceId>, port: u16) -> Self {
        Self { devices, port, node: None, since: None }
    }
}

/// What open holds already have on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    pub devices: BTreeSet<DeviceId>,
    pub ports: BTreeSet<u16>,
}

/// Why a replica cannot be placed now. It can later.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRoom {
    #[error("{wanted} × {gpu_type} wanted, {free} free")]
    Devices { gpu_type: String, wanted: u32, free: u32 },
    #[error("every block of ports is taken")]
    Ports,
    /// Whoever places it has not found a place; the words are theirs.
    #[error("{0}")]
    Unplaced(String),
    /// Whoever places it has not said anything yet.
    #[error("not placed yet")]
    Undecided,
}

/// Why a replica was not started. What the engine itself says about a start is a [`Failure`].
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Command(#[from] process::CommandError),
    #[error("the card {0} is gone")]
    DeviceGone(DeviceId),
    /// Bind it again: the next block is free. It does not count as a crash.
    #[error("another program listens on port {0}")]
    PortTaken(u16),
    #[error("cannot write the replica's files")]
    Files(#[source] io::Error),
    #[error("the replica's shim did not start: {0}")]
    Shim(String),
    #[error("the replica's Pod is gone")]
    PodGone,
}
