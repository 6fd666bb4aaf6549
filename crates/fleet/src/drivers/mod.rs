//! What runs the replicas of dedicated endpoints, and the words in which a driver and its caller speak.
//!
//! A driver decides nothing: the reconciler compares what the store wants with what [`Driver::list`] finds, and calls
//! the rest. Every call may be repeated without harm. A replica has one life: who wants it again gives it a new name.

pub mod kubernetes;
pub mod process;
mod several;

pub use several::Drivers;

use crate::routes::Routes;
use crate::token_counters::TokenCounters;
use domain::model::{DriverKind, EngineKind, Flavor, Launch, Modality};
use domain::{ModelId, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;

/// The name of a replica, made of letters, digits, `-` and `_`: it is also the name of a folder.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReplicaName(Box<str>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the name of a replica (up to 64 letters, digits, - and _)")]
pub struct BadReplicaName(String);

impl ReplicaName {
    const LONGEST: usize = 64;

    pub fn parse(text: &str) -> Result<Self, BadReplicaName> {
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if (1..=Self::LONGEST).contains(&text.len()) && text.bytes().all(is_good) {
            return Ok(Self(text.into()));
        }
        Err(BadReplicaName(text.chars().take(Self::LONGEST).collect()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ReplicaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ReplicaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a replica is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaSpec {
    pub replica: ReplicaName,
    /// The name by which the engine is called: `dedicated/<name>`.
    pub model: ModelId,
    pub modality: Modality,
    pub driver: DriverKind,
    pub launch: Launch,
    pub image: Option<String>,
    /// Whose replica it is; nobody's where it serves everybody.
    pub owner: Option<Owner>,
    pub gpu_type: String,
    pub gpu_count: u32,
    /// Absent where nobody has said yet where they are; then only a command that does not ask for them starts.
    pub weights: Option<String>,
    /// Tokens of a prompt and its answer together.
    pub max_len: u64,
    /// Calls that the engine is to work on at once.
    pub slots: u32,
}

/// The endpoint that a replica belongs to, for those who look at a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub endpoint: String,
    pub workspace: String,
    pub generation: u64,
}

impl ReplicaSpec {
    /// A flavor that names no target is meant for so many calls at once.
    const USUAL_SLOTS: u32 = 16;

    /// A replica of a model with this context length on the flavor; `weights` are the model's own, for flavors without.
    pub fn of_flavor(
        replica: ReplicaName,
        (model, modality): (ModelId, Modality),
        flavor: &Flavor,
        context_length: u64,
        weights: Option<&str>,
    ) -> Self {
        let target = flavor.default_target;
        Self {
            replica,
            model,
            modality,
            driver: flavor.driver,
            launch: flavor.launch.clone(),
            image: flavor.image.clone(),
            owner: None,
            gpu_type: flavor.gpu_type.to_string(),
            gpu_count: flavor.gpu_count,
            weights: flavor.weights.as_deref().or(weights).map(ToOwned::to_owned),
            max_len: flavor.max_len.unwrap_or(context_length),
            slots: target.filter(|target| *target > 0).unwrap_or(Self::USUAL_SLOTS),
        }
    }
}

/// Whose ways an engine has: its metrics, and how patient a probe must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    ForebayEngine,
    Vllm,
    Sglang,
    LlamaServer,
    /// Started by a command of the operator's own.
    Unknown,
}

impl Family {
    pub const fn of(launch: &Launch) -> Self {
        match launch {
            Launch::Engine(EngineKind::ForebayEngine) => Self::ForebayEngine,
            Launch::Engine(EngineKind::Vllm) => Self::Vllm,
            Launch::Engine(EngineKind::Sglang) => Self::Sglang,
            Launch::Engine(EngineKind::LlamaServer) => Self::LlamaServer,
            Launch::Argv(_) => Self::Unknown,
        }
    }

    const ALL: [Self; 5] = [Self::ForebayEngine, Self::Vllm, Self::Sglang, Self::LlamaServer, Self::Unknown];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ForebayEngine => "forebay-engine",
            Self::Vllm => "vllm",
            Self::Sglang => "sglang",
            Self::LlamaServer => "llama-server",
            Self::Unknown => "unknown",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.as_str() == text)
    }

    /// Whose words to look for in what it says: those of any engine, where it is not known.
    pub(crate) const fn candidates(self) -> &'static [Self] {
        match self {
            Self::ForebayEngine => &[Self::ForebayEngine],
            Self::Vllm => &[Self::Vllm],
            Self::Sglang => &[Self::Sglang],
            Self::LlamaServer => &[Self::LlamaServer],
            Self::Unknown => &[Self::ForebayEngine, Self::Vllm, Self::Sglang, Self::LlamaServer],
        }
    }

    /// Whether it can tell how full its KV cache is; llama-server cannot any more, of an unknown one we cannot say.
    pub const fn tells_kv_cache_usage(self) -> Option<bool> {
        match self {
            Self::ForebayEngine | Self::Vllm | Self::Sglang => Some(true),
            Self::LlamaServer => Some(false),
            Self::Unknown => None,
        }
    }
}

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

/// A replica as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    pub replica: ReplicaName,
    /// Where it is called and what it runs on; absent for strays and damaged folders.
    pub binding: Option<Binding>,
    pub sighting: Sighting,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sighting {
    /// Its start is under way.
    Launching,
    Running(Running),
    /// Its machine does not answer, and may come back: nobody can say how it is.
    OutOfSight,
    Exited(Exit),
    /// Neither a process nor a record of its end: it ended at some time after it was last seen.
    Lost {
        last_seen: Option<Timestamp>,
    },
    /// Processes of a replica that nobody has a folder of; [`Driver::stop`] ends them.
    Stray {
        pids: Vec<u32>,
    },
}

impl Sighting {
    /// Whether there are processes.
    pub const fn lives(&self) -> bool {
        match self {
            Self::Launching | Self::Running(_) | Self::OutOfSight | Self::Stray { .. } => true,
            Self::Exited(_) | Self::Lost { .. } => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// The engine's.
    pub pid: u32,
    pub started_at: Timestamp,
    pub draining_since: Option<Timestamp>,
    /// Whether its shim lives; without one its end will not be recorded.
    pub supervised: bool,
    /// Whether somebody else has asked it to end: nothing brings it back.
    pub leaving: bool,
}

/// How a replica ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    pub started_at: Option<Timestamp>,
    pub at: Timestamp,
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// Nothing if it ended because it was asked to.
    pub failure: Option<Failure>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub class: FailureClass,
    /// The line of its log that says so, or how it ended.
    pub message: String,
}

/// What is wrong with a replica that ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureClass {
    WeightsMissing,
    WeightsUnauthorized,
    OutOfMemory,
    EngineRejectedConfig,
    /// What should run is not there: the program on this machine, the image in a cluster.
    ImageMissing,
    /// Another program was faster: bind again, and do not count it.
    PortTaken,
    /// The machine was taken from it: the engine did nothing wrong.
    NodeLost,
    Crash,
}

impl FailureClass {
    pub const fn code(self) -> &'static str {
        match self {
            Self::WeightsMissing => "weights-missing",
            Self::WeightsUnauthorized => "weights-unauthorized",
            Self::OutOfMemory => "out-of-memory",
            Self::EngineRejectedConfig => "engine-rejected-config",
            Self::ImageMissing => "image-missing",
            Self::PortTaken => "port-taken",
            Self::NodeLost => "node-lost",
            Self::Crash => "crash",
        }
    }
}

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

/// How busy an engine says it is. What it does not say is absent, never 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EngineLoad {
    /// From 0 to 1.
    pub kv_cache_usage: Option<f64>,
    pub running: Option<f64>,
    pub waiting: Option<f64>,
}

impl EngineLoad {
    /// Calls that it works on or has in its queue, if it says both.
    pub fn calls(&self) -> Option<u64> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of calls, never negative")]
        self.running.zip(self.waiting).map(|(running, waiting)| (running + waiting).ceil() as u64)
    }
}

/// What one look at an engine's metrics tells.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EngineFigures {
    pub load: EngineLoad,
    /// Absent where the engine does not count tokens.
    pub tokens: Option<TokenCounters>,
}

/// Why an engine's load is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoLoad {
    #[error("no such replica")]
    UnknownReplica,
    #[error("{0}")]
    Unreadable(String),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_cannot_be_named_after_another_folder() {
        for bad in ["", "..", "a/b", "a b", "é", &"x".repeat(65)] {
            assert!(ReplicaName::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(ReplicaName::parse("rep_01j9-2").unwrap().as_str(), "rep_01j9-2");
    }
}
