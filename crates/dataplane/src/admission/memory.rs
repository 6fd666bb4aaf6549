//! Rate limits in the memory of this process.

use super::charge::Charge;
use super::shards::{Counter, Counters, Shard, Shards};
use domain::WorkspaceId;
use domain::limits::{Buckets, Counted, Exceeded, PerMinute, RateLimitStatus, Scope, take_cost};
use std::time::Instant;

#[derive(Default)]
pub struct MemoryLimits {
    shards: Shards<Buckets>,
}

impl MemoryLimits {
    pub(super) fn take(&self, charge: &Charge) -> Result<RateLimitStatus, Exceeded> {
        let now = self.shards.millis_at(Instant::now());
        let limits = charge.workspace_limits;
        let mut shard = self.shards.of(charge.workspace());
        let counters = counters(&mut shard, charge, now);
        let workspace = Counted { scope: Scope::Workspace, limits, buckets: &mut counters.workspace.buckets };
        match charge.key() {
            None => take_cost(&mut [workspace], charge.cost(), now),
            Some((key, own)) => {
                let new = || Buckets::full(own, now);
                let buckets = counters.keys.get_or_insert(key, own, new, |counter| is_full(counter, now));
                take_cost(&mut [workspace, Counted { scope: Scope::Key, limits: own, buckets }], charge.cost(), now)
            }
        }
    }

    /// Returns requests and tokens to the buckets; takes them if negative.
    pub(super) fn give(&self, charge: &Charge, requests: i64, tokens: i64, now: Instant) {
        let now = self.shards.millis_at(now);
        let mut shard = self.shards.of(charge.workspace());
        let counters = counters(&mut shard, charge, now);
        counters.workspace.buckets.settle(charge.workspace_limits, requests, tokens, now);
        if let Some((key, own)) = charge.key()
            && let Some(buckets) = counters.keys.get_mut(key)
        {
            buckets.settle(own, requests, tokens, now);
        }
    }

    pub(super) fn look(&self, workspace: &WorkspaceId, limits: PerMinute) -> RateLimitStatus {
        let now = self.shards.millis_at(Instant::now());
        let shard = self.shards.of(workspace);
        let existing = shard.get(workspace).map(|counters| counters.workspace.buckets);
        existing.unwrap_or_else(|| Buckets::full(limits, now)).status(limits, now)
    }
}

/// The counters of a charge's workspace.
fn counters<'a>(shard: &'a mut Shard<Buckets>, charge: &Charge, now: u64) -> &'a mut Counters<Buckets> {
    let limits = charge.workspace_limits;
    shard.get_or_insert(charge.workspace(), limits, || Buckets::full(limits, now), |counter| is_full(counter, now))
}

/// Full buckets can be dropped: new ones would be equal.
fn is_full(counter: &Counter<Buckets>, now: u64) -> bool {
    counter.buckets.is_full(counter.limits, now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::limits::{OwnPerMinute, Unit};
    use domain::usage::Actor;
    use domain::{Caller, KeyId, OrganizationId, RequestId, Timestamp};
    use std::sync::Arc;

    const NOW: Timestamp = Timestamp::from_millis(1);

    fn charge(workspace: u128, key: Option<u64>, tokens: u64) -> Charge {
        let limits = PerMinute { requests: 10, tokens: 1_000_000 };
        let (organization, workspace) = (OrganizationId::new(NOW, 1), WorkspaceId::new(NOW, workspace));
        let caller = Caller {
            key_limits: OwnPerMinute { requests: key, tokens: None },
            ..Caller::new(organization, workspace, Actor::Key(KeyId::new(NOW, 1)))
        };
        Charge::new(&Arc::new(caller), limits, RequestId::new(NOW, 0), tokens)
    }

    #[test]
    fn each_workspace_has_its_own_buckets_shared_by_its_keys() {
        let memory = MemoryLimits::default();
        for _ in 0..2 {
            memory.take(&charge(1, Some(2), 1)).unwrap();
        }
        let error = memory.take(&charge(1, Some(2), 1)).unwrap_err();
        assert_eq!((error.scope, error.unit, error.limit, error.used), (Scope::Key, Unit::Requests, 2, 2));
        for _ in 0..8 {
            memory.take(&charge(1, None, 1)).unwrap();
        }
        assert_eq!(memory.take(&charge(1, None, 1)).unwrap_err().scope, Scope::Workspace);
        memory.take(&charge(2, None, 1)).unwrap();
    }

    #[test]
    fn undone_charges_do_not_count() {
        let memory = MemoryLimits::default();
        for _ in 0..50 {
            memory.take(&charge(1, Some(5), 500_000)).unwrap();
            memory.give(&charge(1, Some(5), 0), 1, 500_000, Instant::now());
        }
        let left = memory.look(&WorkspaceId::new(NOW, 1), PerMinute { requests: 10, tokens: 1_000_000 });
        assert_eq!((left.requests.remaining, left.tokens.remaining), (10, 1_000_000));
    }
}
