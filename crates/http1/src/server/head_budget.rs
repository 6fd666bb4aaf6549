//! Memory for heads that have not arrived completely.
//!
//! A head in one piece needs none of it. The budget bounds what clients can occupy that send heads slowly or never end
//! them, however many connections they open. Half of it is for small heads, so that a few large ones do not use it up: of
//! 8 MiB, a client with 1,024 connections leaves room for the small heads of others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Nearly all heads are smaller.
const SMALL_HEAD: usize = 4 << 10;

/// Bytes for incomplete heads, shared by the connections of a core.
#[derive(Debug)]
pub struct HeadBudget {
    left: AtomicUsize,
    /// The part of them that only small heads get.
    for_small: usize,
}

impl HeadBudget {
    pub const fn new(bytes: usize) -> Self {
        Self { left: AtomicUsize::new(bytes), for_small: bytes / 2 }
    }

    /// Takes the difference for a connection that has `held` bytes and needs `wanted`.
    fn take(&self, held: usize, wanted: usize) -> bool {
        let least = if wanted <= SMALL_HEAD { 0 } else { self.for_small };
        let rest = |left: usize| left.checked_sub(wanted - held).filter(|rest| *rest >= least);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).is_ok()
    }
}

/// One connection's part of the budget, returned when dropped.
pub(super) struct Reservation {
    budget: Arc<HeadBudget>,
    bytes: usize,
}

impl Reservation {
    pub(super) const fn new(budget: Arc<HeadBudget>) -> Self {
        Self { budget, bytes: 0 }
    }

    /// Changes the reservation to `bytes`. If the budget does not suffice, it becomes 0.
    pub(super) fn resize(&mut self, bytes: usize) -> bool {
        let has_room = bytes <= self.bytes || self.budget.take(self.bytes, bytes);
        let kept = if has_room { bytes } else { 0 };
        if kept < self.bytes {
            self.budget.left.fetch_add(self.bytes - kept, Ordering::Relaxed);
        }
        self.bytes = kept;
        has_room
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.resize(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1 << 10;

    #[test]
    fn reservations_share_the_budget_and_return_it() {
        let budget = Arc::new(HeadBudget::new(40 * KIB));
        let [mut one, mut other] = [Reservation::new(Arc::clone(&budget)), Reservation::new(Arc::clone(&budget))];
        assert!(one.resize(5 * KIB) && one.resize(16 * KIB));
        assert!(!other.resize(5 * KIB), "half is for small heads");
        assert!(other.resize(4 * KIB), "such as this one");
        assert!(!one.resize(17 * KIB), "it has nothing left after that");
        assert!(other.resize(8 * KIB), "so the other one can grow");
        assert!(other.resize(KIB));
        drop((one, other));
        assert_eq!(budget.left.load(Ordering::Relaxed), 40 * KIB);
    }

    #[test]
    fn many_connections_that_take_all_they_can_leave_room_for_small_heads() {
        let budget = Arc::new(HeadBudget::new(8 << 20));
        let greedy: Vec<_> = (0..1_024)
            .map(|_| {
                let mut reservation = Reservation::new(Arc::clone(&budget));
                assert!([64, 32, 16, 8, 4].iter().any(|kib| reservation.resize(kib * KIB)));
                reservation
            })
            .collect();
        assert!(Reservation::new(Arc::clone(&budget)).resize(4 * KIB), "after {} others", greedy.len());
    }
}
