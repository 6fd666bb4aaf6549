//! What the decider sees of an endpoint's load. A load that is not known is never taken for none.

use crate::endpoint::scaling::Milli;
use crate::time::Timestamp;

/// How long what a node or a replica said of itself is good for.
pub const FRESH_MILLIS: u64 = 30_000;
const MOST_DEMAND: Milli = 4_000;

/// The load of a whole endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Seen(Milli),
    /// What is known points both ways, or nothing is there to be measured.
    Unclear,
    Missing,
}

/// What a node said of its calls to an endpoint: in flight and held, averaged over its last tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeReport {
    pub at: Timestamp,
    pub load: Milli,
}

/// Calls at once over all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Concurrency {
    pub signal: Signal,
    /// A node went silent: its calls may be anywhere, so nothing shrinks for one scale-down window.
    pub no_shrink_until: Option<Timestamp>,
}

/// A silent node counts with its last word for as long as that is good, then with nothing. Nodes that left in good order
/// are not among the reports.
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

/// What an engine says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineLoad {
    pub at: Timestamp,
    /// Thousandths of its KV cache in use.
    pub kv_usage: Milli,
    pub running: u64,
    pub waiting: u64,
}

impl EngineLoad {
    /// The cache that all its calls would fill: a full cache alone reads the same however long the queue is.
    pub fn demand(&self) -> Milli {
        let queue = self.kv_usage.saturating_mul(self.waiting) / self.running.max(1);
        self.kv_usage.saturating_add(queue).min(MOST_DEMAND)
    }
}

/// The demand on the KV caches of all ready replicas, `None` where one said nothing for too long.
///
/// A replica that is not heard counts against the direction that the others point to: as if at its target when they are
/// below theirs, as if idle when they are above. If that turns the direction round, nothing is clear.
pub fn kv_cache(ready: &[Option<EngineLoad>], target: Milli, now: Timestamp) -> Signal {
    let is_fresh = |load: &EngineLoad| now.millis_since(load.at) <= FRESH_MILLIS;
    let heard: Vec<Milli> = ready.iter().flatten().filter(|load| is_fresh(load)).map(EngineLoad::demand).collect();
    let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
    let (present, all) = (count(heard.len()), count(ready.len()));
    let missing = all - present;
    if all == 0 {
        return Signal::Unclear;
    }
    if 2 * missing > all {
        return Signal::Missing;
    }
    let sum: Milli = heard.iter().sum();
    let direction = sum.cmp(&(target * present));
    let filled = if direction.is_gt() { sum } else { sum + target * missing };
    if filled.cmp(&(target * all)) == direction.reverse() && direction.is_ne() {
        return Signal::Unclear;
    }
    Signal::Seen(filled)
}
