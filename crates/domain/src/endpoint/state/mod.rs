//! The state machine of an endpoint.
//!
//! The state is about intent and routing; the states of the replicas are separate, so a suspended endpoint may still drain.
//! [`step`] is the whole table; its callers store the result and nothing else.

mod reason;
mod table;

pub use reason::StateReason;
pub use table::{
    Next, SCALE_DOWN_DRAIN_SECS, STOP_DRAIN_SECS, Standing, Step, StepError, Trigger, committed, create,
    first_replicas, step,
};

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    Provisioning,
    Serving,
    ScaledToZero,
    Suspended,
    Failed,
    Deleting,
}

impl State {
    pub const ALL: [Self; 6] =
        [Self::Provisioning, Self::Serving, Self::ScaledToZero, Self::Suspended, Self::Failed, Self::Deleting];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Provisioning => "provisioning",
            Self::Serving => "serving",
            Self::ScaledToZero => "scaled-to-zero",
            Self::Suspended => "suspended",
            Self::Failed => "failed",
            Self::Deleting => "deleting",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// How calls to the endpoint are treated.
    pub const fn admission(self) -> Admission {
        match self {
            Self::Serving => Admission::Routed,
            Self::Provisioning | Self::Suspended => Admission::Held,
            Self::ScaledToZero => Admission::HeldAndWakes,
            Self::Failed => Admission::NotServing,
            Self::Deleting => Admission::Unknown,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How new calls are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Sent to a ready replica.
    Routed,
    /// Held until a replica is ready or the edge timeout expires.
    Held,
    /// Held, and the first one wakes the endpoint.
    HeldAndWakes,
    /// Rejected at once, since waiting cannot help.
    NotServing,
    /// Rejected as if the endpoint did not exist.
    Unknown,
}
