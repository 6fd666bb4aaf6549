//! Histograms of durations, with the buckets that the OpenTelemetry conventions for generative AI recommend.

use super::sharded::Sharded;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds in seconds.
pub(super) type Bounds = &'static [f64];

pub(super) const DURATION_BOUNDS: Bounds =
    &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
pub(super) const TIME_TO_FIRST_TOKEN_BOUNDS: Bounds =
    &[0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];
pub(super) const TIME_PER_OUTPUT_TOKEN_BOUNDS: Bounds =
    &[0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5];
/// Not from the conventions: up to the longest `edge.hold_timeout`.
pub(super) const HOLD_BOUNDS: Bounds = &[0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0];

/// Most buckets of a histogram, including the one above the last bound.
const MAX_BUCKETS: usize = 17;

#[derive(Debug)]
pub(super) struct Histogram {
    bounds: Bounds,
    cores: Sharded<Buckets>,
}

#[derive(Debug, Default)]
struct Buckets {
    counts: [AtomicU64; MAX_BUCKETS],
    sum_nanos: AtomicU64,
}

/// The content of a histogram: one count per bound, and one above the last.
pub(super) struct Snapshot {
    pub(super) bounds: Bounds,
    pub(super) counts: Vec<u64>,
    pub(super) sum_seconds: f64,
}

impl Histogram {
    pub(super) fn new(cores: usize, bounds: Bounds) -> Self {
        assert!(bounds.len() < MAX_BUCKETS);
        Self { bounds, cores: Sharded::new(cores) }
    }

    pub(super) fn observe(&self, core: usize, took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = self.bounds.partition_point(|bound| *bound < seconds);
        let own = self.cores.on(core);
        own.counts[bucket].fetch_add(1, Ordering::Relaxed);
        own.sum_nanos.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> Snapshot {
        let mut counts = vec![0; self.bounds.len() + 1];
        let mut sum_seconds = 0.0;
        for core in self.cores.each() {
            for (total, count) in counts.iter_mut().zip(&core.counts) {
                *total += count.load(Ordering::Relaxed);
            }
            sum_seconds += Duration::from_nanos(core.sum_nanos.load(Ordering::Relaxed)).as_secs_f64();
        }
        Snapshot { bounds: self.bounds, counts, sum_seconds }
    }
}
