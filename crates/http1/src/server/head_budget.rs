//! Memory for heads that have not arrived completely.
//!
//! A head in one piece needs none of it. The budget bounds what clients can occupy that send heads slowly or never end
//! them, however many connections they open.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes for incomplete heads, shared by the connections of a core.
#[derive(Debug)]
pub struct HeadBudget {
    left: AtomicUsize,
}

impl HeadBudget {
    pub const fn new(bytes: usize) -> Self {
        Self { left: AtomicUsize::new(bytes) }
    }

    fn take(&self, bytes: usize) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
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
        let has_room = bytes <= self.bytes || self.budget.take(bytes - self.bytes);
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
        let budget = Arc::new(HeadBudget::new(100));
        let [mut one, mut other] = [Reservation::new(Arc::clone(&budget)), Reservation::new(Arc::clone(&budget))];
        assert!(one.resize(60) && other.resize(40));
        assert!(!other.resize(41), "it has nothing left after that");
        assert!(one.resize(100), "so the first one can grow");
        drop(one);
        assert!(other.resize(100));
        assert!(other.resize(10));
        drop(other);
        assert_eq!(budget.left.load(Ordering::Relaxed), 100);
    }
}
