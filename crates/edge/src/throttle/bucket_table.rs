//! Buckets by key, in memory and bounded.

use domain::limits::Bucket;
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

const SHARDS: usize = 16;
const MAX_PER_SHARD: usize = 4_096;
/// A full shard drops, of this many buckets, the one with the most left.
const EVICTION_SAMPLE: usize = 8;

/// A key without a bucket has a full one. Keys are chosen by clients, so the maps hash with keys of their own.
pub(super) struct BucketTable<K> {
    started: Instant,
    /// Buckets hold this part of the limit, and are refilled as fast as if they held all of it: their clock is faster.
    part: u64,
    hasher: RandomState,
    shards: [Mutex<HashMap<K, Entry>>; SHARDS],
    /// The buckets of all shards, so that an empty table costs no lock.
    len: AtomicUsize,
}

struct Entry {
    bucket: Bucket,
    limit: u64,
}

impl<K: Eq + Hash + Clone> BucketTable<K> {
    /// With buckets that hold a `part`-th of their limit.
    pub(super) fn new(part: u64) -> Self {
        let shards = std::array::from_fn(|_| Mutex::default());
        Self { started: Instant::now(), part, hasher: RandomState::new(), shards, len: AtomicUsize::new(0) }
    }

    fn bucket_millis(&self) -> u64 {
        self.now_millis() * self.part
    }

    pub(super) fn now_millis(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn contains(&self, key: &K) -> bool {
        !self.is_empty() && self.shard(key).contains_key(key)
    }

    /// Takes one, or returns how many milliseconds to wait.
    pub(super) fn take(&self, key: &K, limit: u64) -> Result<(), u64> {
        let limit = limit.div_ceil(self.part);
        self.change(key, limit, |bucket, now| match bucket.wait(limit, 1, now) {
            Some(wait_millis) => Err(wait_millis.div_ceil(self.part)),
            None => {
                bucket.give(limit, -1, now);
                Ok(())
            }
        })
    }

    /// How many milliseconds to wait, without taking anything; `None` if there is something left.
    pub(super) fn wait(&self, key: &K, limit: u64) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        let mut shard = self.shard(key);
        let entry = shard.get(key)?;
        let (limit, now) = (limit.div_ceil(self.part), self.bucket_millis());
        if entry.bucket.is_full(limit, now) {
            shard.remove(key);
            self.len.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        entry.bucket.wait(limit, 1, now).map(|wait_millis| wait_millis.div_ceil(self.part))
    }

    /// Takes one even if nothing is left; the debt is bounded.
    pub(super) fn debit(&self, key: &K, limit: u64) {
        let limit = limit.div_ceil(self.part);
        self.change(key, limit, |bucket, now| bucket.debit(limit, now));
    }

    pub(super) fn give_back(&self, key: &K, limit: u64) {
        let (limit, now) = (limit.div_ceil(self.part), self.bucket_millis());
        if let Some(entry) = self.shard(key).get_mut(key) {
            entry.bucket.give(limit, 1, now);
        }
    }

    pub(super) fn remove(&self, key: &K) {
        if self.shard(key).remove(key).is_some() {
            self.len.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len.load(Ordering::Relaxed) == 0
    }

    /// `limit` is what the bucket holds.
    fn change<R>(&self, key: &K, limit: u64, change: impl FnOnce(&mut Bucket, u64) -> R) -> R {
        let now = self.bucket_millis();
        let mut shard = self.shard(key);
        if let Some(entry) = shard.get_mut(key) {
            entry.limit = limit;
            return change(&mut entry.bucket, now);
        }
        if shard.len() >= MAX_PER_SHARD {
            evict(&mut shard, now);
            self.len.fetch_sub(1, Ordering::Relaxed);
        }
        let mut bucket = Bucket::full(limit, now);
        let outcome = change(&mut bucket, now);
        shard.insert(key.clone(), Entry { bucket, limit });
        self.len.fetch_add(1, Ordering::Relaxed);
        outcome
    }

    fn shard(&self, key: &K) -> MutexGuard<'_, HashMap<K, Entry>> {
        self.shards[self.hasher.hash_one(key) as usize % SHARDS].lock()
    }
}

/// Removes the bucket that is likely to be missed least.
fn evict<K: Eq + Hash + Clone>(shard: &mut HashMap<K, Entry>, now: u64) {
    let sample = shard.iter().take(EVICTION_SAMPLE);
    let fullest = sample.min_by_key(|(_, entry)| entry.bucket.used(entry.limit, now)).map(|(key, _)| key.clone());
    if let Some(key) = fullest {
        shard.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_buckets_of_their_own() {
        let table = BucketTable::new(1);
        for _ in 0..3 {
            assert_eq!(table.take(&1, 3), Ok(()));
        }
        assert!(table.take(&1, 3).is_err_and(|wait| (1..=20_000).contains(&wait)));
        assert_eq!(table.take(&2, 3), Ok(()));
        table.give_back(&1, 3);
        assert_eq!(table.take(&1, 3), Ok(()), "one was given back");
    }

    #[test]
    fn a_bucket_can_hold_a_part_of_the_limit() {
        let table = BucketTable::new(5);
        assert_eq!(table.take(&1, 5), Ok(()));
        assert!(
            table.take(&1, 5).is_err_and(|wait| wait <= 12_000),
            "a fifth of the limit, refilled in a fifth of a minute"
        );
    }

    #[test]
    fn a_debt_blocks_and_an_unused_key_costs_nothing() {
        let table = BucketTable::new(1);
        assert_eq!(table.wait(&1, 10), None);
        assert_eq!(table.len.load(Ordering::Relaxed), 0, "asking creates no bucket");
        for _ in 0..30 {
            table.debit(&1, 10);
        }
        assert!(table.wait(&1, 10).is_some_and(|wait| wait > 60_000), "the debt is refilled first");
        assert_eq!(table.wait(&2, 10), None);
        table.remove(&1);
        assert_eq!((table.wait(&1, 10), table.len.load(Ordering::Relaxed)), (None, 0));
    }

    #[test]
    fn the_table_is_bounded_and_keeps_the_worst() {
        let table = BucketTable::new(1);
        for _ in 0..20 {
            table.debit(&0_u32, 10);
        }
        for key in 1..100_000 {
            table.debit(&key, 10);
        }
        let len: usize = table.shards.iter().map(|shard| shard.lock().len()).sum();
        assert_eq!(len, table.len.load(Ordering::Relaxed));
        assert!(len <= SHARDS * MAX_PER_SHARD, "{len}");
        assert!(table.wait(&0, 10).is_some(), "the bucket with a debt outlives those that are nearly full");
    }
}
