//! Per-minute limits: token buckets of requests and of tokens.
//!
//! A bucket holds one minute's worth and refills evenly. A call is checked against all its buckets before any is debited,
//! so a rejected call costs nothing.

pub mod attempts;
mod bucket;
pub mod budget;
mod node_buckets;
pub mod quota;

pub use bucket::Bucket;
pub use node_buckets::{Carried, CarriedLevel, NodeBuckets, SharedLevels};

use bucket::{PARTS, millis_for};
use std::fmt;

/// No rate reaches it, and Redis computes with it exactly.
const UNLIMITED: u64 = 1_000_000_000_000_000;

/// Limits per minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerMinute {
    pub requests: u64,
    pub tokens: u64,
}

impl PerMinute {
    /// The share of one of `nodes` nodes that cannot count together. A limit above zero never shrinks to zero.
    pub fn share(self, nodes: u32) -> Self {
        let nodes = u64::from(nodes.max(1));
        let of = |limit: u64| if limit == 0 { 0 } else { (limit / nodes).max(1) };
        Self { requests: of(self.requests), tokens: of(self.tokens) }
    }
}

/// Limits of their own, beside those of the workspace; `None` if unset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnPerMinute {
    pub requests: Option<u64>,
    pub tokens: Option<u64>,
}

impl OwnPerMinute {
    /// `None` if there are none; an unset limit defaults to the workspace's.
    pub fn within(self, workspace: PerMinute) -> Option<PerMinute> {
        let own = PerMinute {
            requests: self.requests.unwrap_or(workspace.requests),
            tokens: self.tokens.unwrap_or(workspace.tokens),
        };
        (self != Self::default()).then_some(own)
    }

    /// `None` if there are none; an unset limit has no end.
    pub fn alone(self) -> Option<PerMinute> {
        self.within(PerMinute { requests: UNLIMITED, tokens: UNLIMITED })
    }
}

/// Whose limit it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All workspaces of an organization.
    Organization,
    Workspace,
    Key,
    /// The calls of a key to some models.
    Model,
    /// The person behind a key.
    EndUser,
}

/// The quantity that a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Requests,
    Tokens,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Requests => "requests",
            Self::Tokens => "tokens",
        })
    }
}

/// The state of one limit, as reported to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitStatus {
    pub limit: u64,
    pub remaining: u64,
    /// Time until the bucket is full again.
    pub reset_millis: u64,
}

impl LimitStatus {
    /// From the level of a shared counter; a negative level counts as zero remaining.
    pub fn of_level(limit: u64, level: i64) -> Self {
        let missing = i128::from(limit) - i128::from(level);
        Self { limit, remaining: level.max(0).unsigned_abs(), reset_millis: millis_for(missing * PARTS, limit) }
    }

    fn tighter(self, other: Self) -> Self {
        if other.remaining < self.remaining { other } else { self }
    }
}

/// The state of both limits: for each, of the tighter scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimitStatus {
    pub requests: LimitStatus,
    pub tokens: LimitStatus,
}

impl RateLimitStatus {
    pub fn tighter(self, other: Self) -> Self {
        Self { requests: self.requests.tighter(other.requests), tokens: self.tokens.tighter(other.tokens) }
    }
}

/// The limit that a call would exceed, and how long it must wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exceeded {
    pub scope: Scope,
    pub unit: Unit,
    pub limit: u64,
    pub used: u64,
    pub wait_millis: u64,
    pub rate_limits: RateLimitStatus,
}

impl Exceeded {
    /// In whole seconds, at least one, as `Retry-After` requires.
    pub fn retry_after_secs(&self) -> u64 {
        self.wait_millis.div_ceil(1_000).max(1)
    }
}

/// The buckets of one scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buckets {
    requests: Bucket,
    tokens: Bucket,
}

impl Buckets {
    /// Full buckets.
    pub fn full(limits: PerMinute, now_millis: u64) -> Self {
        Self { requests: Bucket::full(limits.requests, now_millis), tokens: Bucket::full(limits.tokens, now_millis) }
    }

    pub fn status(&self, limits: PerMinute, now_millis: u64) -> RateLimitStatus {
        RateLimitStatus {
            requests: self.requests.status(limits.requests, now_millis),
            tokens: self.tokens.status(limits.tokens, now_millis),
        }
    }

    /// Corrects the debit of a call by its real usage: positive amounts are returned, negative ones are taken.
    pub fn settle(&mut self, limits: PerMinute, requests: i64, tokens: i64, now_millis: u64) {
        self.requests.give(limits.requests, requests, now_millis);
        self.tokens.give(limits.tokens, tokens, now_millis);
    }

    /// Whether the buckets are full, so that they can be forgotten: a new one would be equal.
    pub fn is_full(&self, limits: PerMinute, now_millis: u64) -> bool {
        self.requests.is_full(limits.requests, now_millis) && self.tokens.is_full(limits.tokens, now_millis)
    }

    fn check(&self, scope: Scope, limits: PerMinute, cost: Cost, now_millis: u64) -> Option<(Unit, u64, Scope)> {
        let requests = self.requests.wait(limits.requests, cost.requests, now_millis);
        let requests = requests.map(|wait| (Unit::Requests, wait, scope));
        let tokens = self.tokens.wait(limits.tokens, cost.tokens, now_millis).map(|wait| (Unit::Tokens, wait, scope));
        [requests, tokens].into_iter().flatten().max_by_key(|(_, wait, _)| *wait)
    }
}

/// One scope that a call counts against.
pub struct Counted<'a> {
    pub scope: Scope,
    pub limits: PerMinute,
    pub buckets: &'a mut Buckets,
}

/// What a call takes from its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// 0 for a call whose request was counted before.
    pub requests: u64,
    pub tokens: u64,
}

/// Debits one request and `tokens` from every scope, or from none if any limit is exceeded.
#[cfg(test)]
fn take(scopes: &mut [Counted<'_>], tokens: u64, now_millis: u64) -> Result<RateLimitStatus, Exceeded> {
    take_cost(scopes, Cost { requests: 1, tokens }, now_millis)
}

/// Debits the cost from every scope, or from none if any limit is exceeded.
pub fn take_cost(scopes: &mut [Counted<'_>], cost: Cost, now_millis: u64) -> Result<RateLimitStatus, Exceeded> {
    let exceeded = scopes
        .iter()
        .filter_map(|counted| counted.buckets.check(counted.scope, counted.limits, cost, now_millis))
        .max_by_key(|(_, wait, _)| *wait);
    if exceeded.is_none() {
        for counted in scopes.iter_mut() {
            counted.buckets.requests.give(counted.limits.requests, -signed(cost.requests), now_millis);
            counted.buckets.tokens.give(counted.limits.tokens, -signed(cost.tokens), now_millis);
        }
    }
    let rate_limits = scopes
        .iter()
        .map(|counted| counted.buckets.status(counted.limits, now_millis))
        .reduce(RateLimitStatus::tighter)
        .expect("every call falls under its workspace");
    let Some((unit, wait_millis, scope)) = exceeded else { return Ok(rate_limits) };
    let counted = scopes.iter().find(|counted| counted.scope == scope).expect("it was just found there");
    let (bucket, limit) = match unit {
        Unit::Requests => (&counted.buckets.requests, counted.limits.requests),
        Unit::Tokens => (&counted.buckets.tokens, counted.limits.tokens),
    };
    Err(Exceeded { scope, unit, limit, used: bucket.used(limit, now_millis), wait_millis, rate_limits })
}

fn signed(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(limits: PerMinute, buckets: &mut Buckets) -> [Counted<'_>; 1] {
        [Counted { scope: Scope::Workspace, limits, buckets }]
    }

    #[test]
    fn a_request_that_was_counted_before_takes_only_tokens() {
        let limits = PerMinute { requests: 1, tokens: 100 };
        let mut buckets = Buckets::full(limits, 0);
        take(&mut one(limits, &mut buckets), 0, 0).unwrap();
        let counted = |tokens| Cost { requests: 0, tokens };
        let status = take_cost(&mut one(limits, &mut buckets), counted(60), 0).unwrap();
        assert_eq!((status.requests.remaining, status.tokens.remaining), (0, 40));
        assert_eq!(take_cost(&mut one(limits, &mut buckets), counted(60), 0).unwrap_err().unit, Unit::Tokens);
        assert_eq!(take(&mut one(limits, &mut buckets), 0, 0).unwrap_err().unit, Unit::Requests);
    }

    #[test]
    fn waits_match_the_worked_examples() {
        let limits = PerMinute { requests: 60, tokens: 60_000 };
        let mut buckets = Buckets::full(limits, 0);
        take(&mut one(limits, &mut buckets), 57_500, 0).unwrap();
        let exceeded = take(&mut one(limits, &mut buckets), 4_000, 0).unwrap_err();
        assert_eq!((exceeded.unit, exceeded.wait_millis, exceeded.retry_after_secs()), (Unit::Tokens, 1_500, 2));
        assert_eq!((exceeded.limit, exceeded.used), (60_000, 57_500));

        let mut buckets = Buckets::full(limits, 0);
        for _ in 0..60 {
            take(&mut one(limits, &mut buckets), 0, 0).unwrap();
        }
        let exceeded = take(&mut one(limits, &mut buckets), 0, 0).unwrap_err();
        assert_eq!((exceeded.unit, exceeded.retry_after_secs()), (Unit::Requests, 1));
        assert!(take(&mut one(limits, &mut buckets), 0, 1_000).is_ok(), "the reported wait is enough");
    }

    #[test]
    fn a_rejected_call_debits_no_scope() {
        let wide = PerMinute { requests: 100, tokens: 1_000 };
        let narrow = PerMinute { requests: 1, tokens: 1_000 };
        let (mut workspace, mut key) = (Buckets::full(wide, 0), Buckets::full(narrow, 0));
        let mut call = |now| {
            let mut scopes = [
                Counted { scope: Scope::Workspace, limits: wide, buckets: &mut workspace },
                Counted { scope: Scope::Key, limits: narrow, buckets: &mut key },
            ];
            take(&mut scopes, 10, now)
        };
        let status = call(0).unwrap();
        assert_eq!((status.requests.limit, status.requests.remaining), (1, 0), "the key's is tighter");
        for _ in 0..50 {
            assert_eq!(call(0).unwrap_err().scope, Scope::Key);
        }
        assert_eq!(workspace.status(wide, 0).requests.remaining, 99);
        assert_eq!(workspace.status(wide, 0).tokens.remaining, 990);
    }

    #[test]
    fn an_oversized_call_is_delayed_and_not_starved() {
        let limits = PerMinute { requests: 600, tokens: 1_000 };
        let mut buckets = Buckets::full(limits, 0);
        take(&mut one(limits, &mut buckets), 5_000, 0).unwrap();
        let exceeded = take(&mut one(limits, &mut buckets), 1, 0).unwrap_err();
        assert_eq!(exceeded.wait_millis, 240_060, "the debt of 4,000 comes first");
        assert!(take(&mut one(limits, &mut buckets), 5_000, 299_999).is_err());
        assert!(
            take(&mut one(limits, &mut buckets), 5_000, 300_000).is_ok(),
            "it passes again when the bucket is full"
        );
    }

    #[test]
    fn settlement_returns_unused_tokens_and_never_overfills() {
        let limits = PerMinute { requests: 10, tokens: 1_000 };
        let mut buckets = Buckets::full(limits, 0);
        take(&mut one(limits, &mut buckets), 900, 0).unwrap();
        buckets.settle(limits, 0, 850, 0);
        assert_eq!(buckets.status(limits, 0).tokens.remaining, 950);
        buckets.settle(limits, 5, 5_000, 0);
        assert!(buckets.is_full(limits, 0));
        buckets.settle(limits, 0, -1_500, 0);
        assert_eq!(buckets.status(limits, 0).tokens.remaining, 0, "settlement may leave a debt");
    }

    #[test]
    fn no_minute_passes_more_than_the_bucket_and_its_refill() {
        let limits = PerMinute { requests: 30, tokens: 1_000_000 };
        let mut buckets = Buckets::full(limits, 0);
        let passed: Vec<u64> =
            (0..300_000).step_by(100).filter(|now| take(&mut one(limits, &mut buckets), 1, *now).is_ok()).collect();
        for start in &passed {
            let within = passed.iter().filter(|at| (*start..start + 60_000).contains(at)).count();
            assert!(within <= 60, "{within} within a minute of {start}");
        }
        let sustained = passed.iter().filter(|at| **at >= 60_000).count();
        assert_eq!(sustained, 4 * 30);
    }

    #[test]
    fn a_limit_of_zero_rejects_everything_and_changes_apply_at_once() {
        let none = PerMinute { requests: 0, tokens: 0 };
        let some = PerMinute { requests: 60, tokens: 60 };
        let mut buckets = Buckets::full(none, 0);
        assert!(take(&mut one(none, &mut buckets), 0, 0).is_err());
        assert!(take(&mut one(some, &mut buckets), 0, 1_000).is_ok(), "raised: it refills from the old level");
        let mut buckets = Buckets::full(some, 0);
        let lowered = PerMinute { requests: 1, tokens: 60 };
        assert!(take(&mut one(lowered, &mut buckets), 0, 0).is_ok());
        assert!(take(&mut one(lowered, &mut buckets), 0, 0).is_err(), "lowered: the level is capped");
    }

    #[test]
    fn a_clock_set_back_refills_nothing() {
        let limits = PerMinute { requests: 1, tokens: 10 };
        let mut buckets = Buckets::full(limits, 100_000);
        assert!(take(&mut one(limits, &mut buckets), 1, 100_000).is_ok());
        assert!(take(&mut one(limits, &mut buckets), 1, 0).is_err());
        assert!(take(&mut one(limits, &mut buckets), 1, 160_000).is_ok());
    }

    #[test]
    fn nodes_without_a_shared_counter_enforce_their_shares() {
        let limits = PerMinute { requests: 2, tokens: 90 };
        assert_eq!(limits.share(3), PerMinute { requests: 1, tokens: 30 });
        assert_eq!(limits.share(0), limits);
        assert_eq!(PerMinute { requests: 0, tokens: 0 }.share(3).requests, 0);
    }
}
