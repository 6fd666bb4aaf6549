//! A number of a model that is learned from its responses.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering};

/// Each observation moves the number by this part of the difference.
const WEIGHT: i64 = 16;

/// A moving average. Updates may be lost between threads; further ones follow.
#[derive(Debug)]
pub(crate) struct Learned(AtomicU32);

impl Learned {
    pub(crate) const fn new(initial: u32) -> Self {
        Self(AtomicU32::new(initial))
    }

    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Like [`Self::observe`], but what is above twice the number, or below half of it, counts as that: no single call moves it
    /// far.
    pub(crate) fn observe_gradually(&self, observed: u64, range: &RangeInclusive<u32>) {
        let before = u64::from(self.get());
        self.observe(observed.clamp(before / 2, before * 2), range);
    }

    /// An observation outside of the range is a mistake of the engine.
    pub(crate) fn observe(&self, observed: u64, range: &RangeInclusive<u32>) {
        let observed = u32::try_from(observed).unwrap_or(u32::MAX).clamp(*range.start(), *range.end());
        let before = self.get();
        let change = (i64::from(observed) - i64::from(before)) / WEIGHT;
        // Between the two, so it fits.
        let after = u32::try_from(i64::from(before) + change).unwrap_or(before);
        self.0.store(after, Ordering::Relaxed);
    }
}
