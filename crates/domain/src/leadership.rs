//! Leader election: one node at a time leads the control plane, for as long as it renews its term.
//!
//! Clocks of different nodes are never compared. A node takes over when the term has not changed for [`TERM_MILLIS`] by its
//! own clock. Every takeover opens a new epoch, and the store rejects writes of older epochs.

use crate::time::Timestamp;

/// A term that was not renewed for this long is free.
pub const TERM_MILLIS: u64 = 10_000;
/// A leader that could not renew for this long stops acting.
pub const RENEW_WITHIN_MILLIS: u64 = 7_000;
/// How often the term is read.
pub const LOOK_EVERY_MILLIS: u64 = 2_000;

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
    /// When the term last changed, by this node's clock.
    since: Timestamp,
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
    pub fn new(seen: Term, now: Timestamp) -> Self {
        Self { seen, since: now }
    }

    /// Records the current term and decides what the node `me` does.
    pub fn observe(&mut self, term: &Term, me: &str, now: Timestamp) -> Action {
        if self.seen != *term {
            *self = Self::new(term.clone(), now);
        }
        if term.holder == me {
            return Action::Renew;
        }
        let expired = now.millis_since(self.since) >= TERM_MILLIS;
        if term.holder.is_empty() || expired { Action::TakeOver } else { Action::Wait }
    }
}

/// Whether a leader that last renewed at `renewed_at` may still act.
pub fn may_act(renewed_at: Timestamp, now: Timestamp) -> bool {
    now.millis_since(renewed_at) < RENEW_WITHIN_MILLIS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn term(holder: &str, renewals: u64) -> Term {
        Term { epoch: 3, holder: holder.into(), renewals }
    }

    #[test]
    fn a_term_that_is_not_renewed_is_free_after_ten_seconds() {
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
        const { assert!(RENEW_WITHIN_MILLIS < TERM_MILLIS) };
        assert!(may_act(at(0), at(6)) && !may_act(at(0), at(7)));
    }
}
