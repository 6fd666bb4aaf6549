//! The states of a replica and the transitions between them.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplicaState {
    /// Requested; it has no GPUs yet.
    Pending,
    /// GPUs are assigned and held.
    Bound,
    Starting,
    Ready,
    Draining,
    /// Stopped; its GPUs are free.
    Released,
    Failed,
}

impl ReplicaState {
    pub const ALL: [Self; 7] =
        [Self::Pending, Self::Bound, Self::Starting, Self::Ready, Self::Draining, Self::Released, Self::Failed];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Bound => "bound",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Draining => "draining",
            Self::Released => "released",
            Self::Failed => "failed",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Whether the state is final.
    pub const fn is_over(self) -> bool {
        match self {
            Self::Released | Self::Failed => true,
            Self::Pending | Self::Bound | Self::Starting | Self::Ready | Self::Draining => false,
        }
    }

    /// Whether a replica may go from this state to `next`.
    ///
    /// `Bound → Ready`: a leader that died after the start and before writing `Starting` leaves a bound replica that
    /// runs. `Draining → Ready`: a replica that is needed again while it drains is kept, which saves a cold start.
    pub const fn may_become(self, next: Self) -> bool {
        match self {
            Self::Pending => matches!(next, Self::Bound | Self::Released | Self::Failed),
            Self::Bound => {
                matches!(next, Self::Starting | Self::Ready | Self::Draining | Self::Released | Self::Failed)
            }
            Self::Starting => matches!(next, Self::Ready | Self::Draining | Self::Released | Self::Failed),
            Self::Ready => matches!(next, Self::Starting | Self::Draining | Self::Released | Self::Failed),
            Self::Draining => matches!(next, Self::Ready | Self::Released | Self::Failed),
            Self::Released | Self::Failed => false,
        }
    }
}

impl fmt::Display for ReplicaState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A transition that the table does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a {from} replica cannot become {to}")]
pub struct TransitionError {
    pub from: ReplicaState,
    pub to: ReplicaState,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_goes_forward_and_a_draining_one_may_come_back() {
        use ReplicaState::{Bound, Draining, Failed, Pending, Ready, Released, Starting};
        for pair in [Pending, Bound, Starting, Ready, Draining, Released].windows(2) {
            assert!(pair[0].may_become(pair[1]), "{pair:?}");
        }
        assert!(Draining.may_become(Ready));
        for state in ReplicaState::ALL {
            assert_eq!(state.may_become(Failed), !state.is_over(), "{state:?}");
            assert!(!Released.may_become(state) && !Failed.may_become(state));
            assert_eq!(ReplicaState::parse(state.as_str()), Some(state));
        }
        assert!(!Pending.may_become(Starting), "nothing starts without its GPUs");
    }
}
