//! Counters per core, so that no core waits for another's cache line. A reader adds them up.

use std::sync::atomic::{AtomicU64, Ordering};

/// Aligned to the size in which processors fetch cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct CacheAligned<T>(pub(super) T);

#[derive(Debug)]
pub(super) struct Sharded<T> {
    cores: Box<[CacheAligned<T>]>,
}

impl<T: Default> Sharded<T> {
    pub(super) fn new(cores: usize) -> Self {
        Self::of(cores, T::default)
    }
}

impl<T> Sharded<T> {
    pub(super) fn of(cores: usize, make: impl Fn() -> T) -> Self {
        Self { cores: (0..cores.max(1)).map(|_| CacheAligned(make())).collect() }
    }

    pub(super) fn on(&self, core: usize) -> &T {
        &self.cores[core % self.cores.len()].0
    }

    pub(super) fn cores(&self) -> usize {
        self.cores.len()
    }

    pub(super) fn each(&self) -> impl Iterator<Item = &T> {
        self.cores.iter().map(|core| &core.0)
    }
}

impl Sharded<AtomicU64> {
    pub(super) fn add(&self, core: usize, count: u64) {
        self.on(core).fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn sum(&self) -> u64 {
        self.each().map(|core| core.load(Ordering::Relaxed)).sum()
    }
}
