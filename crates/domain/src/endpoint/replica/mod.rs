//! Replicas: running instances of an endpoint's engine.

mod drain;
mod exits;
mod state;

use crate::named_enum;
pub use drain::{Candidate, pick_to_drain};
pub use exits::recent_exits;
pub use state::{ReplicaState, TransitionError};

use super::failure::FailureClass;
use crate::ids::{EndpointId, ReplicaId};
use crate::model::DriverKind;
use crate::time::Timestamp;

named_enum! {
    /// The desired fate of a replica.
    pub enum Intent {
        Run = "run",
        /// Finish the calls in flight, at the latest by the end of the drain, then stop.
        Remove = "go",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    pub id: ReplicaId,
    pub endpoint: EndpointId,
    pub intent: Intent,
    /// Deadline of the drain if the intent is `Remove`; `None` once the process was stopped, so that the replica cannot be kept
    /// whatever a node's clock says.
    pub drain_until: Option<Timestamp>,
    /// Private: changed by [`Replica::transition`] alone.
    state: ReplicaState,
    pub driver: DriverKind,
    /// Node, address and GPUs are set once the replica is bound.
    pub node: Option<String>,
    pub address: Option<String>,
    pub gpu_ids: Vec<String>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ready_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub last_error: Option<String>,
    /// Why it failed; `None` unless it did.
    pub failure: Option<FailureClass>,
    pub log_tail: String,
}

impl Replica {
    /// A requested replica without GPUs.
    pub fn new(id: ReplicaId, endpoint: EndpointId, now: Timestamp) -> Self {
        Self {
            id,
            endpoint,
            intent: Intent::Run,
            drain_until: None,
            state: ReplicaState::Pending,
            driver: DriverKind::Process,
            node: None,
            address: None,
            gpu_ids: Vec::new(),
            created_at: now,
            started_at: None,
            ready_at: None,
            ended_at: None,
            last_error: None,
            failure: None,
            log_tail: String::new(),
        }
    }

    /// Sets the state read from the replica's row, without a check.
    #[must_use]
    pub fn restored(self, state: ReplicaState) -> Self {
        Self { state, ..self }
    }

    pub const fn state(&self) -> ReplicaState {
        self.state
    }

    /// Changes the state. An error leaves the replica as it was.
    pub const fn transition(&mut self, next: ReplicaState) -> Result<(), TransitionError> {
        if !self.state.may_become(next) {
            return Err(TransitionError { from: self.state, to: next });
        }
        self.state = next;
        Ok(())
    }

    /// Whether calls may be sent to it.
    pub fn is_serving(&self) -> bool {
        self.state == ReplicaState::Ready && self.intent == Intent::Run
    }

    /// Whether it drains and was not stopped yet, so that it can still be kept.
    pub fn may_stay(&self, now: Timestamp) -> bool {
        let drains = self.intent == Intent::Remove && self.state == ReplicaState::Draining;
        drains && self.drain_until.is_some_and(|until| now < until)
    }
}

/// How many replicas an endpoint should have, and how many it has in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status {
    pub desired: u32,
    pub pending: u32,
    pub starting: u32,
    pub ready: u32,
    pub draining: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transition_that_is_not_in_the_table_changes_nothing() {
        let now = Timestamp::from_millis(0);
        let mut replica = Replica::new(ReplicaId::new(now, 1), EndpointId::new(now, 1), now);
        let error = replica.transition(ReplicaState::Starting).unwrap_err();
        assert_eq!(error.to_string(), "a pending replica cannot become starting");
        assert_eq!(replica.state(), ReplicaState::Pending);
        assert_eq!((replica.transition(ReplicaState::Bound), replica.state()), (Ok(()), ReplicaState::Bound));
    }
}
