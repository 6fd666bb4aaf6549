//! Valid keys in memory, with the callers they identify.

use domain::{ApiKey, Caller, SecretHash, Segment, Timestamp, WorkspaceId};
use foldhash::fast::RandomState;
use foldhash::{HashMap, HashSet};
use parking_lot::RwLock;
use std::hash::BuildHasher;
use std::sync::Arc;

const SHARDS: usize = 16;
const MAX_KEYS_PER_SHARD: usize = 65_536;

/// Has only segments of existing keys, so clients cannot cause hash collisions.
#[derive(Default)]
pub(super) struct KeyCache {
    hasher: RandomState,
    shards: [RwLock<Shard>; SHARDS],
}

struct CachedKey {
    hash: SecretHash,
    /// The expiry of the key, or of a secret that was rotated.
    valid_until: Option<Timestamp>,
    caller: Arc<Caller>,
}

#[derive(Default)]
struct Shard {
    keys: HashMap<Segment, CachedKey>,
    /// The segments of each workspace, so that a change of one workspace touches no key of another.
    by_workspace: HashMap<WorkspaceId, HashSet<Segment>>,
}

impl KeyCache {
    pub(super) fn find(&self, segment: Segment, hash: SecretHash, now: Timestamp) -> Option<Arc<Caller>> {
        let shard = self.shard(segment).read();
        let cached = shard.keys.get(&segment)?;
        let is_valid = cached.hash == hash && cached.valid_until.is_none_or(|end| now < end);
        is_valid.then(|| Arc::clone(&cached.caller))
    }

    /// Caches a key if `is_current`, which is called while the key cannot be removed. So a change that is recorded
    /// before it is applied here is either seen by `is_current` or removes the key afterwards.
    pub(super) fn insert_if(&self, key: &ApiKey, caller: &Arc<Caller>, is_current: impl Fn() -> bool) {
        let mut shard = self.shard(key.segment).write();
        if is_current() {
            let (hash, valid_until) = (key.hash, key.good_until());
            shard.insert(key.segment, CachedKey { hash, valid_until, caller: Arc::clone(caller) });
        }
    }

    pub(super) fn remove(&self, segment: Segment) {
        self.shard(segment).write().remove(segment);
    }

    /// Removes the keys of one workspace.
    pub(super) fn remove_workspace(&self, workspace: &WorkspaceId) {
        for shard in &self.shards {
            // Most shards have no key of the workspace, and a read lock does not stop calls.
            if shard.read().by_workspace.contains_key(workspace) {
                shard.write().remove_workspace(workspace);
            }
        }
    }

    pub(super) fn clear(&self) {
        for shard in &self.shards {
            *shard.write() = Shard::default();
        }
    }

    fn shard(&self, segment: Segment) -> &RwLock<Shard> {
        &self.shards[self.hasher.hash_one(segment) as usize % SHARDS]
    }
}

impl Shard {
    fn insert(&mut self, segment: Segment, key: CachedKey) {
        if self.keys.len() >= MAX_KEYS_PER_SHARD
            && let Some(any) = self.keys.keys().next().copied()
        {
            self.remove(any);
        }
        self.by_workspace.entry(key.caller.workspace.clone()).or_default().insert(segment);
        self.keys.insert(segment, key);
    }

    fn remove(&mut self, segment: Segment) {
        let Some(key) = self.keys.remove(&segment) else { return };
        let workspace = &key.caller.workspace;
        if let Some(segments) = self.by_workspace.get_mut(workspace) {
            segments.remove(&segment);
            if segments.is_empty() {
                self.by_workspace.remove(workspace);
            }
        }
    }

    fn remove_workspace(&mut self, workspace: &WorkspaceId) {
        for segment in self.by_workspace.remove(workspace).into_iter().flatten() {
            self.keys.remove(&segment);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::usage::Actor;
    use domain::{KeyId, OrganizationId};

    const NOW: Timestamp = Timestamp::from_millis(1);

    fn segment(number: usize) -> Segment {
        Segment::parse(&format!("{number:012}")).unwrap()
    }

    fn key(workspace: u128) -> CachedKey {
        let (organization, workspace) = (OrganizationId::new(NOW, 1), WorkspaceId::new(NOW, workspace));
        let caller = Arc::new(Caller::new(organization, workspace, Actor::Key(KeyId::new(NOW, 1))));
        CachedKey { hash: SecretHash::of("secret"), valid_until: None, caller }
    }

    #[test]
    fn a_shard_removes_the_keys_of_one_workspace_only() {
        let mut shard = Shard::default();
        for number in 0..100 {
            shard.insert(segment(number), key(number as u128 % 4));
        }
        shard.remove_workspace(&WorkspaceId::new(NOW, 3));
        assert_eq!(shard.keys.len(), 75);
        assert!(!shard.keys.contains_key(&segment(3)) && shard.keys.contains_key(&segment(2)));
        for number in 0..100 {
            shard.remove(segment(number));
        }
        assert!(shard.keys.is_empty() && shard.by_workspace.is_empty(), "nothing is left behind");
    }

    #[test]
    fn a_full_shard_forgets_a_key_for_each_new_one() {
        let mut shard = Shard::default();
        for number in 0..MAX_KEYS_PER_SHARD + 10 {
            shard.insert(segment(number), key(number as u128));
        }
        assert_eq!((shard.keys.len(), shard.by_workspace.len()), (MAX_KEYS_PER_SHARD, MAX_KEYS_PER_SHARD));
    }
}
