//! The states of a replica and the transitions between them.

use crate::named_enum;

named_enum! {
    pub enum ReplicaState {
        /// Requested; it has no GPUs yet.
        Pending = "pending",
        /// GPUs are assigned and held.
        Bound = "bound",
        Starting = "starting",
        Ready = "ready",
        Draining = "draining",
        /// Stopped; its GPUs are free.
        Released = "released",
        Failed = "failed",
    }
}

impl ReplicaState {
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
