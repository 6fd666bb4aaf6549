//! The life of an endpoint: every state, what moves it, and what each move means.
//!
//! A state is intent and routing. What the replicas really do is beside it, so a suspended endpoint may still drain.
//! [`step`] is the whole table; whoever calls it writes down what it says and does nothing else.

mod reason;
mod table;

pub use reason::StateReason;
pub use table::{
    Next, NoStep, SCALE_DOWN_DRAIN_SECS, STOP_DRAIN_SECS, Standing, Step, Trigger, committed, create, first_replicas,
    step,
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

    /// What becomes of a call that arrives now.
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

/// What happens to new calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// To a ready replica.
    Routed,
    /// Kept open until a replica is ready or the edge's patience ends.
    Held,
    /// Kept open, and the first one starts replicas.
    HeldAndWakes,
    /// Refused at once: waiting cannot help.
    NotServing,
    /// As if the endpoint did not exist.
    Unknown,
}
