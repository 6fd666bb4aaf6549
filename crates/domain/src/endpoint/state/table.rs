//! The table of states: what follows from what happens.

use super::{State, StateReason};
use crate::endpoint::failure::FailureReason;
use crate::endpoint::scaling::{Mode, Scaling};

/// Where an endpoint stands when something happens to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub state: State,
    pub reason: StateReason,
    pub scaling: Scaling,
    pub gpu_count: u32,
    /// How many replicas there should be.
    pub desired: u32,
}

/// What happens to an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// No node has enough free GPUs for a replica.
    NoFreeGpu,
    /// There are no weights to start a replica with.
    NoWeights,
    /// A replica that waited has its GPUs.
    GpusBound,
    /// A replica is ready, the first one or one that was missing: none is failing any more.
    Ready,
    /// A start failed for good and no replica is ready.
    StartFailed(FailureReason),
    /// The autoscaler wants another number.
    Autoscaled {
        desired: u32,
    },
    /// A replica failed or was lost; so many are still ready.
    ReplicaLost {
        ready: u32,
    },
    /// Nobody called for longer than the scale-to-zero window.
    Idle,
    /// A call to an endpoint at zero, with the number of replicas that the held calls need.
    Request {
        wake: u32,
    },
    /// Someone changed the scaling.
    Rescaled(Scaling),
    Suspend,
    /// Someone resumed it, perhaps with another scaling.
    Resume(Scaling),
    Delete,
    /// No replica holds a GPU any more.
    LastHoldReleased,
    /// The control plane starts and finds the endpoint.
    Found,
}

/// What follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub to: Next,
    pub reason: StateReason,
    pub scaling: Scaling,
    pub desired: u32,
    /// GPUs that count against the allotment from now on.
    pub committed: u32,
    /// How long replicas that must go may take.
    pub drain_secs: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    State(State),
    /// Only the tombstone is left; the name is free.
    Gone,
}

/// Why nothing follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoStep {
    #[error("the endpoint is being deleted")]
    Deleting,
    /// Whoever asked looked at an older state; looking again is all it takes.
    #[error("this does not happen to an endpoint that is {0}")]
    OutOfPlace(State),
}

pub const SCALE_DOWN_DRAIN_SECS: u32 = 3_600;
pub const STOP_DRAIN_SECS: u32 = 120;

/// GPUs that an endpoint commits: its ceiling, whatever runs, unless it is suspended or on its way out.
pub const fn committed(state: State, mode: Mode, gpu_count: u32) -> u32 {
    match state {
        State::Suspended | State::Deleting => 0,
        State::Provisioning | State::Serving | State::ScaledToZero | State::Failed => gpu_count * mode.ceiling(),
    }
}

/// How many replicas a start begins with.
pub fn first_replicas(mode: Mode) -> u32 {
    mode.floor()
}

/// A new endpoint.
pub fn create(scaling: Scaling, gpu_count: u32) -> Step {
    start(scaling, gpu_count, StateReason::Created)
}

/// The table of states.
pub fn step(now: &Standing, trigger: Trigger) -> Result<Step, NoStep> {
    use State::{Deleting, Failed, Provisioning, ScaledToZero, Serving, Suspended};
    let out_of_place = Err(NoStep::OutOfPlace(now.state));
    match trigger {
        Trigger::NoFreeGpu => match now.state {
            Provisioning => Ok(stay(now, StateReason::WaitingForGpus)),
            Serving | ScaledToZero | Suspended | Failed | Deleting => out_of_place,
        },
        Trigger::NoWeights => match now.state {
            Provisioning => Ok(stay(now, StateReason::WaitingForWeights)),
            Serving | ScaledToZero | Suspended | Failed | Deleting => out_of_place,
        },
        Trigger::GpusBound => match (now.state, now.reason) {
            (Provisioning, StateReason::WaitingForGpus | StateReason::WaitingForWeights) => {
                Ok(stay(now, StateReason::Plain))
            }
            (Provisioning | Serving, reason) => Ok(stay(now, reason)),
            (ScaledToZero | Suspended | Failed | Deleting, _) => out_of_place,
        },
        Trigger::Ready => match now.state {
            Provisioning | Serving => Ok(go(now, Serving, StateReason::Plain, now.desired)),
            ScaledToZero | Suspended | Failed | Deleting => out_of_place,
        },
        Trigger::StartFailed(reason) => match now.state {
            Provisioning => Ok(go(now, Failed, StateReason::Failure(reason), 0)),
            Serving | ScaledToZero | Suspended | Failed | Deleting => out_of_place,
        },
        Trigger::Autoscaled { desired } => match now.state {
            Provisioning | Serving => Ok(go(now, now.state, now.reason, now.scaling.mode.clamp(desired))),
            ScaledToZero | Suspended | Failed | Deleting => out_of_place,
        },
        Trigger::ReplicaLost { ready: 0 } => match now.state {
            Serving => Ok(go(now, Provisioning, StateReason::Recovering, now.desired)),
            Provisioning => Ok(stay(now, now.reason)),
            ScaledToZero | Suspended | Failed | Deleting => out_of_place,
        },
        Trigger::ReplicaLost { .. } => match now.state {
            Serving => Ok(stay(now, StateReason::Degraded)),
            Provisioning => Ok(stay(now, now.reason)),
            ScaledToZero | Suspended | Failed | Deleting => out_of_place,
        },
        Trigger::Idle => match now.state {
            Serving if now.scaling.mode.may_sleep() && now.desired == 1 => {
                Ok(go(now, ScaledToZero, StateReason::Plain, 0))
            }
            Provisioning | Serving | ScaledToZero | Suspended | Failed | Deleting => out_of_place,
        },
        Trigger::Request { wake } => match now.state {
            ScaledToZero => Ok(go(now, Provisioning, StateReason::ColdStart, now.scaling.mode.clamp(wake))),
            Provisioning | Serving | Suspended | Failed | Deleting => Ok(stay(now, now.reason)),
        },
        Trigger::Rescaled(scaling) => rescale(now, scaling),
        Trigger::Suspend => match now.state {
            Provisioning | Serving | ScaledToZero | Failed => Ok(go(now, Suspended, StateReason::Plain, 0)),
            Suspended => Ok(stay(now, now.reason)),
            Deleting => Err(NoStep::Deleting),
        },
        Trigger::Resume(scaling) => match now.state {
            Suspended => Ok(start(scaling, now.gpu_count, StateReason::Resumed)),
            Failed => Ok(start(scaling, now.gpu_count, StateReason::Retry)),
            Provisioning | Serving | ScaledToZero if scaling == now.scaling => Ok(stay(now, now.reason)),
            Provisioning | Serving | ScaledToZero => rescale(now, scaling),
            Deleting => Err(NoStep::Deleting),
        },
        Trigger::Delete => match now.state {
            Provisioning | Serving | ScaledToZero | Suspended | Failed => Ok(go(now, Deleting, StateReason::Plain, 0)),
            Deleting => Ok(stay(now, now.reason)),
        },
        Trigger::LastHoldReleased => match now.state {
            Deleting => Ok(Step { to: Next::Gone, ..stay(now, StateReason::Plain) }),
            Provisioning | Serving | ScaledToZero | Suspended | Failed => Ok(stay(now, now.reason)),
        },
        Trigger::Found => Ok(stay(now, now.reason)),
    }
}

fn rescale(now: &Standing, scaling: Scaling) -> Result<Step, NoStep> {
    let changed = Standing { scaling, ..*now };
    match now.state {
        State::Provisioning | State::Serving => {
            Ok(go(&changed, now.state, now.reason, scaling.mode.clamp(now.desired)))
        }
        State::ScaledToZero if scaling.mode.may_sleep() => Ok(stay(&changed, now.reason)),
        State::ScaledToZero => Ok(start(scaling, now.gpu_count, StateReason::Scaled)),
        State::Suspended => Ok(stay(&changed, now.reason)),
        State::Failed => Ok(start(scaling, now.gpu_count, StateReason::Retry)),
        State::Deleting => Err(NoStep::Deleting),
    }
}

fn start(scaling: Scaling, gpu_count: u32, reason: StateReason) -> Step {
    let state = State::Provisioning;
    let new = Standing { state, reason, scaling, gpu_count, desired: 0 };
    go(&new, state, reason, first_replicas(scaling.mode))
}

fn stay(now: &Standing, reason: StateReason) -> Step {
    go(now, now.state, reason, now.desired)
}

fn go(now: &Standing, to: State, reason: StateReason, desired: u32) -> Step {
    Step {
        to: Next::State(to),
        reason,
        scaling: now.scaling,
        desired,
        committed: committed(to, now.scaling.mode, now.gpu_count),
        drain_secs: match to {
            State::Provisioning | State::Serving | State::ScaledToZero => SCALE_DOWN_DRAIN_SECS,
            State::Suspended | State::Failed | State::Deleting => STOP_DRAIN_SECS,
        },
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
