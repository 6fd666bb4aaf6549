//! Who a key belongs to, from memory wherever that is certain.
//!
//! A good key is found in memory. Every other credential takes one and the same path: a short memory of what was
//! refused, then the store. So an unknown segment and a wrong secret take the same time, and a store that cannot be
//! asked is never mistaken for a bad key.
//!
//! What is in memory is good as long as the feed of changes runs: it forgets keys that have changed. Those that change
//! through this node are forgotten before the one who changes them has his answer. When the store has been away for five
//! minutes, nothing in memory is trusted any more.

use domain::key::KeyText;
use domain::limits::OwnPerMinute;
use domain::usage::Actor;
use domain::{ApiKey, Caller, KeyState, SecretHash, Segment, Timestamp};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};
use store::{Change, Store, StoreError, api_keys, workspaces};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// How often the store is asked for changes where it cannot tell of them.
const POLL: Duration = Duration::from_millis(400);
/// How long known keys are served while the store is away.
pub const TRUST: Duration = Duration::from_secs(300);
const REFUSED_TIME: Duration = Duration::from_secs(1);
const MAX_REFUSED: usize = 10_000;
const SHARDS: usize = 16;
const MAX_KNOWN_PER_SHARD: usize = 65_536;
/// Questions to the store at one time, and how long a further one waits for its turn.
const MAX_LOOKUPS: usize = 16;
const TURN: Duration = Duration::from_secs(3);
/// No refusal that asked the store comes sooner: how long the store took would tell what it found.
const REFUSAL_FLOOR: Duration = Duration::from_millis(3);
const RETRY: Duration = Duration::from_millis(250);

/// Why nobody is known to be calling.
#[derive(Debug)]
pub enum Unidentified {
    /// The credential is no good; the cause is for our log.
    BadKey(&'static str),
    /// The store could not be asked; the cause is for our log.
    StoreUnavailable(String),
}

/// A credential that was refused, when and why.
type Refused = HashMap<(Segment, SecretHash), (Instant, &'static str)>;

struct Known {
    hash: SecretHash,
    /// The end of the key, or of a secret that a rotation lets live for a while.
    good_until: Option<Timestamp>,
    caller: Arc<Caller>,
}

/// Only segments of real keys are in it, so that nobody can make it slow.
type KnownKeys = foldhash::HashMap<Segment, Known>;

/// The keys this node has seen.
pub struct KeyDirectory {
    store: Store,
    /// Where the store's connections live.
    background: Handle,
    hasher: RandomState,
    known: [RwLock<KnownKeys>; SHARDS],
    refused: Mutex<Refused>,
    /// Grows with every change: what was read from the store before it is not remembered.
    generation: AtomicU64,
    opened: Instant,
    /// When the feed last ran, in milliseconds since `opened`.
    synced_millis: AtomicU64,
    lookups: Semaphore,
}

impl KeyDirectory {
    pub fn new(store: Store, background: Handle) -> Arc<Self> {
        let keys = Arc::new(Self {
            store,
            background,
            hasher: RandomState::default(),
            known: std::array::from_fn(|_| RwLock::default()),
            refused: Mutex::default(),
            generation: AtomicU64::new(0),
            opened: Instant::now(),
            synced_millis: AtomicU64::new(0),
            lookups: Semaphore::new(MAX_LOOKUPS),
        });
        let here = Arc::downgrade(&keys);
        keys.store.on_own_change(move |change| here.upgrade().iter().for_each(|keys| keys.forget(change)));
        keys
    }

    pub async fn identify(&self, key: &KeyText<'_>, now: Timestamp) -> Result<Arc<Caller>, Unidentified> {
        let hash = key.hash();
        match self.remembered(key.segment, hash, now) {
            Some(caller) => Ok(caller),
            None => Box::pin(self.ask_store(key.segment, hash, now)).await,
        }
    }

    fn remembered(&self, segment: Segment, hash: SecretHash, now: Timestamp) -> Option<Arc<Caller>> {
        if !self.is_synced() {
            return None;
        }
        let shard = self.shard(segment).read().unwrap_or_else(PoisonError::into_inner);
        let known = shard.get(&segment)?;
        let good = known.hash == hash && known.good_until.is_none_or(|end| now < end);
        good.then(|| Arc::clone(&known.caller))
    }

    async fn ask_store(&self, segment: Segment, hash: SecretHash, now: Timestamp) -> Result<Arc<Caller>, Unidentified> {
        if let Some(cause) = self.refused_before(segment, hash) {
            return Err(Unidentified::BadKey(cause));
        }
        let Ok(_place) = tokio::time::timeout(TURN, self.lookups.acquire()).await else {
            return Err(Unidentified::StoreUnavailable("too many look-ups wait for the store".into()));
        };
        // Others may have asked the same while this one waited.
        if let Some(caller) = self.remembered(segment, hash, now) {
            return Ok(caller);
        }
        let floor = tokio::time::Instant::now() + REFUSAL_FLOOR;
        let generation = self.generation.load(Ordering::Acquire);
        let store = self.store.clone();
        let lookup = self.background.spawn(async move { api_keys::by_segment(&store, segment, now).await });
        let found = lookup.await.expect("a look-up does not panic");
        let found = found.map_err(|error| Unidentified::StoreUnavailable(format!("{error:?}")))?;
        match judge(found.as_ref(), hash, now) {
            Ok(key) => {
                let caller = self.caller_of(key).await?;
                self.remember(segment, key, &caller, generation);
                Ok(caller)
            }
            Err(cause) => {
                self.refuse(segment, hash, cause);
                tokio::time::sleep_until(floor).await;
                Err(Unidentified::BadKey(cause))
            }
        }
    }

    /// The caller with the limits of its workspace, which are read together with the key and forgotten with it.
    async fn caller_of(&self, key: &ApiKey) -> Result<Arc<Caller>, Unidentified> {
        let (store, id) = (self.store.clone(), key.workspace.clone());
        let lookup = self.background.spawn(async move { workspaces::by_id(&store, &id).await });
        let workspace = lookup.await.expect("a look-up does not panic");
        let workspace = workspace.map_err(|error| Unidentified::StoreUnavailable(format!("{error:?}")))?;
        let actor = Actor::Key(key.id.clone());
        Ok(Arc::new(Caller {
            workspace_limits: workspace.map(|workspace| workspace.stored_limits()).unwrap_or_default(),
            key_limits: OwnPerMinute { requests: key.requests_per_minute, tokens: key.tokens_per_minute },
            ..Caller::new(key.organization.clone(), key.workspace.clone(), actor)
        }))
    }

    fn remember(&self, segment: Segment, key: &ApiKey, caller: &Arc<Caller>, generation: u64) {
        let mut shard = self.shard(segment).write().unwrap_or_else(PoisonError::into_inner);
        if self.generation.load(Ordering::Acquire) != generation {
            return;
        }
        if shard.len() >= MAX_KNOWN_PER_SHARD
            && let Some(any) = shard.keys().next().copied()
        {
            shard.remove(&any);
        }
        shard.insert(segment, Known { hash: key.hash, good_until: key.good_until(), caller: Arc::clone(caller) });
    }

    fn refused_before(&self, segment: Segment, hash: SecretHash) -> Option<&'static str> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, cause) = refused.get(&(segment, hash))?;
        (at.elapsed() < REFUSED_TIME).then_some(*cause)
    }

    fn refuse(&self, segment: Segment, hash: SecretHash, cause: &'static str) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() >= MAX_REFUSED {
            refused.clear();
        }
        refused.insert((segment, hash), (Instant::now(), cause));
    }

    fn shard(&self, segment: Segment) -> &RwLock<KnownKeys> {
        &self.known[self.hasher.hash_one(segment) as usize % SHARDS]
    }

    fn is_synced(&self) -> bool {
        let synced = Duration::from_millis(self.synced_millis.load(Ordering::Relaxed));
        self.opened.elapsed().saturating_sub(synced) < TRUST
    }

    fn forget(&self, change: &Change) {
        if matches!(change, Change::Endpoint(_)) {
            return; // they change often, and no key with them
        }
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clear();
        match change {
            Change::Key(segment) => {
                self.shard(*segment).write().unwrap_or_else(PoisonError::into_inner).remove(segment);
            }
            // A workspace or an organization that changes is rare, and asking again is cheap.
            _ => {
                for shard in &self.known {
                    shard.write().unwrap_or_else(PoisonError::into_inner).clear();
                }
            }
        }
    }

    /// Follows the changes that this node and others make, for ever, and passes them on.
    pub async fn follow(self: Arc<Self>, others: impl Fn(&Change) + Send + Sync) {
        let mut away = false;
        loop {
            if let Err(error) = self.follow_feed(&mut away, &others).await {
                if !away {
                    away = true;
                    tracing::warn!(%error, "the store cannot be reached; known keys are served for {TRUST:?}");
                }
                tokio::time::sleep(RETRY).await;
            }
        }
    }

    async fn follow_feed(&self, away: &mut bool, others: &(impl Fn(&Change) + Sync)) -> Result<(), StoreError> {
        let mut feed = self.store.changes().await?;
        // Between this feed and whatever was before it, anything may have changed.
        self.forget(&Change::Everything);
        others(&Change::Everything);
        loop {
            match feed.next(POLL).await {
                Ok(changes) => {
                    for change in &changes {
                        self.forget(change);
                        others(change);
                    }
                    let now = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
                    self.synced_millis.store(now, Ordering::Relaxed);
                    if std::mem::take(away) {
                        tracing::info!("the store is back");
                    }
                }
                Err(error) if error.is_unavailable() => {
                    if !*away {
                        *away = true;
                        tracing::warn!(%error, "the store cannot be reached; known keys are served for {TRUST:?}");
                    }
                    tokio::time::sleep(RETRY).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Whether a row of the store is the key that was shown.
fn judge(found: Option<&ApiKey>, hash: SecretHash, now: Timestamp) -> Result<&ApiKey, &'static str> {
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
