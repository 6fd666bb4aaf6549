//! The transition table: what follows when a trigger occurs in a state.

use super::{State, StateReason};
use crate::endpoint::failure::FailureReason;
use crate::endpoint::scaling::{Mode, Scaling};

/// The part of an endpoint that the table depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateInput {
    pub state: State,
    pub reason: StateReason,
    pub scaling: Scaling,
    pub gpu_count: u32,
    /// Desired number of replicas.
    pub desired: u32,
}

/// An occurrence that may change an endpoint's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// No node has enough free GPUs for a replica.
    NoFreeGpu,
    /// There are no weights to start a replica with.
    NoWeights,
    /// A pending replica got its GPUs.
    GpusBound,
    /// The first replica became ready, or the last missing one did.
    Ready,
    /// Starts failed permanently and no replica is ready.
    StartFailed(FailureReason),
    /// The autoscaler decided on another number.
    Autoscaled {
        desired: u32,
    },
    /// A replica failed or was lost; `ready` others remain.
    ReplicaLost {
        ready: u32,
    },
    /// No call for the scale-to-zero window.
    Idle,
    /// A call to an endpoint at zero; the held calls need `wake` replicas.
    Request {
        wake: u32,
    },
    /// A user changed the scaling policy.
    Rescaled(Scaling),
    Suspend,
    /// A user resumed it, perhaps with another scaling policy.
    Resume(Scaling),
    Delete,
    /// No replica holds a GPU any more.
    LastHoldReleased,
    /// Nothing happened; the state is kept. Used when only labels change.
    Found,
}

/// The endpoint after a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub to: Next,
    pub reason: StateReason,
    pub scaling: Scaling,
    pub desired: u32,
    /// GPUs that count against the allotment.
    pub committed: u32,
    /// Time limit for draining surplus replicas.
    pub drain_secs: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    State(State),
    /// Deleted; its name is free.
    Gone,
}

/// Why a trigger was not applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    #[error("the endpoint is being deleted")]
    Deleting,
    /// The trigger does not apply to this state: the caller saw an older one and should read again.
    #[error("the trigger does not apply to an endpoint that is {0}")]
    NotApplicable(State),
}

pub const SCALE_DOWN_DRAIN_SECS: u32 = 3_600;
pub const STOP_DRAIN_SECS: u32 = 120;

/// GPUs that an endpoint commits: those of its maximum number of replicas, unless it is suspended or being deleted.
pub const fn committed(state: State, mode: Mode, gpu_count: u32) -> u32 {
    match state {
        State::Suspended | State::Deleting => 0,
        State::Provisioning | State::Serving | State::ScaledToZero | State::Failed => gpu_count * mode.ceiling(),
    }
}

/// The number of replicas at the first start.
pub fn first_replicas(mode: Mode) -> u32 {
    mode.floor()
}

/// The first step of a new endpoint.
pub fn create(scaling: Scaling, gpu_count: u32) -> Step {
    start(scaling, gpu_count, StateReason::Created)
}

/// The transition table.
pub fn step(from: &StateInput, trigger: Trigger) -> Result<Step, StepError> {
    use State::{Deleting, Failed, Provisioning, ScaledToZero, Serving, Suspended};
    let not_applicable = Err(StepError::NotApplicable(from.state));
    match trigger {
        Trigger::NoFreeGpu => match from.state {
            Provisioning => Ok(stay(from, StateReason::WaitingForGpus)),
            Serving | ScaledToZero | Suspended | Failed | Deleting => not_applicable,
        },
        Trigger::NoWeights => match from.state {
            Provisioning => Ok(stay(from, StateReason::WaitingForWeights)),
            Serving | ScaledToZero | Suspended | Failed | Deleting => not_applicable,
        },
        Trigger::GpusBound => match (from.state, from.reason) {
            (Provisioning, StateReason::WaitingForGpus | StateReason::WaitingForWeights) => {
                Ok(stay(from, StateReason::Plain))
            }
            (Provisioning | Serving, reason) => Ok(stay(from, reason)),
            (ScaledToZero | Suspended | Failed | Deleting, _) => not_applicable,
        },
        Trigger::Ready => match from.state {
            Provisioning | Serving => Ok(go(from, Serving, StateReason::Plain, from.desired)),
            ScaledToZero | Suspended | Failed | Deleting => not_applicable,
        },
        Trigger::StartFailed(reason) => match from.state {
            Provisioning => Ok(go(from, Failed, StateReason::Failure(reason), 0)),
            Serving | ScaledToZero | Suspended | Failed | Deleting => not_applicable,
        },
        Trigger::Autoscaled { desired } => match from.state {
            Provisioning | Serving => Ok(go(from, from.state, from.reason, from.scaling.mode.clamp(desired))),
            ScaledToZero | Suspended | Failed | Deleting => not_applicable,
        },
        Trigger::ReplicaLost { ready: 0 } => match from.state {
            Serving => Ok(go(from, Provisioning, StateReason::Recovering, from.desired)),
            Provisioning => Ok(stay(from, from.reason)),
            ScaledToZero | Suspended | Failed | Deleting => not_applicable,
        },
        Trigger::ReplicaLost { .. } => match from.state {
            Serving => Ok(stay(from, StateReason::Degraded)),
            Provisioning => Ok(stay(from, from.reason)),
            ScaledToZero | Suspended | Failed | Deleting => not_applicable,
        },
        Trigger::Idle => match from.state {
            Serving if from.scaling.mode.may_sleep() && from.desired == 1 => {
                Ok(go(from, ScaledToZero, StateReason::Plain, 0))
            }
            Provisioning | Serving | ScaledToZero | Suspended | Failed | Deleting => not_applicable,
        },
        Trigger::Request { wake } => match from.state {
            ScaledToZero => Ok(go(from, Provisioning, StateReason::ColdStart, from.scaling.mode.clamp(wake))),
            Provisioning | Serving | Suspended | Failed | Deleting => Ok(stay(from, from.reason)),
        },
        Trigger::Rescaled(scaling) => rescale(from, scaling),
        Trigger::Suspend => match from.state {
            Provisioning | Serving | ScaledToZero | Failed => Ok(go(from, Suspended, StateReason::Plain, 0)),
            Suspended => Ok(stay(from, from.reason)),
            Deleting => Err(StepError::Deleting),
        },
        Trigger::Resume(scaling) => match from.state {
            Suspended => Ok(start(scaling, from.gpu_count, StateReason::Resumed)),
            Failed => Ok(start(scaling, from.gpu_count, StateReason::Retry)),
            Provisioning | Serving | ScaledToZero if scaling == from.scaling => Ok(stay(from, from.reason)),
            Provisioning | Serving | ScaledToZero => rescale(from, scaling),
            Deleting => Err(StepError::Deleting),
        },
        Trigger::Delete => match from.state {
            Provisioning | Serving | ScaledToZero | Suspended | Failed => Ok(go(from, Deleting, StateReason::Plain, 0)),
            Deleting => Ok(stay(from, from.reason)),
        },
        Trigger::LastHoldReleased => match from.state {
            Deleting => Ok(Step { to: Next::Gone, ..stay(from, StateReason::Plain) }),
            Provisioning | Serving | ScaledToZero | Suspended | Failed => Ok(stay(from, from.reason)),
        },
        Trigger::Found => Ok(stay(from, from.reason)),
    }
}

fn rescale(from: &StateInput, scaling: Scaling) -> Result<Step, StepError> {
    let changed = StateInput { scaling, ..*from };
    match from.state {
        State::Provisioning | State::Serving => {
            Ok(go(&changed, from.state, from.reason, scaling.mode.clamp(from.desired)))
        }
        State::ScaledToZero if scaling.mode.may_sleep() => Ok(stay(&changed, from.reason)),
        State::ScaledToZero => Ok(start(scaling, from.gpu_count, StateReason::Scaled)),
        State::Suspended => Ok(stay(&changed, from.reason)),
        State::Failed => Ok(start(scaling, from.gpu_count, StateReason::Retry)),
        State::Deleting => Err(StepError::Deleting),
    }
}

fn start(scaling: Scaling, gpu_count: u32, reason: StateReason) -> Step {
    let state = State::Provisioning;
    let new = StateInput { state, reason, scaling, gpu_count, desired: 0 };
    go(&new, state, reason, first_replicas(scaling.mode))
}

fn stay(from: &StateInput, reason: StateReason) -> Step {
    go(from, from.state, reason, from.desired)
}

fn go(from: &StateInput, to: State, reason: StateReason, desired: u32) -> Step {
    Step {
        to: Next::State(to),
        reason,
        scaling: from.scaling,
        desired,
        committed: committed(to, from.scaling.mode, from.gpu_count),
        drain_secs: match to {
            State::Provisioning | State::Serving | State::ScaledToZero => SCALE_DOWN_DRAIN_SECS,
            State::Suspended | State::Failed | State::Deleting => STOP_DRAIN_SECS,
        },
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
