//! Memory for heads that have not arrived completely.
//!
//! A head in one piece needs none of it. The budget bounds what clients can occupy that send heads slowly or never end
//! them, however many connections they open. A connection may have at most a part of what is free, so that a few large
//! heads leave room for many small ones: of 8 MiB, 1,000 connections that take all they can leave 8 KiB for the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A connection may have at most this part of the bytes that are free.
const PART: usize = 8;

/// Bytes for incomplete heads, shared by the connections of a core.
#[derive(Debug)]
pub struct HeadBudget {
    left: AtomicUsize,
}

impl HeadBudget {
    pub const fn new(bytes: usize) -> Self {
        Self { left: AtomicUsize::new(bytes) }
    }

    /// Takes the difference for a connection that has `held` bytes and needs `wanted`.
    fn take(&self, held: usize, wanted: usize) -> bool {
        let rest = |left: usize| left.checked_sub(wanted - held).filter(|rest| wanted <= rest / PART);
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

    #[test]
    fn reservations_share_the_budget_and_return_it() {
        let budget = Arc::new(HeadBudget::new(1_000));
        let [mut one, mut other] = [Reservation::new(Arc::clone(&budget)), Reservation::new(Arc::clone(&budget))];
        assert!(one.resize(60) && one.resize(105));
        assert!(!other.resize(100), "an eighth of the rest is 99");
        assert!(other.resize(90), "a smaller head has room");
        assert!(!one.resize(106), "it has nothing left after that");
        assert!(other.resize(100), "so the other one can grow");
        assert!(other.resize(10));
        drop((one, other));
        assert_eq!(budget.left.load(Ordering::Relaxed), 1_000);
    }

    #[test]
    fn however_many_take_all_they_can_some_room_is_left() {
        let budget = Arc::new(HeadBudget::new(8 << 20));
        let greedy: Vec<_> = (0..1_000)
            .map(|_| {
                let mut reservation = Reservation::new(Arc::clone(&budget));
                let most = (1..=64).rev().map(|kib| kib << 10).find(|bytes| reservation.resize(*bytes));
                assert!(most.is_some_and(|bytes| bytes >= 4 << 10));
                reservation
            })
            .collect();
        assert!(Reservation::new(Arc::clone(&budget)).resize(4 << 10), "after {} others", greedy.len());
    }
}
