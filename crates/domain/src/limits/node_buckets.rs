//! A node's view of buckets that Redis keeps for all nodes, so that the limits hold while Redis goes and comes back.
//!
//! While Redis responds, a node remembers the levels it saw. Without Redis it grants from a share: those levels divided by
//! the number of nodes. With its next request to Redis it hands over what it granted meanwhile, and a level for the case
//! that Redis has lost the bucket. So neither side ever starts full while the other one is empty.
//!
//! Example: 60 requests per minute, 3 nodes. Redis shows 30 left and goes away: each node may grant 10, and 20 per minute
//! from then on. A node grants 4 of them and finds Redis again: it hands over 4 `drawn`, and Redis, which has counted on
//! alone, takes 4 from its level. If Redis is empty, it starts with the 6 that are left of this node's share.

use super::bucket::{Bucket, PARTS};
use super::{Buckets, PerMinute, RateLimitStatus};

/// A level seen this long ago says nothing any more: an empty bucket is full by now, and Redis may have dropped it.
const KNOWN_MILLIS: u64 = 60_000;
/// Levels are handed over in thousandths.
const PARTS_PER_MILLI: i128 = PARTS / 1_000;

/// Levels in Redis, in whole requests and tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedLevels {
    pub requests: i64,
    pub tokens: i64,
}

/// The handover that goes with a request to Redis, for both buckets of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carried {
    pub requests: CarriedLevel,
    pub tokens: CarriedLevel,
}

/// Thousandths of a request or token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CarriedLevel {
    /// The level of a bucket that Redis does not have.
    pub start_milli: i64,
    /// What the node granted without Redis; negative if granted tokens were returned. Taken from a bucket that Redis has.
    pub drawn_milli: i64,
}

impl Carried {
    /// The levels of a node that has no view of the buckets. A Redis that was away may have lost buckets that other nodes
    /// have used up, so that a new bucket starts with a share then.
    pub fn without_view(limits: PerMinute, nodes: u32, was_away: bool) -> Self {
        let start = if was_away { limits.share(nodes) } else { limits };
        let level = |limit: u64| CarriedLevel { start_milli: milli(i128::from(limit) * PARTS), drawn_milli: 0 };
        Self { requests: level(start.requests), tokens: level(start.tokens) }
    }
}

/// The buckets of one scope, as one node sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeBuckets {
    view: View,
    /// Granted on its own, not handed over yet, and not part of a share.
    drawn: Parts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    /// Redis responded last.
    Shared { levels: Buckets, seen_millis: u64 },
    /// The node grants on its own.
    Share(Share),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Share {
    left: Buckets,
    /// The share as if nothing had been granted since the last handover.
    undrawn: Buckets,
}

/// In units of the buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Parts {
    requests: i128,
    tokens: i128,
}

impl NodeBuckets {
    /// After the first response of Redis.
    pub fn shared(seen: SharedLevels, now_millis: u64) -> Self {
        let level = |level: i64| Bucket::at_level(i128::from(level) * PARTS, now_millis);
        let levels = Buckets { requests: level(seen.requests), tokens: level(seen.tokens) };
        Self { view: View::Shared { levels, seen_millis: now_millis }, drawn: Parts::default() }
    }

    /// The buckets of a node that has seen no response of Redis.
    pub fn full_share(limits: PerMinute, nodes: u32, now_millis: u64) -> Self {
        let full = Buckets::full(limits.share(nodes), now_millis);
        Self { view: View::Share(Share { left: full, undrawn: full }), drawn: Parts::default() }
    }

    /// Records a response of Redis, which knows nothing of what was not handed over yet.
    pub fn note_response(&mut self, limits: PerMinute, nodes: u32, seen: SharedLevels, now_millis: u64) {
        let drawn = self.drawn_in_all(limits, nodes, now_millis);
        *self = Self { drawn, ..Self::shared(seen, now_millis) };
        if let View::Shared { levels, .. } = &mut self.view {
            *levels = levels.minus(drawn, limits, now_millis);
        }
    }

    /// The buckets from which the node grants without Redis, from now on.
    pub fn share(&mut self, limits: PerMinute, nodes: u32, now_millis: u64) -> Buckets {
        if self.is_idle(limits, nodes, now_millis) {
            *self = Self::full_share(limits, nodes, now_millis);
        }
        let share = self.open_share(limits, nodes, now_millis);
        self.view = View::Share(share);
        share.left
    }

    /// Records what is left of [`Self::share`].
    pub fn keep_share(&mut self, left: Buckets) {
        if let View::Share(share) = &mut self.view {
            share.left = left;
        }
    }

    /// The state of the limits without Redis.
    pub fn share_status(&self, limits: PerMinute, nodes: u32, now_millis: u64) -> RateLimitStatus {
        self.open_share(limits, nodes, now_millis).left.status(limits.share(nodes), now_millis)
    }

    fn open_share(&self, limits: PerMinute, nodes: u32, now_millis: u64) -> Share {
        match self.view {
            View::Share(share) => share,
            View::Shared { levels, seen_millis } => {
                let left = if is_known(seen_millis, now_millis) {
                    levels.divided(limits, nodes, now_millis)
                } else {
                    Buckets::full(limits.share(nodes), now_millis)
                };
                Share { left, undrawn: left }
            }
        }
    }

    /// What to hand over with a request to Redis. Handed over once: if the request is lost, so are the grants, of which
    /// there is at most a share.
    pub fn carry(&mut self, limits: PerMinute, nodes: u32, was_away: bool, now_millis: u64) -> Carried {
        let drawn = self.drawn_in_all(limits, nodes, now_millis);
        self.drawn = Parts::default();
        let start = match &mut self.view {
            View::Shared { levels, seen_millis } => {
                is_known(*seen_millis, now_millis).then(|| levels.parts(limits, now_millis))
            }
            View::Share(share) => {
                share.undrawn = share.left;
                Some(share.left.parts(limits.share(nodes), now_millis))
            }
        };
        Carried::without_view(limits, nodes, was_away).with(start, drawn)
    }

    /// Returns what a call took from the share and did not use; takes more if negative.
    pub fn settle_share(&mut self, limits: PerMinute, nodes: u32, requests: i64, tokens: i64, now_millis: u64) {
        match &mut self.view {
            View::Share(share) => share.left.settle(limits.share(nodes), requests, tokens, now_millis),
            // Redis was handed what the call took.
            View::Shared { levels, .. } => {
                levels.settle(limits, requests, tokens, now_millis);
                self.drawn.requests -= i128::from(requests) * PARTS;
                self.drawn.tokens -= i128::from(tokens) * PARTS;
            }
        }
    }

    /// Follows a settlement that is sent to Redis apart.
    pub fn settle_shared(&mut self, limits: PerMinute, requests: i64, tokens: i64, now_millis: u64) {
        if let View::Shared { levels, .. } = &mut self.view {
            levels.settle(limits, requests, tokens, now_millis);
        }
    }

    /// Whether the view can be dropped: a new one would be equal.
    pub fn is_idle(&self, limits: PerMinute, nodes: u32, now_millis: u64) -> bool {
        match &self.view {
            View::Shared { seen_millis, .. } => !is_known(*seen_millis, now_millis),
            View::Share(Share { left, undrawn }) => {
                let share = limits.share(nodes);
                left.is_full(share, now_millis) && undrawn.is_full(share, now_millis)
            }
        }
    }

    /// All that was granted since the last handover, less what the share has refilled of it.
    fn drawn_in_all(&self, limits: PerMinute, nodes: u32, now_millis: u64) -> Parts {
        match &self.view {
            View::Shared { seen_millis, .. } if !is_known(*seen_millis, now_millis) => Parts::default(),
            View::Shared { .. } => self.drawn,
            View::Share(Share { left, undrawn }) => {
                let share = limits.share(nodes);
                let (left, undrawn) = (left.parts(share, now_millis), undrawn.parts(share, now_millis));
                Parts {
                    requests: self.drawn.requests + undrawn.requests - left.requests,
                    tokens: self.drawn.tokens + undrawn.tokens - left.tokens,
                }
            }
        }
    }
}

impl Buckets {
    fn parts(&self, limits: PerMinute, now_millis: u64) -> Parts {
        Parts {
            requests: self.requests.level(limits.requests, now_millis),
            tokens: self.tokens.level(limits.tokens, now_millis),
        }
    }

    /// The share of one of `nodes` nodes of what is left.
    fn divided(&self, limits: PerMinute, nodes: u32, now_millis: u64) -> Self {
        let (left, nodes) = (self.parts(limits, now_millis), i128::from(nodes.max(1)));
        Self {
            requests: Bucket::at_level(left.requests / nodes, now_millis),
            tokens: Bucket::at_level(left.tokens / nodes, now_millis),
        }
    }

    fn minus(&self, less: Parts, limits: PerMinute, now_millis: u64) -> Self {
        let left = self.parts(limits, now_millis);
        Self {
            requests: Bucket::at_level(left.requests - less.requests, now_millis),
            tokens: Bucket::at_level(left.tokens - less.tokens, now_millis),
        }
    }
}

impl Carried {
    /// A start that is known replaces the start without a view, unless that is lower.
    fn with(self, start: Option<Parts>, drawn: Parts) -> Self {
        let level = |none: CarriedLevel, start: Option<i128>, drawn: i128| CarriedLevel {
            start_milli: start.map_or(none.start_milli, |start| milli(start).min(none.start_milli)),
            drawn_milli: milli(drawn),
        };
        Self {
            requests: level(self.requests, start.map(|start| start.requests), drawn.requests),
            tokens: level(self.tokens, start.map(|start| start.tokens), drawn.tokens),
        }
    }
}

fn is_known(seen_millis: u64, now_millis: u64) -> bool {
    now_millis.saturating_sub(seen_millis) < KNOWN_MILLIS
}

fn milli(parts: i128) -> i64 {
    let milli = parts.div_euclid(PARTS_PER_MILLI);
    i64::try_from(milli).unwrap_or(if milli < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
#[path = "node_buckets_tests.rs"]
mod tests;
