//! Rate limits in the memory of this process.

use super::charge::Charge;
use domain::limits::{Buckets, Counted, Exceeded, PerMinute, RateLimitStatus, Scope, take};
use domain::{KeyId, WorkspaceId};
use foldhash::HashMap;
use foldhash::fast::RandomState;
use parking_lot::{Mutex, MutexGuard};
use std::collections::hash_map::Entry;
use std::hash::BuildHasher;
use std::time::Instant;

const SHARDS: usize = 16;
/// Shards with more workspaces than this drop those whose buckets are full.
const CROWDED: usize = 4_096;

pub struct MemoryLimits {
    started: Instant,
    hasher: RandomState,
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Default)]
struct Shard {
    workspaces: HashMap<WorkspaceId, Counters>,
    /// The number of workspaces at which full buckets are dropped next.
    crowded_at: usize,
}

struct Counters {
    buckets: Buckets,
    limits: PerMinute,
    keys: HashMap<KeyId, Buckets>,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        let shards = std::array::from_fn(|_| Mutex::default());
        Self { started: Instant::now(), hasher: RandomState::default(), shards }
    }
}

impl MemoryLimits {
    /// Takes the charge from limits divided by `nodes`, the number of nodes that count separately.
    pub(super) fn take(&self, charge: &Charge, nodes: u32) -> Result<RateLimitStatus, Exceeded> {
        let now = self.millis_at(Instant::now());
        let limits = charge.workspace_limits.share(nodes);
        let mut shard = self.shard(charge.workspace());
        let counters = shard.counters(charge.workspace(), limits, now);
        let workspace = Counted { scope: Scope::Workspace, limits, buckets: &mut counters.buckets };
        match charge.key() {
            None => take(&mut [workspace], charge.tokens, now),
            Some((key, own)) => {
                let own = own.share(nodes);
                let buckets = match counters.keys.entry(key.clone()) {
                    Entry::Occupied(existing) => existing.into_mut(),
                    Entry::Vacant(new) => new.insert(Buckets::full(own, now)),
                };
                take(&mut [workspace, Counted { scope: Scope::Key, limits: own, buckets }], charge.tokens, now)
            }
        }
    }

    /// Returns requests and tokens to the buckets; takes them if negative.
    pub(super) fn give(&self, charge: &Charge, nodes: u32, requests: i64, tokens: i64, now: Instant) {
        let now = self.millis_at(now);
        let limits = charge.workspace_limits.share(nodes);
        let mut shard = self.shard(charge.workspace());
        let counters = shard.counters(charge.workspace(), limits, now);
        counters.buckets.settle(limits, requests, tokens, now);
        if let Some((key, own)) = charge.key()
            && let Some(buckets) = counters.keys.get_mut(key)
        {
            buckets.settle(own.share(nodes), requests, tokens, now);
        }
    }

    pub(super) fn look(&self, workspace: &WorkspaceId, limits: PerMinute, nodes: u32) -> RateLimitStatus {
        let (now, limits) = (self.millis_at(Instant::now()), limits.share(nodes));
        let shard = self.shard(workspace);
        let existing = shard.workspaces.get(workspace).map(|counters| counters.buckets);
        existing.unwrap_or_else(|| Buckets::full(limits, now)).status(limits, now)
    }

    fn shard(&self, workspace: &WorkspaceId) -> MutexGuard<'_, Shard> {
        let index = self.hasher.hash_one(workspace) as usize % SHARDS;
        self.shards[index].lock()
    }

    fn millis_at(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.started).as_millis()).unwrap_or(u64::MAX)
    }
}

impl Shard {
    fn counters(&mut self, workspace: &WorkspaceId, limits: PerMinute, now: u64) -> &mut Counters {
        if self.workspaces.len() >= self.crowded_at.max(CROWDED) && !self.workspaces.contains_key(workspace) {
            self.workspaces.retain(|_, counters| !counters.buckets.is_full(counters.limits, now));
            self.crowded_at = self.workspaces.len() * 2;
        }
        let new = || Counters { buckets: Buckets::full(limits, now), limits, keys: HashMap::default() };
        let counters = self.workspaces.entry(workspace.clone()).or_insert_with(new);
        counters.limits = limits;
        counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::limits::{OwnPerMinute, Unit};
    use domain::usage::Actor;
    use domain::{Caller, OrganizationId, RequestId, Timestamp};
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
            memory.take(&charge(1, Some(2), 1), 1).unwrap();
        }
        let error = memory.take(&charge(1, Some(2), 1), 1).unwrap_err();
        assert_eq!((error.scope, error.unit, error.limit, error.used), (Scope::Key, Unit::Requests, 2, 2));
        for _ in 0..8 {
            memory.take(&charge(1, None, 1), 1).unwrap();
        }
        assert_eq!(memory.take(&charge(1, None, 1), 1).unwrap_err().scope, Scope::Workspace);
        memory.take(&charge(2, None, 1), 1).unwrap();
    }

    #[test]
    fn undone_charges_do_not_count() {
        let memory = MemoryLimits::default();
        for _ in 0..50 {
            memory.take(&charge(1, Some(5), 500_000), 1).unwrap();
            memory.give(&charge(1, Some(5), 0), 1, 1, 500_000, Instant::now());
        }
        let left = memory.look(&WorkspaceId::new(NOW, 1), PerMinute { requests: 10, tokens: 1_000_000 }, 1);
        assert_eq!((left.requests.remaining, left.tokens.remaining), (10, 1_000_000));
    }

    #[test]
    fn workspaces_with_full_buckets_are_dropped_from_crowded_shards() {
        let mut shard = Shard::default();
        let limits = PerMinute { requests: 10, tokens: 10 };
        for number in 0..CROWDED as u128 * 3 {
            shard.counters(&WorkspaceId::new(NOW, number), limits, 0);
        }
        assert!(shard.workspaces.len() <= CROWDED, "{} remain", shard.workspaces.len());
    }
}
