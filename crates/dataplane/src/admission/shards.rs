//! Counters per workspace or organization, in shards so that cores rarely wait for each other.

use super::charge::{Charge, CountedIn, CounterId, Home};
use domain::limits::PerMinute;
use foldhash::HashMap;
use foldhash::fast::RandomState;
use parking_lot::{Mutex, MutexGuard};
use std::hash::{BuildHasher, Hash};
use std::time::Instant;

const SHARDS: usize = 16;
/// Shards with more homes, and homes with more counters, drop those that are idle.
const CROWDED: usize = 4_096;

pub(super) struct Shards<T> {
    started: Instant,
    hasher: RandomState,
    shards: [Mutex<Shard<T>>; SHARDS],
}

/// The counters of some homes.
pub(super) struct Shard<T>(SweptMap<Home, Counters<T>>);

/// The counter of a home, and those of its workspaces and keys that have limits of their own.
pub(super) struct Counters<T> {
    pub(super) home: Counter<T>,
    pub(super) others: Others<T>,
}

pub(super) struct Others<T>(SweptMap<CounterId, Counter<T>>);

pub(super) struct Counter<T> {
    pub(super) buckets: T,
    /// As of its last use.
    pub(super) limits: PerMinute,
}

/// A map from which idle entries are dropped when it is crowded.
struct SweptMap<K, V> {
    entries: HashMap<K, V>,
    /// The number of entries at which idle ones are dropped next.
    crowded_at: usize,
}

impl<T> Default for Shards<T> {
    fn default() -> Self {
        let shards = std::array::from_fn(|_| Mutex::new(Shard(SweptMap::default())));
        Self { started: Instant::now(), hasher: RandomState::default(), shards }
    }
}

impl<T> Shards<T> {
    pub(super) fn of(&self, home: &Home) -> MutexGuard<'_, Shard<T>> {
        let index = self.hasher.hash_one(home) as usize % SHARDS;
        self.shards[index].lock()
    }

    /// Milliseconds since the start of these counters.
    pub(super) fn millis_at(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.started).as_millis()).unwrap_or(u64::MAX)
    }
}

impl<T> Shard<T> {
    pub(super) fn get_mut(&mut self, home: &Home) -> Option<&mut Counters<T>> {
        self.0.entries.get_mut(home)
    }

    /// The counters of a charge's home, new ones if it has none.
    pub(super) fn get_or_insert(
        &mut self,
        charge: &Charge,
        new: impl FnOnce() -> T,
        is_idle: impl Fn(&Counter<T>) -> bool,
    ) -> &mut Counters<T> {
        let limits = charge.home_limits;
        let new = || Counters { home: Counter { buckets: new(), limits }, others: Others(SweptMap::default()) };
        let counters = self.0.get_or_insert(&charge.home, new, |counters| is_idle(&counters.home));
        counters.home.limits = limits;
        counters
    }
}

impl<T> Others<T> {
    pub(super) fn get_mut(&mut self, id: &CounterId) -> Option<&mut T> {
        self.0.entries.get_mut(id).map(|counter| &mut counter.buckets)
    }

    /// The counter of a workspace or key, a new one if it has none.
    pub(super) fn get_or_insert(
        &mut self,
        counted: &CountedIn,
        new: impl FnOnce() -> T,
        is_idle: impl Fn(&Counter<T>) -> bool,
    ) -> &mut T {
        let limits = counted.limits;
        let counter = self.0.get_or_insert(&counted.id, || Counter { buckets: new(), limits }, is_idle);
        counter.limits = limits;
        &mut counter.buckets
    }
}

impl<K, V> Default for SweptMap<K, V> {
    fn default() -> Self {
        Self { entries: HashMap::default(), crowded_at: 0 }
    }
}

impl<K: Clone + Eq + Hash, V> SweptMap<K, V> {
    fn get_or_insert(&mut self, key: &K, new: impl FnOnce() -> V, is_idle: impl Fn(&V) -> bool) -> &mut V {
        if !self.entries.contains_key(key) {
            if self.entries.len() >= self.crowded_at.max(CROWDED) {
                self.entries.retain(|_, value| !is_idle(value));
                self.crowded_at = self.entries.len() * 2;
            }
            self.entries.insert(key.clone(), new());
        }
        self.entries.get_mut(key).expect("it was just inserted")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::charge::ChargedCall;
    use domain::usage::Actor;
    use domain::{Caller, KeyId, OrganizationId, RequestId, Timestamp, WorkspaceId};

    const LIMITS: PerMinute = PerMinute { requests: 10, tokens: 10 };
    const NOW: Timestamp = Timestamp::from_millis(1);

    fn is_idle(counter: &Counter<u128>) -> bool {
        counter.buckets > 0
    }

    #[test]
    fn idle_workspaces_and_keys_are_dropped_when_there_are_many() {
        let shards = Shards::default();
        let key = |number| CountedIn { id: CounterId::Key(KeyId::new(NOW, number)), limits: LIMITS };
        let charge = |number| {
            let actor = Actor::Key(KeyId::new(NOW, 1));
            let caller = Caller::new(OrganizationId::new(NOW, 1), WorkspaceId::new(NOW, number), actor);
            Charge::new(&caller, LIMITS, ChargedCall::default(), RequestId::new(NOW, 0))
        };
        let first = charge(0);
        let mut shard = shards.of(&first.home);
        for number in 0..CROWDED as u128 * 3 {
            shard.get_or_insert(&charge(number), || number, is_idle);
            let counters = shard.get_or_insert(&first, || 0, is_idle);
            counters.others.get_or_insert(&key(number), || number, is_idle);
        }
        assert!(shard.0.entries.len() <= CROWDED, "{} workspaces remain", shard.0.entries.len());
        let counters = shard.get_mut(&first.home).expect("it is not idle");
        assert!(counters.others.0.entries.len() <= CROWDED, "{} keys remain", counters.others.0.entries.len());
        assert!(counters.others.get_mut(&key(0).id).is_some(), "it is not idle");
    }
}
