//! The load of an endpoint, from the reports of nodes and engines. An unknown load is never taken for zero.

use crate::endpoint::scaling::Milli;
use crate::time::Timestamp;

/// Reports older than this are stale.
pub const FRESH_MILLIS: u64 = 30_000;
const MAX_DEMAND: Milli = 4_000;

/// The load of a whole endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Seen(Milli),
    /// The reports contradict each other, or no replica is ready.
    Unclear,
    Missing,
}

/// A node's calls to an endpoint: in flight and held, averaged over its last tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeReport {
    pub at: Timestamp,
    pub load: Milli,
}

/// Concurrent calls over all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Concurrency {
    pub signal: Signal,
    /// Set when a node went silent: its calls may move to other nodes, so nothing shrinks for one scale-down window.
    pub no_shrink_until: Option<Timestamp>,
}

/// Adds up the reports. A silent node counts with its last report until that is stale. Nodes that shut down cleanly leave no
/// report.
pub fn concurrency(reports: &[NodeReport], down_secs: u32, now: Timestamp) -> Concurrency {
    let is_silent = |report: &&NodeReport| now.millis_since(report.at) > FRESH_MILLIS;
    let fresh = i64::try_from(FRESH_MILLIS).unwrap_or(i64::MAX);
    let window = i64::from(down_secs) * 1_000;
    let until = |report: &NodeReport| report.at.plus_millis(fresh + window);
    Concurrency {
        signal: if reports.is_empty() {
            Signal::Missing
        } else {
            Signal::Seen(reports.iter().filter(|report| !is_silent(report)).map(|report| report.load).sum())
        },
        no_shrink_until: reports.iter().filter(is_silent).map(until).max(),
    }
}

/// Prompts that were sent to an endpoint's replicas and have had no event yet, over all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PrefillQueue {
    /// Their tokens that are probably not cached.
    pub tokens: u64,
    pub calls: u64,
}

impl PrefillQueue {
    /// The replicas with which each has at most `target` tokens in flight. A prompt cannot be divided, so more replicas
    /// than calls are never needed. A target of 0 means that the queue is not considered.
    ///
    /// Example: four prompts of 30,000 tokens with a target of 32,768 need four replicas, one of 120,000 needs one.
    pub fn replicas(self, target: u64) -> u64 {
        if target == 0 { 0 } else { self.tokens.div_ceil(target).min(self.calls) }
    }

    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { tokens: self.tokens.saturating_add(other.tokens), calls: self.calls.saturating_add(other.calls) }
    }
}

/// The metrics of one engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineLoad {
    pub at: Timestamp,
    /// Thousandths of its KV cache in use.
    pub kv_usage: Milli,
    pub running: u64,
    pub waiting: u64,
}

impl EngineLoad {
    /// The cache that all its calls would fill, waiting ones included: the usage alone stays at 100 % however long the queue
    /// is.
    pub fn demand(&self) -> Milli {
        let queue = self.kv_usage.saturating_mul(self.waiting) / self.running.max(1);
        self.kv_usage.saturating_add(queue).min(MAX_DEMAND)
    }
}

/// The demand on the KV caches of all ready replicas; `None` for a replica without a fresh report.
///
/// A missing replica counts against the direction of the others: at its target if they are below theirs, idle if they are
/// above. If that reverses the direction, the signal is unclear. Example with a target of 0.70: two replicas at 0.95 ask to
/// scale up, but with a third, missing one counted as idle the mean is 0.63, so the signal is unclear.
pub fn kv_cache(ready: &[Option<EngineLoad>], target: Milli, now: Timestamp) -> Signal {
    let is_fresh = |load: &EngineLoad| now.millis_since(load.at) <= FRESH_MILLIS;
    let known: Vec<Milli> = ready.iter().flatten().filter(|load| is_fresh(load)).map(EngineLoad::demand).collect();
    let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
    let (present, all) = (count(known.len()), count(ready.len()));
    let missing = all - present;
    if all == 0 {
        return Signal::Unclear;
    }
    if 2 * missing > all {
        return Signal::Missing;
    }
    let sum: Milli = known.iter().sum();
    let direction = sum.cmp(&(target * present));
    let filled = if direction.is_gt() { sum } else { sum + target * missing };
    if filled.cmp(&(target * all)) == direction.reverse() && direction.is_ne() {
        return Signal::Unclear;
    }
    Signal::Seen(filled)
}
