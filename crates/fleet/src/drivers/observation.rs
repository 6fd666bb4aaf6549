//! The state in which a driver finds a replica.

use super::{Binding, ReplicaName};
use crate::engine::Failure;
use domain::Timestamp;

/// A replica as a driver found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedReplica {
    pub replica: ReplicaName,
    /// `None` for strays and damaged folders.
    pub binding: Option<Binding>,
    pub observation: Observation,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    Launching,
    Running(Running),
    /// Its machine does not respond and may come back, so the replica's state is unknown.
    Unreachable,
    Exited(Exit),
    /// Neither a process nor a record of its end: it ended at some time after it was last seen.
    Lost {
        last_seen: Option<Timestamp>,
    },
    /// Processes of a replica without a folder; [`super::Driver::stop`] ends them.
    Stray {
        pids: Vec<u32>,
    },
}

impl Observation {
    /// The same with all times earlier by `millis`, by which the clock that they were read from is ahead.
    pub(super) fn earlier_by(self, millis: i64) -> Self {
        let earlier = |at: Timestamp| at.plus_millis(-millis);
        match self {
            Self::Running(running) => Self::Running(Running {
                started_at: earlier(running.started_at),
                draining_since: running.draining_since.map(earlier),
                ..running
            }),
            Self::Exited(exit) => {
                Self::Exited(Exit { started_at: exit.started_at.map(earlier), at: earlier(exit.at), ..exit })
            }
            Self::Lost { last_seen } => Self::Lost { last_seen: last_seen.map(earlier) },
            Self::Launching | Self::Unreachable | Self::Stray { .. } => self,
        }
    }

    /// Whether it has processes.
    pub const fn is_alive(&self) -> bool {
        match self {
            Self::Launching | Self::Running(_) | Self::Unreachable | Self::Stray { .. } => true,
            Self::Exited(_) | Self::Lost { .. } => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// Process id of the engine.
    pub pid: u32,
    pub started_at: Timestamp,
    pub draining_since: Option<Timestamp>,
    /// Whether its shim is alive; without one its end will not be recorded.
    pub supervised: bool,
    /// Whether something other than the reconciler asked it to end. This cannot be undone.
    pub leaving: bool,
}

/// How a replica ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    pub started_at: Option<Timestamp>,
    pub at: Timestamp,
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// `None` if it was asked to end.
    pub failure: Option<Failure>,
}
