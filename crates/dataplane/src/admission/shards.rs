//! Counters per workspace and key, in shards so that cores rarely wait for each other.

use domain::limits::PerMinute;
use domain::{KeyId, WorkspaceId};
use foldhash::HashMap;
use foldhash::fast::RandomState;
use parking_lot::{Mutex, MutexGuard};
use std::hash::{BuildHasher, Hash};
use std::time::Instant;

const SHARDS: usize = 16;
/// Shards with more workspaces, and workspaces with more keys, drop those that are idle.
const CROWDED: usize = 4_096;

pub(super) struct Shards<T> {
    started: Instant,
    hasher: RandomState,
    shards: [Mutex<Shard<T>>; SHARDS],
}

/// The counters of some workspaces.
pub(super) struct Shard<T>(SweptMap<WorkspaceId, Counters<T>>);

/// The counter of a workspace, and those of its keys that have limits of their own.
pub(super) struct Counters<T> {
    pub(super) workspace: Counter<T>,
    pub(super) keys: Keys<T>,
}

pub(super) struct Keys<T>(SweptMap<KeyId, Counter<T>>);

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
    pub(super) fn of(&self, workspace: &WorkspaceId) -> MutexGuard<'_, Shard<T>> {
        let index = self.hasher.hash_one(workspace) as usize % SHARDS;
        self.shards[index].lock()
    }

    /// Milliseconds since the start of these counters.
    pub(super) fn millis_at(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.started).as_millis()).unwrap_or(u64::MAX)
    }
}

impl<T> Shard<T> {
    pub(super) fn get(&self, workspace: &WorkspaceId) -> Option<&Counters<T>> {
        self.0.entries.get(workspace)
    }

    pub(super) fn get_mut(&mut self, workspace: &WorkspaceId) -> Option<&mut Counters<T>> {
        self.0.entries.get_mut(workspace)
    }

    /// The counters of a workspace, new ones if it has none.
    pub(super) fn get_or_insert(
        &mut self,
        workspace: &WorkspaceId,
        limits: PerMinute,
        new: impl FnOnce() -> T,
        is_idle: impl Fn(&Counter<T>) -> bool,
    ) -> &mut Counters<T> {
        let new = || Counters { workspace: Counter { buckets: new(), limits }, keys: Keys(SweptMap::default()) };
        let counters = self.0.get_or_insert(workspace, new, |counters| is_idle(&counters.workspace));
        counters.workspace.limits = limits;
        counters
    }
}

impl<T> Keys<T> {
    pub(super) fn get_mut(&mut self, key: &KeyId) -> Option<&mut T> {
        self.0.entries.get_mut(key).map(|counter| &mut counter.buckets)
    }

    /// The counter of a key, a new one if it has none.
    pub(super) fn get_or_insert(
        &mut self,
        key: &KeyId,
        limits: PerMinute,
        new: impl FnOnce() -> T,
        is_idle: impl Fn(&Counter<T>) -> bool,
    ) -> &mut T {
        let counter = self.0.get_or_insert(key, || Counter { buckets: new(), limits }, is_idle);
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
    use domain::Timestamp;

    const LIMITS: PerMinute = PerMinute { requests: 10, tokens: 10 };
    const NOW: Timestamp = Timestamp::from_millis(1);

    fn is_idle(counter: &Counter<u128>) -> bool {
        counter.buckets > 0
    }

    #[test]
    fn idle_workspaces_and_keys_are_dropped_when_there_are_many() {
        let shards = Shards::default();
        let workspace = |number| WorkspaceId::new(NOW, number);
        let key = |number| KeyId::new(NOW, number);
        let mut shard = shards.of(&workspace(0));
        for number in 0..CROWDED as u128 * 3 {
            shard.get_or_insert(&workspace(number), LIMITS, || number, is_idle);
            let counters = shard.get_or_insert(&workspace(0), LIMITS, || 0, is_idle);
            counters.keys.get_or_insert(&key(number), LIMITS, || number, is_idle);
        }
        assert!(shard.0.entries.len() <= CROWDED, "{} workspaces remain", shard.0.entries.len());
        let counters = shard.get_mut(&workspace(0)).expect("it is not idle");
        assert!(counters.keys.0.entries.len() <= CROWDED, "{} keys remain", counters.keys.0.entries.len());
        assert!(counters.keys.get_mut(&key(0)).is_some(), "it is not idle");
    }
}
