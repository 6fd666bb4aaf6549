//! The leases of this process, in shards so that cores rarely wait for each other.

use super::lease::LocalLease;
use foldhash::HashMap;
use foldhash::fast::RandomState;
use parking_lot::{Mutex, MutexGuard};
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

const SHARDS: usize = 16;

/// Usually one lease per owner and budget; after the end of a month or day also the old one, until its calls have ended.
type Leases<K> = HashMap<K, Vec<Arc<LocalLease>>>;

pub(super) struct LeaseTable<K> {
    hasher: RandomState,
    shards: [Mutex<Leases<K>>; SHARDS],
}

impl<K> Default for LeaseTable<K> {
    fn default() -> Self {
        Self { hasher: RandomState::default(), shards: std::array::from_fn(|_| Mutex::default()) }
    }
}

impl<K: Clone + Eq + Hash> LeaseTable<K> {
    /// The lease of an owner, a new one if none of its leases matches.
    pub(super) fn get_or_insert(
        &self,
        owner: &K,
        matches: impl Fn(&LocalLease) -> bool,
        new: impl FnOnce() -> LocalLease,
    ) -> Arc<LocalLease> {
        let mut leases = self.shard(owner);
        let existing = leases.get(owner).and_then(|own| own.iter().find(|lease| matches(lease)));
        if let Some(lease) = existing {
            return Arc::clone(lease);
        }
        let new = Arc::new(new());
        leases.entry(owner.clone()).or_default().push(Arc::clone(&new));
        new
    }

    pub(super) fn all(&self) -> Vec<Arc<LocalLease>> {
        self.shards.iter().flat_map(|shard| shard.lock().values().flatten().cloned().collect::<Vec<_>>()).collect()
    }

    pub(super) fn retain(&self, keep: impl Fn(&Arc<LocalLease>) -> bool) {
        for shard in &self.shards {
            let mut leases = shard.lock();
            leases.values_mut().for_each(|own| own.retain(&keep));
            leases.retain(|_, own| !own.is_empty());
        }
    }

    fn shard(&self, owner: &K) -> MutexGuard<'_, Leases<K>> {
        self.shards[self.hasher.hash_one(owner) as usize % SHARDS].lock()
    }

    #[cfg(test)]
    pub(super) fn find(&self, owner: &K, matches: impl Fn(&LocalLease) -> bool) -> Option<Arc<LocalLease>> {
        self.shard(owner).get(owner).and_then(|own| own.iter().find(|lease| matches(lease))).cloned()
    }
}
