//! Leader election: one node at a time leads the control plane, for as long as it renews its term.
//!
//! Clocks of different nodes are never compared, and no clock that can be set is used. A node takes over when the term has
//! not changed for [`TERM`] by its own monotonic clock. Every takeover opens a new epoch, and the store rejects writes of older epochs.

use std::time::{Duration, Instant};

/// A term that was not renewed for this long is free.
pub const TERM: Duration = Duration::from_secs(10);
/// A leader that could not renew for this long stops acting.
pub const RENEW_WITHIN: Duration = Duration::from_secs(7);
/// How often the term is read.
pub const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The term as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    pub epoch: u64,
    /// The leading node's id; empty if the leader has resigned.
    pub holder: String,
    pub renewals: u64,
}

/// A node's view of the term over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    seen: Term,
    /// When the term was last seen to change.
    since: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// This node leads: renew the term.
    Renew,
    /// The term is free: try to take it over.
    TakeOver,
    Wait,
}

impl Watch {
    pub fn new(seen: Term, now: Instant) -> Self {
        Self { seen, since: now }
    }

    /// Records the current term and decides what the node `me` does.
    pub fn observe(&mut self, term: &Term, me: &str, now: Instant) -> Action {
        if self.seen != *term {
            *self = Self::new(term.clone(), now);
        }
        if term.holder == me {
            return Action::Renew;
        }
        let expired = now.saturating_duration_since(self.since) >= TERM;
        if term.holder.is_empty() || expired { Action::TakeOver } else { Action::Wait }
    }
}

/// Whether a leader that last renewed at `renewed_at` may still act.
pub fn may_act(renewed_at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(renewed_at) < RENEW_WITHIN
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(holder: &str, renewals: u64) -> Term {
        Term { epoch: 3, holder: holder.into(), renewals }
    }

    #[test]
    fn a_term_that_is_not_renewed_is_free_after_ten_seconds() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut watch = Watch::new(term("a", 1), at(0));
        assert_eq!(watch.observe(&term("a", 1), "b", at(9)), Action::Wait);
        assert_eq!(watch.observe(&term("a", 2), "b", at(11)), Action::Wait, "it was renewed in between");
        assert_eq!(watch.observe(&term("a", 2), "b", at(20)), Action::Wait);
        assert_eq!(watch.observe(&term("a", 2), "b", at(21)), Action::TakeOver);
        assert_eq!(watch.observe(&term("", 2), "b", at(21)), Action::TakeOver, "resigned");
        assert_eq!(watch.observe(&term("b", 3), "b", at(22)), Action::Renew);
    }

    #[test]
    fn a_leader_stops_before_another_can_start() {
        const { assert!(RENEW_WITHIN.as_millis() < TERM.as_millis()) };
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(may_act(at(0), at(6)) && !may_act(at(0), at(7)));
    }
}
