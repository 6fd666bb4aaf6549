//! The life of an endpoint: every state, what moves it, and what each move means.
//!
//! A state is intent and routing. What the replicas really do is beside it, so a suspended endpoint may still drain.
//! [`step`] is the whole table; whoever calls it writes down what it says and does nothing else.

use super::failure::FailureReason;
use super::scaling::{Mode, Scaling};
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

/// Why an endpoint is in its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateReason {
    /// Nothing to explain.
    Plain,
    Created,
    WaitingForGpus,
    WaitingForWeights,
    Degraded,
    Recovering,
    ColdStart,
    Scaled,
    Resumed,
    Retry,
    Failure(FailureReason),
}

impl StateReason {
    const WITHOUT_FAILURES: [Self; 10] = [
        Self::Plain,
        Self::Created,
        Self::WaitingForGpus,
        Self::WaitingForWeights,
        Self::Degraded,
        Self::Recovering,
        Self::ColdStart,
        Self::Scaled,
        Self::Resumed,
        Self::Retry,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Created => "created",
            Self::WaitingForGpus => "waiting-for-gpus",
            Self::WaitingForWeights => "waiting-for-weights",
            Self::Degraded => "degraded",
            Self::Recovering => "recovering",
            Self::ColdStart => "cold-start",
            Self::Scaled => "scaled",
            Self::Resumed => "resumed",
            Self::Retry => "retry",
            Self::Failure(reason) => reason.as_str(),
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        let plain = Self::WITHOUT_FAILURES.into_iter().find(|reason| reason.as_str() == text);
        plain.or_else(|| FailureReason::parse(text).map(Self::Failure))
    }

    /// A sentence for people.
    pub const fn message(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Created => "The endpoint was created and its first replica is being started.",
            Self::WaitingForGpus => "No node has enough free GPUs of this type; a replica starts as soon as one has.",
            Self::WaitingForWeights => "The model's weights are nowhere to be found yet.",
            Self::Degraded => "A replica failed and is being restarted; the others serve.",
            Self::Recovering => "The last ready replica was lost and is being restarted.",
            Self::ColdStart => "A call arrived while no replica was running; replicas are being started.",
            Self::Scaled => "The endpoint no longer scales to zero; replicas are being started.",
            Self::Resumed => "The endpoint was resumed and its first replica is being started.",
            Self::Retry => "The endpoint is being started again after a failure.",
            Self::Failure(reason) => reason.message(),
        }
    }
}

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
#[path = "state_tests.rs"]
mod tests;
