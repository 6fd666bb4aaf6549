//! What a driver sees of a replica, and how one ended.

use super::{Binding, ReplicaName};
use domain::Timestamp;

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
