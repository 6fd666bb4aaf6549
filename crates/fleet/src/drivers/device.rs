//! Devices of replicas, and why a replica cannot be placed or started.

use crate::engine::CommandError;
use domain::Timestamp;
use domain::shown_as_text;
use std::collections::BTreeSet;
use std::io;

/// A GPU or a slot: the UUID of a GPU, or a GPU type and a slot number such as `local/cpu#0`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct DeviceId(Box<str>);

impl DeviceId {
    /// An id read from a row. Whether the machine has that device is checked at the start of a replica.
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

shown_as_text!(DeviceId);

/// A GPU or slot of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    pub id: DeviceId,
    pub gpu_type: String,
    /// CUDA index of a GPU; `None` for a slot.
    pub index: Option<u32>,
    /// GPUs with the same number are connected by NVLink.
    pub island: u32,
    /// Whether any process computes on it.
    pub busy: bool,
}

/// The resources that a replica runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    pub devices: Vec<DeviceId>,
    /// First port of its block; the engine listens there.
    pub port: u16,
    /// The node of the cluster; `None` on this machine.
    pub node: Option<String>,
    /// Since when the devices are held, if not from now on.
    pub since: Option<Timestamp>,
}

impl Binding {
    /// On this machine, from now on.
    pub const fn here(devices: Vec<DeviceId>, port: u16) -> Self {
        Self { devices, port, node: None, since: None }
    }
}

/// Resources of this machine that open holds already have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TakenResources {
    pub devices: BTreeSet<DeviceId>,
    pub ports: BTreeSet<u16>,
}

/// Why a replica cannot be placed now. A later attempt may succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    #[error("{needed} × {gpu_type} needed, {free} free")]
    Devices { gpu_type: String, needed: u32, free: u32 },
    #[error("every block of ports is taken")]
    Ports,
    /// The scheduler has found no node; the message is the scheduler's.
    #[error("{0}")]
    Unschedulable(String),
    /// The scheduler has not decided yet.
    #[error("not placed yet")]
    Undecided,
}

/// Why a replica was not started. A failure of the engine itself is a [`crate::engine::Failure`].
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("the GPU {0} is gone")]
    DeviceGone(DeviceId),
    /// The next binding takes other ports. Does not count as a crash.
    #[error("another program listens on port {0}")]
    PortTaken(u16),
    #[error("cannot write the replica's files")]
    Files(#[source] io::Error),
    #[error("the replica's shim did not start: {0}")]
    Shim(String),
    #[error("the replica's Pod is gone")]
    PodGone,
}
