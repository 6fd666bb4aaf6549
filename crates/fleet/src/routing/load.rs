//! The prompt work of a replica: what this node has sent there, what other nodes report, and what the engine says.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// A waiting call that this node knows nothing of counts as this many tokens before any call was seen.
const INITIAL_MEAN: u64 = 1_024;
/// Each call moves the mean by this part of the difference.
const MEAN_WEIGHT: u64 = 16;
/// KV-cache usage, in thousandths, above which a replica costs more.
const BUSY_CACHE_MILLI: u64 = 900;
/// What a replica with a full KV cache costs more, in tokens: it interrupts running calls to serve another.
const FULL_CACHE_TOKENS: u64 = 4_096;
/// A number that an engine does not report.
const UNKNOWN: u64 = u64::MAX;

/// What an engine reports about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EnginePressure {
    /// Calls that wait in its queue.
    pub waiting: u64,
    /// From 0 to 1000.
    pub kv_cache_milli: u64,
}

/// Counters of one replica. All are read and written without a lock; none has to agree with another.
#[derive(Debug)]
pub struct PromptLoad {
    /// Uncached prompt tokens of calls from this node that have had no event yet, and the number of these calls.
    prefill_tokens: AtomicU64,
    prefilling: AtomicU32,
    /// The same from all other nodes, and their running calls.
    remote_prefill_tokens: AtomicU64,
    remote_running: AtomicU32,
    is_foreign: AtomicBool,
    /// Tokens that the engine's own report adds.
    correction: AtomicU64,
    /// Calls in the engine's queue, or [`UNKNOWN`].
    engine_queue: AtomicU64,
    mean_uncached: AtomicU64,
    predicted_cached: AtomicU64,
    real_cached: AtomicU64,
}

impl Default for PromptLoad {
    fn default() -> Self {
        Self {
            prefill_tokens: AtomicU64::default(),
            prefilling: AtomicU32::default(),
            remote_prefill_tokens: AtomicU64::default(),
            remote_running: AtomicU32::default(),
            is_foreign: AtomicBool::default(),
            correction: AtomicU64::default(),
            engine_queue: AtomicU64::new(UNKNOWN),
            mean_uncached: AtomicU64::new(INITIAL_MEAN),
            predicted_cached: AtomicU64::default(),
            real_cached: AtomicU64::default(),
        }
    }
}

impl PromptLoad {
    /// Counts a call whose prompt is about to be processed.
    pub fn begin(&self, uncached: u64) {
        self.prefill_tokens.fetch_add(uncached, Ordering::Relaxed);
        self.prefilling.fetch_add(1, Ordering::Relaxed);
        let mean = self.mean_uncached.load(Ordering::Relaxed);
        let moved = (mean * (MEAN_WEIGHT - 1)).saturating_add(uncached) / MEAN_WEIGHT;
        self.mean_uncached.store(moved, Ordering::Relaxed);
    }

    /// The call had its first event, or ended without one.
    pub fn end(&self, uncached: u64) {
        self.prefill_tokens.fetch_sub(uncached, Ordering::Relaxed);
        self.prefilling.fetch_sub(1, Ordering::Relaxed);
    }

    /// Prompt tokens in flight from this node.
    pub fn own_prefill_tokens(&self) -> u64 {
        self.prefill_tokens.load(Ordering::Relaxed)
    }

    /// Calls of this node without an event so far.
    pub fn prefilling(&self) -> u32 {
        self.prefilling.load(Ordering::Relaxed)
    }

    /// Prompt tokens in flight from all nodes, with what the engine adds.
    pub fn queued_tokens(&self) -> u64 {
        let remote = self.remote_prefill_tokens.load(Ordering::Relaxed);
        self.own_prefill_tokens().saturating_add(remote).saturating_add(self.correction.load(Ordering::Relaxed))
    }

    /// Calls that are past their prompt, of which `in_flight` calls are those of this node.
    pub fn running(&self, in_flight: u32) -> u64 {
        let own = in_flight.saturating_sub(self.prefilling());
        u64::from(own) + u64::from(self.remote_running.load(Ordering::Relaxed))
    }

    /// Replaces what other nodes report.
    pub fn set_remote(&self, prefill_tokens: u64, running: u32) {
        self.remote_prefill_tokens.store(prefill_tokens, Ordering::Relaxed);
        self.remote_running.store(running, Ordering::Relaxed);
    }

    /// Whether another node prefers the replica.
    pub fn is_foreign(&self) -> bool {
        self.is_foreign.load(Ordering::Relaxed)
    }

    pub fn set_foreign(&self, is_foreign: bool) {
        self.is_foreign.store(is_foreign, Ordering::Relaxed);
    }

    /// Applies the engine's own report; `None` if it has none. Only waiting calls that no node knows of count: those of
    /// other clients. The calls of other nodes that wait are not known one by one, so their tokens are divided by the mean.
    pub fn set_pressure(&self, pressure: Option<EnginePressure>) {
        self.engine_queue.store(pressure.map_or(UNKNOWN, |pressure| pressure.waiting), Ordering::Relaxed);
        let EnginePressure { waiting, kv_cache_milli } = pressure.unwrap_or_default();
        let mean = self.mean_uncached.load(Ordering::Relaxed).max(1);
        let remote = self.remote_prefill_tokens.load(Ordering::Relaxed) / mean;
        let unknown = waiting.saturating_sub(u64::from(self.prefilling())).saturating_sub(remote);
        let excess = kv_cache_milli.min(1_000).saturating_sub(BUSY_CACHE_MILLI);
        let full = FULL_CACHE_TOKENS * excess / (1_000 - BUSY_CACHE_MILLI);
        self.correction.store(unknown.saturating_mul(mean).saturating_add(full), Ordering::Relaxed);
    }

    /// Calls in the engine's queue by its last report; `None` if it has none.
    pub fn engine_queue(&self) -> Option<u64> {
        Some(self.engine_queue.load(Ordering::Relaxed)).filter(|waiting| *waiting != UNKNOWN)
    }

    /// Adds the predicted and the reported cached tokens of one prompt.
    pub fn count_cached(&self, predicted: u64, real: u64) {
        self.predicted_cached.fetch_add(predicted, Ordering::Relaxed);
        self.real_cached.fetch_add(real, Ordering::Relaxed);
    }

    /// The sums of predicted and of reported cached tokens.
    pub fn cached_tokens(&self) -> (u64, u64) {
        (self.predicted_cached.load(Ordering::Relaxed), self.real_cached.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_count_from_begin_to_end() {
        let load = PromptLoad::default();
        load.begin(500);
        load.begin(0);
        load.set_remote(70, 3);
        assert_eq!((load.queued_tokens(), load.running(5)), (570, 6));
        load.end(500);
        load.end(0);
        assert_eq!((load.queued_tokens(), load.running(5)), (70, 8));
    }

    #[test]
    fn only_waiting_calls_that_no_node_knows_add_to_the_cost() {
        let load = PromptLoad::default();
        let added = |waiting, kv_cache_milli| {
            load.set_pressure(Some(EnginePressure { waiting, kv_cache_milli }));
            load.queued_tokens() - load.own_prefill_tokens()
        };
        assert_eq!(added(0, 900), 0);
        assert_eq!(added(2, 0), 2 * INITIAL_MEAN);
        load.begin(INITIAL_MEAN);
        assert_eq!(added(2, 0), INITIAL_MEAN);
        assert_eq!(added(1, 950), FULL_CACHE_TOKENS / 2);
        assert_eq!(added(0, 5_000), FULL_CACHE_TOKENS);
        assert_eq!(load.engine_queue(), Some(0));
        load.set_pressure(None);
        assert_eq!((load.queued_tokens(), load.engine_queue()), (INITIAL_MEAN, None));
    }
}
