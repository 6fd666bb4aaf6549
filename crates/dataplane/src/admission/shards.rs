//! Counters per workspace and key, in shards so that cores rarely wait for each other.

use domain::limits::PerMinute;
use domain::{KeyId, WorkspaceId};
use foldhash::HashMap;
use foldhash::fast::RandomState;
use parking_lot::{Mutex, MutexGuard};
use std::hash::BuildHasher;
use std::time::Instant;

const SHARDS: usize = 16;
/// Shards with more workspaces than this drop those that are idle.
const CROWDED: usize = 4_096;

pub(super) struct Shards<T> {
    started: Instant,
    hasher: RandomState,
    shards: [Mutex<Shard<T>>; SHARDS],
}

pub(super) struct Shard<T> {
    workspaces: HashMap<WorkspaceId, Counters<T>>,
    /// The number of workspaces at which idle ones are dropped next.
    crowded_at: usize,
}

/// The counters of a workspace, and those of its keys that have limits of their own.
pub(super) struct Counters<T> {
    pub(super) workspace: T,
    /// The limits of the workspace when they were last used.
    pub(super) limits: PerMinute,
    pub(super) keys: HashMap<KeyId, T>,
}

impl<T> Default for Shards<T> {
    fn default() -> Self {
        let shard = || Mutex::new(Shard { workspaces: HashMap::default(), crowded_at: 0 });
        Self { started: Instant::now(), hasher: RandomState::default(), shards: std::array::from_fn(|_| shard()) }
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
        self.workspaces.get(workspace)
    }

    pub(super) fn get_mut(&mut self, workspace: &WorkspaceId) -> Option<&mut Counters<T>> {
        self.workspaces.get_mut(workspace)
    }

    /// The counters of a workspace, new ones if it has none.
    pub(super) fn get_or_insert(
        &mut self,
        workspace: &WorkspaceId,
        limits: PerMinute,
        new: impl FnOnce() -> T,
        is_idle: impl Fn(&Counters<T>) -> bool,
    ) -> &mut Counters<T> {
        if self.workspaces.len() >= self.crowded_at.max(CROWDED) && !self.workspaces.contains_key(workspace) {
            self.workspaces.retain(|_, counters| !is_idle(counters));
            self.crowded_at = self.workspaces.len() * 2;
        }
        let new = || Counters { workspace: new(), limits, keys: HashMap::default() };
        let counters = self.workspaces.entry(workspace.clone()).or_insert_with(new);
        counters.limits = limits;
        counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Timestamp;

    #[test]
    fn idle_workspaces_are_dropped_from_crowded_shards() {
        let shards = Shards::default();
        let limits = PerMinute { requests: 10, tokens: 10 };
        let workspace = |number| WorkspaceId::new(Timestamp::from_millis(1), number);
        let mut shard = shards.of(&workspace(0));
        for number in 0..CROWDED as u128 * 3 {
            shard.get_or_insert(&workspace(number), limits, || number, |counters| counters.workspace > 0);
        }
        assert!(shard.workspaces.len() <= CROWDED, "{} remain", shard.workspaces.len());
        assert!(shard.get(&workspace(0)).is_some(), "it is not idle");
    }
}
