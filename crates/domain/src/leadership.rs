//! Who leads the control plane: one node at a time, judged by whether its lease is renewed.
//!
//! Nobody compares clocks. A node watches the lease, and takes it over when it has not changed for a whole lease by the
//! node's own clock. Every takeover opens a new epoch; what an older epoch still wants to write is refused by the store.

use crate::time::Timestamp;

/// A lease that was not renewed for so long is free.
pub const LEASE_MILLIS: u64 = 10_000;
/// A leader that could not renew for so long stops acting.
pub const RENEW_WITHIN_MILLIS: u64 = 7_000;
/// How often the lease is looked at.
pub const LOOK_EVERY_MILLIS: u64 = 2_000;

/// The lease as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub epoch: u64,
    /// Nobody's when empty.
    pub holder: String,
    pub renewals: u64,
}

/// What a node remembers of the lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    seen: Lease,
    /// When it was last seen to change, by the node's own clock.
    since: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// It is ours: renew it.
    Renew,
    /// It is free: try to take it.
    TakeOver,
    Wait,
}

impl Watch {
    pub fn new(seen: Lease, now: Timestamp) -> Self {
        Self { seen, since: now }
    }

    /// Looks at the lease again.
    pub fn look(&mut self, lease: &Lease, me: &str, now: Timestamp) -> Move {
        if self.seen != *lease {
            *self = Self::new(lease.clone(), now);
        }
        if lease.holder == me {
            return Move::Renew;
        }
        let abandoned = now.millis_since(self.since) >= LEASE_MILLIS;
        if lease.holder.is_empty() || abandoned { Move::TakeOver } else { Move::Wait }
    }
}

/// Whether a leader that last renewed then may still act.
pub fn may_act(renewed_at: Timestamp, now: Timestamp) -> bool {
    now.millis_since(renewed_at) < RENEW_WITHIN_MILLIS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn lease(holder: &str, renewals: u64) -> Lease {
        Lease { epoch: 3, holder: holder.into(), renewals }
    }

    #[test]
    fn a_lease_that_is_renewed_stays_and_one_that_is_not_is_free_after_ten_seconds() {
        let mut watch = Watch::new(lease("a", 1), at(0));
        assert_eq!(watch.look(&lease("a", 1), "b", at(9)), Move::Wait);
        assert_eq!(watch.look(&lease("a", 2), "b", at(11)), Move::Wait, "it was renewed in between");
        assert_eq!(watch.look(&lease("a", 2), "b", at(20)), Move::Wait);
        assert_eq!(watch.look(&lease("a", 2), "b", at(21)), Move::TakeOver);
        assert_eq!(watch.look(&lease("", 2), "b", at(21)), Move::TakeOver, "given back");
        assert_eq!(watch.look(&lease("b", 3), "b", at(22)), Move::Renew);
    }

    #[test]
    fn a_leader_stops_before_another_can_start() {
        const { assert!(RENEW_WITHIN_MILLIS < LEASE_MILLIS) };
        assert!(may_act(at(0), at(6)) && !may_act(at(0), at(7)));
    }
}
