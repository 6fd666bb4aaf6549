//! Identifies the caller of an API key, from a cache in memory where possible.
//!
//! A valid key is found in the cache. Every other credential takes the same path: a short-lived list of rejected
//! credentials, then the store. So an unknown segment and a wrong secret take the same time, and a store that is
//! unavailable is never mistaken for an invalid key.
//!
//! The cache is valid while the change feed runs, which removes keys that have changed. Keys changed through this node
//! are removed before the change is confirmed to the client. When the store has been unavailable for
//! [`STALE_KEY_TTL`], the cache is no longer used.

use domain::key::KeyText;
use domain::limits::OwnPerMinute;
use domain::usage::Actor;
use domain::{ApiKey, Caller, KeyState, SecretHash, Segment, Timestamp};
use foldhash::fast::RandomState;
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use store::{Change, ChangeFeed, Store, StoreError, api_keys, workspaces};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// Period of asking for changes, if the store cannot notify of them.
const POLL_PERIOD: Duration = Duration::from_millis(400);
/// How long cached keys are served while the store is unavailable.
pub const STALE_KEY_TTL: Duration = Duration::from_secs(300);
const REJECTION_TTL: Duration = Duration::from_secs(1);
const MAX_REJECTED: usize = 10_000;
const SHARDS: usize = 16;
const MAX_CACHED_PER_SHARD: usize = 65_536;
/// Concurrent lookups in the store, and how long a further one waits.
const MAX_LOOKUPS: usize = 16;
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(3);
/// The minimum duration of a rejection by the store, so that its timing reveals nothing.
const REJECTION_FLOOR: Duration = Duration::from_millis(3);
/// Delay after a failed [`ChangeFollower::round`].
pub const RETRY_DELAY: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub enum IdentifyError {
    /// The credential is invalid; the cause is for our log.
    BadKey(&'static str),
    /// The store is unavailable; the cause is for our log.
    StoreUnavailable(String),
}

/// Rejected credentials, with the time and the cause.
type RejectedKeys = HashMap<(Segment, SecretHash), (Instant, &'static str)>;

struct CachedKey {
    hash: SecretHash,
    /// The expiry of the key, or of a secret that was rotated.
    valid_until: Option<Timestamp>,
    caller: Arc<Caller>,
}

/// Has only segments of existing keys, so clients cannot cause hash collisions.
type CachedKeys = foldhash::HashMap<Segment, CachedKey>;

/// The keys that this node has seen.
pub struct KeyDirectory {
    store: Store,
    /// The runtime that owns the connections of the store.
    background: Handle,
    hasher: RandomState,
    cached: [RwLock<CachedKeys>; SHARDS],
    rejected: Mutex<RejectedKeys>,
    /// Incremented by every change; a key that was read before the change is not cached.
    generation: AtomicU64,
    opened: Instant,
    /// The last successful round of the feed, in milliseconds since `opened`.
    synced_millis: AtomicU64,
    lookups: Semaphore,
}

impl KeyDirectory {
    pub fn new(store: Store, background: Handle) -> Arc<Self> {
        let keys = Arc::new(Self {
            store,
            background,
            hasher: RandomState::default(),
            cached: std::array::from_fn(|_| RwLock::default()),
            rejected: Mutex::default(),
            generation: AtomicU64::new(0),
            opened: Instant::now(),
            synced_millis: AtomicU64::new(0),
            lookups: Semaphore::new(MAX_LOOKUPS),
        });
        let here = Arc::downgrade(&keys);
        keys.store.on_own_change(move |change| here.upgrade().iter().for_each(|keys| keys.forget(change)));
        keys
    }

    pub async fn identify(&self, key: &KeyText<'_>, now: Timestamp) -> Result<Arc<Caller>, IdentifyError> {
        let hash = key.hash();
        match self.cached(key.segment, hash, now) {
            Some(caller) => Ok(caller),
            None => Box::pin(self.look_up(key.segment, hash, now)).await,
        }
    }

    fn cached(&self, segment: Segment, hash: SecretHash, now: Timestamp) -> Option<Arc<Caller>> {
        if !self.is_synced() {
            return None;
        }
        let shard = self.shard(segment).read();
        let cached = shard.get(&segment)?;
        let is_valid = cached.hash == hash && cached.valid_until.is_none_or(|end| now < end);
        is_valid.then(|| Arc::clone(&cached.caller))
    }

    async fn look_up(&self, segment: Segment, hash: SecretHash, now: Timestamp) -> Result<Arc<Caller>, IdentifyError> {
        if let Some(cause) = self.rejected_before(segment, hash) {
            return Err(IdentifyError::BadKey(cause));
        }
        let Ok(_permit) = tokio::time::timeout(LOOKUP_TIMEOUT, self.lookups.acquire()).await else {
            return Err(IdentifyError::StoreUnavailable("too many lookups are waiting for the store".into()));
        };
        // Another call may have cached the key meanwhile.
        if let Some(caller) = self.cached(segment, hash, now) {
            return Ok(caller);
        }
        let floor = tokio::time::Instant::now() + REJECTION_FLOOR;
        let generation = self.generation.load(Ordering::Acquire);
        let store = self.store.clone();
        let lookup = self.background.spawn(async move { api_keys::by_segment(&store, segment, now).await });
        let found = lookup.await.expect("a lookup does not panic");
        let found = found.map_err(|error| IdentifyError::StoreUnavailable(format!("{error:?}")))?;
        match check(found.as_ref(), hash, now) {
            Ok(key) => {
                let caller = self.caller_of(key).await?;
                self.cache(segment, key, &caller, generation);
                Ok(caller)
            }
            Err(cause) => {
                self.reject(segment, hash, cause);
                tokio::time::sleep_until(floor).await;
                Err(IdentifyError::BadKey(cause))
            }
        }
    }

    /// The caller with the limits of its workspace, which are cached together with the key.
    async fn caller_of(&self, key: &ApiKey) -> Result<Arc<Caller>, IdentifyError> {
        let (store, id) = (self.store.clone(), key.workspace.clone());
        let lookup = self.background.spawn(async move { workspaces::by_id(&store, &id).await });
        let workspace = lookup.await.expect("a lookup does not panic");
        let workspace = workspace.map_err(|error| IdentifyError::StoreUnavailable(format!("{error:?}")))?;
        let actor = Actor::Key(key.id.clone());
        Ok(Arc::new(Caller {
            workspace_limits: workspace.map(|workspace| workspace.stored_limits()).unwrap_or_default(),
            key_limits: OwnPerMinute { requests: key.requests_per_minute, tokens: key.tokens_per_minute },
            ..Caller::new(key.organization.clone(), key.workspace.clone(), actor)
        }))
    }

    fn cache(&self, segment: Segment, key: &ApiKey, caller: &Arc<Caller>, generation: u64) {
        let mut shard = self.shard(segment).write();
        if self.generation.load(Ordering::Acquire) != generation {
            return;
        }
        if shard.len() >= MAX_CACHED_PER_SHARD
            && let Some(any) = shard.keys().next().copied()
        {
            shard.remove(&any);
        }
        shard.insert(segment, CachedKey { hash: key.hash, valid_until: key.good_until(), caller: Arc::clone(caller) });
    }

    fn rejected_before(&self, segment: Segment, hash: SecretHash) -> Option<&'static str> {
        let rejected = self.rejected.lock();
        let (at, cause) = rejected.get(&(segment, hash))?;
        (at.elapsed() < REJECTION_TTL).then_some(*cause)
    }

    fn reject(&self, segment: Segment, hash: SecretHash, cause: &'static str) {
        let mut rejected = self.rejected.lock();
        if rejected.len() >= MAX_REJECTED {
            rejected.clear();
        }
        rejected.insert((segment, hash), (Instant::now(), cause));
    }

    fn shard(&self, segment: Segment) -> &RwLock<CachedKeys> {
        &self.cached[self.hasher.hash_one(segment) as usize % SHARDS]
    }

    fn is_synced(&self) -> bool {
        let synced = Duration::from_millis(self.synced_millis.load(Ordering::Relaxed));
        self.opened.elapsed().saturating_sub(synced) < STALE_KEY_TTL
    }

    fn note_synced(&self) {
        let now = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.synced_millis.store(now, Ordering::Relaxed);
    }

    fn forget(&self, change: &Change) {
        if matches!(change, Change::Endpoint(_)) {
            return; // frequent, and irrelevant for keys
        }
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.rejected.lock().clear();
        match change {
            Change::Key(segment) => {
                self.shard(*segment).write().remove(segment);
            }
            // Changes of workspaces and organizations are rare, and another lookup is cheap.
            _ => {
                for shard in &self.cached {
                    shard.write().clear();
                }
            }
        }
    }

    /// A follower of the change feed, which keeps the cache valid.
    pub fn follower(self: &Arc<Self>) -> ChangeFollower {
        ChangeFollower { keys: Arc::clone(self), feed: None }
    }
}

/// Follows the changes that this node and others make.
pub struct ChangeFollower {
    keys: Arc<KeyDirectory>,
    feed: Option<ChangeFeed>,
}

#[derive(Debug, thiserror::Error)]
#[error("the store is unavailable; cached keys are served for {STALE_KEY_TTL:?}: {0}")]
pub struct FollowError(#[source] StoreError);

impl ChangeFollower {
    /// Waits for the next changes, or the poll period, applies them to the cache and passes them on to `others`.
    pub async fn round(&mut self, others: &(impl Fn(&Change) + Sync)) -> Result<(), FollowError> {
        let feed = match &mut self.feed {
            Some(feed) => feed,
            None => {
                let feed = self.keys.store.changes().await.map_err(FollowError)?;
                // Anything may have changed since the last feed.
                self.keys.forget(&Change::Everything);
                others(&Change::Everything);
                self.feed.insert(feed)
            }
        };
        match feed.next(POLL_PERIOD).await {
            Ok(changes) => {
                for change in &changes {
                    self.keys.forget(change);
                    others(change);
                }
                self.keys.note_synced();
                Ok(())
            }
            Err(error) => {
                if !error.is_unavailable() {
                    self.feed = None;
                }
                Err(FollowError(error))
            }
        }
    }
}

/// Checks a row of the store against the credential.
fn check(found: Option<&ApiKey>, hash: SecretHash, now: Timestamp) -> Result<&ApiKey, &'static str> {
    let Some(key) = found else { return Err("unknown segment") };
    if key.hash != hash {
        return Err("wrong secret");
    }
    match key.state(now) {
        KeyState::Active => Ok(key),
        KeyState::Revoked => Err("revoked"),
        KeyState::Disabled => Err("disabled"),
        KeyState::Expired => Err("expired"),
    }
}
