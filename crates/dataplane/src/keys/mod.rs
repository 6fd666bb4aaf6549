//! Identifies the caller of an API key, from a cache in memory where possible.
//!
//! A valid key is found in the cache. Every other credential takes the same path: a short-lived list of rejected
//! credentials, then the store. So an unknown segment and a wrong secret take the same time, and a store that is
//! unavailable is never mistaken for an invalid key.
//!
//! The cache is valid while the change feed runs, which removes keys that have changed. Keys changed through this node
//! are removed before the change is confirmed to the client. When the store has been unavailable for
//! [`STALE_KEY_TTL`], the cache is no longer used.
//!
//! Two gates bound the lookups in the store: one for credentials that are expected to be valid, and one for all others. So
//! a client with a valid key does not wait behind guesses.

mod cache;
mod expected;
mod follower;
mod recent_changes;
mod rejected;

pub use follower::{ChangeFollower, FollowError, RETRY_DELAY};

use cache::KeyCache;
use domain::end_user::EndUserPolicy;
use domain::key::KeyText;
use domain::limits::OwnPerMinute;
use domain::usage::Actor;
use domain::{ApiKey, Caller, KeyId, KeyState, SecretHash, Segment, Timestamp, Workspace, WorkspaceId};
use expected::Expected;
use parking_lot::Mutex;
use recent_changes::RecentChanges;
use rejected::RejectedKeys;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use store::{Change, Store, StoreError, aliases, api_keys, end_users, workspaces};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit};

/// How long cached keys are served while the store is unavailable.
pub const STALE_KEY_TTL: Duration = Duration::from_secs(300);
/// Concurrent lookups of expected credentials and of all others, and how long a further one waits.
const MAX_EXPECTED_LOOKUPS: usize = 12;
const MAX_OTHER_LOOKUPS: usize = 4;
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(3);
/// The minimum duration of a rejection by the store, so that its timing reveals nothing.
const REJECTION_FLOOR: Duration = Duration::from_millis(3);
const ELSEWHERE: &str = "sent from an address that the key does not allow";

#[derive(Debug)]
pub enum IdentifyError {
    /// The credential is invalid; the cause is for our log.
    BadKey(&'static str),
    /// The store is unavailable; the cause is for our log.
    StoreUnavailable(String),
}

/// A well-formed key, with its secret hashed.
#[derive(Debug, Clone, Copy)]
pub struct Credential {
    segment: Segment,
    hash: SecretHash,
}

impl From<&KeyText<'_>> for Credential {
    fn from(key: &KeyText<'_>) -> Self {
        Self { segment: key.segment, hash: key.hash() }
    }
}

/// The keys that this node has seen.
pub struct KeyDirectory {
    store: Store,
    /// The runtime that owns the connections of the store.
    background: Handle,
    cache: KeyCache,
    rejected: RejectedKeys,
    recent: Mutex<RecentChanges>,
    opened: Instant,
    /// The last successful round of the feed, in milliseconds since `opened`.
    synced_millis: AtomicU64,
    expected: Expected,
    expected_gate: Gate,
    other_gate: Gate,
}

/// Bounds concurrent lookups, and counts all.
struct Gate {
    permits: Semaphore,
    passed: AtomicU64,
}

impl Gate {
    fn new(permits: usize) -> Self {
        Self { permits: Semaphore::new(permits), passed: AtomicU64::new(0) }
    }

    async fn pass(&self) -> Result<SemaphorePermit<'_>, IdentifyError> {
        match tokio::time::timeout(LOOKUP_TIMEOUT, self.permits.acquire()).await {
            Ok(permit) => Ok(permit.expect("a gate is never closed")),
            Err(_elapsed) => Err(IdentifyError::StoreUnavailable("too many lookups are waiting for the store".into())),
        }
    }
}

impl KeyDirectory {
    pub fn new(store: Store, background: Handle) -> Arc<Self> {
        let keys = Arc::new(Self {
            store,
            background,
            cache: KeyCache::default(),
            rejected: RejectedKeys::default(),
            recent: Mutex::default(),
            opened: Instant::now(),
            synced_millis: AtomicU64::new(0),
            expected: Expected::default(),
            expected_gate: Gate::new(MAX_EXPECTED_LOOKUPS),
            other_gate: Gate::new(MAX_OTHER_LOOKUPS),
        });
        let here = Arc::downgrade(&keys);
        keys.store.on_own_change(move |change| here.upgrade().iter().for_each(|keys| keys.forget(change)));
        keys
    }

    /// A follower of the change feed, which keeps the cache valid.
    pub fn follower(self: &Arc<Self>) -> ChangeFollower {
        ChangeFollower::new(Arc::clone(self))
    }

    /// The lookups in the store so far, by gate.
    pub fn lookups(&self) -> [(&'static str, u64); 2] {
        [("expected", &self.expected_gate), ("other", &self.other_gate)]
            .map(|(name, gate)| (name, gate.passed.load(Ordering::Relaxed)))
    }

    /// The caller, if the key is in memory and valid.
    pub fn cached(&self, key: &Credential, now: Timestamp) -> Option<Arc<Caller>> {
        if !self.is_synced() {
            return None;
        }
        self.cache.find(key.segment, key.hash, now)
    }

    /// Whether the key is known and probably valid, although it is not in memory.
    pub fn is_expected(&self, key: &Credential) -> bool {
        self.expected.contains(key.segment, key.hash)
    }

    /// The caller of a key that is not [cached](Self::cached), if it may be used from this address. Otherwise the store is asked
    /// as often as for a key that is invalid.
    pub async fn look_up(
        &self,
        key: &Credential,
        client: IpAddr,
        now: Timestamp,
    ) -> Result<Arc<Caller>, IdentifyError> {
        let Credential { segment, hash } = *key;
        let rejected_at = |hash| self.rejected.find(segment, hash);
        if let Some(cause) = rejected_at(hash).or_else(|| rejected_at(sent_from(key, client))) {
            return Err(IdentifyError::BadKey(cause));
        }
        let gate = if self.is_expected(key) { &self.expected_gate } else { &self.other_gate };
        let permit = gate.pass().await?;
        // Another call may have cached the key meanwhile.
        if let Some(caller) = self.cached(key, now) {
            return Ok(caller);
        }
        gate.passed.fetch_add(1, Ordering::Relaxed);
        let floor = tokio::time::Instant::now() + REJECTION_FLOOR;
        let position = self.recent.lock().position();
        let found = self.read(move |store| async move { api_keys::by_segment(&store, segment, now).await }).await?;
        match check(found.as_ref(), hash, now) {
            Ok(found) if !found.restrictions.allows_address(client) => {
                drop(permit);
                let is_current = || self.is_current(position, segment, Some(&found.workspace));
                self.rejected.insert_if(segment, sent_from(key, client), ELSEWHERE, is_current);
                tokio::time::sleep_until(floor).await;
                Err(IdentifyError::BadKey(ELSEWHERE))
            }
            Ok(found) => {
                let caller = self.caller_of(found).await?;
                let is_current = || self.is_current(position, segment, Some(&found.workspace));
                self.cache.insert_if(found, &caller, is_current);
                Ok(caller)
            }
            Err(cause) => {
                // Otherwise guesses would keep others waiting while they sleep.
                drop(permit);
                let workspace = found.as_ref().map(|key| &key.workspace);
                self.rejected.insert_if(segment, hash, cause, || self.is_current(position, segment, workspace));
                self.expected.remove(segment, hash);
                tokio::time::sleep_until(floor).await;
                Err(IdentifyError::BadKey(cause))
            }
        }
    }

    /// The caller with the limits, settings and aliases of its workspace, which are cached together with the key.
    async fn caller_of(&self, key: &ApiKey) -> Result<Arc<Caller>, IdentifyError> {
        let (id, trusts_end_user) = (key.workspace.clone(), key.trusts_end_user);
        let read = move |store: Store| async move {
            let own = if trusts_end_user { end_users::with_own_limits(&store, &id).await? } else { HashMap::new() };
            Ok::<_, StoreError>((workspaces::by_id(&store, &id).await?, aliases::list(&store, &id).await?, own))
        };
        let (workspace, aliases, own) = self.read(read).await?;
        let settings = workspace.as_ref().map(|workspace| workspace.end_users.clone()).unwrap_or_default();
        let end_users = trusts_end_user.then(|| Arc::new(EndUserPolicy { settings, own }));
        let actor = Actor::Key(key.id.clone());
        let caller = Caller {
            response_retention: workspace.as_ref().and_then(|workspace| workspace.response_retention),
            weight: workspace.as_ref().map(|workspace| workspace.weight).unwrap_or_default(),
            has_monthly_budget: workspace.as_ref().is_some_and(Workspace::has_monthly_budget),
            end_users,
            organization_limits: workspace.as_ref().map(|one| one.organization_per_minute).unwrap_or_default(),
            workspace_limits: workspace.map(|workspace| workspace.stored_limits()).unwrap_or_default(),
            key_limits: OwnPerMinute { requests: key.requests_per_minute, tokens: key.tokens_per_minute },
            ..Caller::new(key.organization.clone(), key.workspace.clone(), actor)
        };
        let caller = caller.with_aliases(aliases).restricted(&key.restrictions).limited(&key.limits);
        Ok(Arc::new(caller.budgeted(&key.budgets)))
    }

    /// The caller of a key that is valid, by its id; `None` if it is not valid any more. Read from the store every time.
    pub async fn caller_by_id(&self, id: &KeyId, now: Timestamp) -> Result<Option<Arc<Caller>>, IdentifyError> {
        let id = id.clone();
        let found = self.read(move |store| async move { api_keys::by_id(&store, &id).await }).await?;
        match found.filter(|key| key.state(now) == KeyState::Active) {
            Some(key) => self.caller_of(&key).await.map(Some),
            None => Ok(None),
        }
    }

    /// Rejects a cached key that was sent from an address that it may not be used from, after the time that the rejection of an
    /// invalid one takes. So its sender cannot find out that it is valid.
    pub async fn reject_elsewhere(&self, key: &Credential, client: IpAddr) -> IdentifyError {
        let sent_from = sent_from(key, client);
        if self.rejected.find(key.segment, sent_from).is_none() {
            self.rejected.insert_if(key.segment, sent_from, ELSEWHERE, || true);
            tokio::time::sleep(REJECTION_FLOOR).await;
        }
        IdentifyError::BadKey(ELSEWHERE)
    }

    /// Reads from the store on the runtime that owns its connections.
    async fn read<T, F>(&self, read: impl FnOnce(Store) -> F) -> Result<T, IdentifyError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let lookup = self.background.spawn(read(self.store.clone()));
        let found = lookup.await.expect("a lookup does not panic");
        found.map_err(|error| IdentifyError::StoreUnavailable(format!("{error:?}")))
    }

    fn is_current(&self, position: u64, segment: Segment, workspace: Option<&WorkspaceId>) -> bool {
        !self.recent.lock().concern(position, segment, workspace)
    }

    fn is_synced(&self) -> bool {
        let synced = Duration::from_millis(self.synced_millis.load(Ordering::Relaxed));
        self.opened.elapsed().saturating_sub(synced) < STALE_KEY_TTL
    }

    fn note_synced(&self) {
        let now = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.synced_millis.store(now, Ordering::Relaxed);
    }

    /// Removes what a change has made invalid. An organization's name and its members concern no key, and an organization
    /// is deleted only after its workspaces.
    fn forget(&self, change: &Change) {
        match change {
            Change::Key(segment) => {
                self.record(change);
                self.cache.remove(*segment);
                self.rejected.remove(*segment);
            }
            Change::Workspace(workspace) => {
                self.record(change);
                self.cache.remove_workspace(workspace);
            }
            Change::Everything => {
                self.record(change);
                self.cache.clear();
                self.rejected.clear();
            }
            Change::Organization(_) | Change::User(_) | Change::Endpoint(_) | Change::Catalogue => {}
        }
    }

    /// To be called before the removal, so that a lookup that has read the old rows does not cache them after it.
    fn record(&self, change: &Change) {
        self.recent.lock().push(change.clone());
    }
}

/// What distinguishes a key that is rejected at one address only from one that is rejected at all.
fn sent_from(key: &Credential, client: IpAddr) -> SecretHash {
    SecretHash::of(&format!("{} {client}", key.hash.to_hex()))
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

#[cfg(test)]
mod tests;
