//! Counters of the control plane's loops, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counters of one process. No decision depends on them.
#[derive(Debug, Default)]
pub struct Metrics {
    finished_rounds: AtomicU64,
    failed_rounds: AtomicU64,
    round_micros: AtomicU64,
    scaled_up: AtomicU64,
    scaled_down: AtomicU64,
    scaled_to_zero: AtomicU64,
    ledger_differences: AtomicU64,
}

impl Metrics {
    pub(super) fn count_round(&self, finished: bool, took: Duration) {
        let rounds = if finished { &self.finished_rounds } else { &self.failed_rounds };
        rounds.fetch_add(1, Ordering::Relaxed);
        self.round_micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn count_scaling(&self, from: u32, to: u32) {
        let direction = match to {
            0 => &self.scaled_to_zero,
            more if more > from => &self.scaled_up,
            _ => &self.scaled_down,
        };
        direction.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn found_differences(&self, count: usize) {
        self.ledger_differences.store(count as u64, Ordering::Relaxed);
    }

    /// Rounds by outcome.
    pub fn rounds(&self) -> [(&'static str, u64); 2] {
        [("finished", read(&self.finished_rounds)), ("failed", read(&self.failed_rounds))]
    }

    /// Total duration of all rounds.
    pub fn round_time(&self) -> Duration {
        Duration::from_micros(read(&self.round_micros))
    }

    /// Decisions of the autoscaler by direction.
    pub fn scalings(&self) -> [(&'static str, u64); 3] {
        [("up", read(&self.scaled_up)), ("down", read(&self.scaled_down)), ("to_zero", read(&self.scaled_to_zero))]
    }

    /// Differences found by the last check of the ledger; 0 before the first.
    pub fn ledger_differences(&self) -> u64 {
        read(&self.ledger_differences)
    }
}

fn read(number: &AtomicU64) -> u64 {
    number.load(Ordering::Relaxed)
}
