//! The state machine of an endpoint.
//!
//! The state is about intent and routing; the states of the replicas are separate, so a suspended endpoint may still drain.
//! [`step`] is the whole table; its callers store the result and nothing else.

mod reason;
mod table;

use crate::named_enum;
pub use reason::StateReason;
pub use table::{
    Next, SCALE_DOWN_DRAIN_SECS, STOP_DRAIN_SECS, StateInput, Step, StepError, Trigger, committed, create,
    first_replicas, step,
};

named_enum! {
    pub enum State {
        Provisioning = "provisioning",
        Serving = "serving",
        ScaledToZero = "scaled-to-zero",
        Suspended = "suspended",
        Failed = "failed",
        Deleting = "deleting",
    }
}

impl State {
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
