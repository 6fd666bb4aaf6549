//! What a driver sees of a replica, and how one ended.

use super::{Binding, ReplicaName};
use domain::Timestamp;
pub use domain::endpoint::FailureClass;

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
