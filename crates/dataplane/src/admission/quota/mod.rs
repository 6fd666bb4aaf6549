//! The monthly quota and the budgets of keys and workspaces on this node: leases from the store, spent without asking the store again.
//!
//! A call reserves its upper bound from the lease of its workspace, in tokens, and from those of the budgets of its key and
//! workspace, in nano-dollars. Only if the lease is too small, the store is asked
//! for more, by one call per lease at a time; the others wait and use what the first one obtained, or share its
//! rejection, so that a burst at the cap does not ask once per call. A lease that runs low is raised in the background
//! before it is empty. Near the cap, unused tokens return to the store at once, so that other nodes can use them.

mod renewal;

pub use renewal::RENEW_PERIOD;

use super::full_workspaces::FullWorkspaces;
use super::lease::{LeaseChange, LeasedAccount, LocalLease, Rejection, WaitingTokens};
use super::lease_table::LeaseTable;
use background::Tasks;
use domain::end_user::MAX_END_USERS;
use domain::quota::{Account, LeaseRequest, Need, TokenBound};
use domain::{Caller, EndUserId, KeyId, Month, NanoUsd, RunId, Timestamp, WorkspaceId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use store::budgets::{self, BudgetLeaseKey, EndUserLeaseKey};
use store::leases::LeaseState;
use store::quota::{self, LeaseKey};
use store::spend::{self, SpendLeaseKey};
use store::{Change, Store, StoreError};
use tokio::runtime::Handle;
use tokio::sync::{OwnedMutexGuard, oneshot};

/// How long a lease is valid without a renewal.
const LEASE_TTL: Duration = Duration::from_secs(120);
/// How long a call waits for the store.
const STORE_TIMEOUT: Duration = Duration::from_secs(4);
/// How many times, and how long, a call waits for other calls and nodes to return unused tokens.
const MAX_RETRIES: u32 = 3;
const RETRY_DELAY: Duration = Duration::from_millis(100);
/// How long unused tokens are collected near the cap before they are returned.
const RETURN_DELAY: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) enum QuotaError {
    Spent {
        account: Account,
        /// The call needs at least this much.
        least: u64,
        of: Box<LeasedAccount>,
    },
    Unavailable {
        cause: String,
    },
}

/// The leases of this process.
#[derive(Clone)]
pub struct Quota {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    /// Changes of leases that run to their end even if their call is cancelled.
    tasks: Tasks,
    run: RunId,
    node: String,
    default_cap: u64,
    nodes: Arc<AtomicU32>,
    of_workspaces: LeaseTable<WorkspaceId>,
    of_keys: LeaseTable<KeyId>,
    of_spend: LeaseTable<WorkspaceId>,
    of_end_users: LeaseTable<EndUserId>,
    full_workspaces: FullWorkspaces,
    /// Tokens that engines used above the upper bound of a call, of quotas only.
    overrun: AtomicU64,
    /// This run is about to end, and none of its leases may change any more.
    is_closed: AtomicBool,
    #[cfg(test)]
    store_requests: AtomicU32,
    #[cfg(test)]
    loses_requests: AtomicBool,
}

/// Tokens or nano-dollars reserved for one call. Unused ones are free again on drop.
pub(super) struct Reservation {
    quota: Quota,
    lease: Arc<LocalLease>,
    pub(super) amount: u64,
    used: u64,
    ended: Option<Instant>,
}

impl Reservation {
    /// Ends the reservation of a call that used this much.
    pub(super) fn settle(mut self, used: u64, now: Instant) {
        (self.used, self.ended) = (used, Some(now));
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let now = self.ended.unwrap_or_else(Instant::now);
        self.quota.settle(&self.lease, self.amount, self.used, now);
    }
}

impl Quota {
    pub fn new(
        store: Store,
        background: Handle,
        run: RunId,
        node: &str,
        default_cap: u64,
        nodes: Arc<AtomicU32>,
    ) -> Self {
        let inner = Inner {
            store,
            tasks: Tasks::new(background),
            run,
            node: node.to_owned(),
            default_cap,
            nodes,
            of_workspaces: LeaseTable::default(),
            of_keys: LeaseTable::default(),
            of_spend: LeaseTable::default(),
            of_end_users: LeaseTable::default(),
            full_workspaces: FullWorkspaces::new(MAX_END_USERS),
            overrun: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            #[cfg(test)]
            store_requests: AtomicU32::new(0),
            #[cfg(test)]
            loses_requests: AtomicBool::new(false),
        };
        Self { inner: Arc::new(inner) }
    }

    pub fn overrun_tokens(&self) -> u64 {
        self.inner.overrun.load(Ordering::Relaxed)
    }

    pub(super) async fn reserve(
        &self,
        caller: &Caller,
        bound: &TokenBound,
        now: Timestamp,
    ) -> Result<Reservation, QuotaError> {
        self.reserve_from(self.lease(caller, Month::of(now)), bound.need()).await
    }

    pub(super) async fn reserve_from(&self, lease: Arc<LocalLease>, need: Need) -> Result<Reservation, QuotaError> {
        let (taken, is_low) = lease.state().take(need.total, Instant::now());
        if is_low {
            self.raise_soon(&lease);
        }
        match taken {
            true => Ok(self.reservation(lease, need.total)),
            false => Box::pin(self.reserve_slowly(lease, need)).await,
        }
    }

    async fn reserve_slowly(&self, lease: Arc<LocalLease>, need: Need) -> Result<Reservation, QuotaError> {
        let spent =
            |account| Err(QuotaError::Spent { account, least: need.least, of: Box::new(lease.account.clone()) });
        let mut tries = 0;
        loop {
            if let Some(account) = lease.state().known_spent(need.least, Instant::now()) {
                return spent(account);
            }
            let account = match tokio::time::timeout(STORE_TIMEOUT, self.extend(&lease, need)).await {
                Ok(Ok(LeaseOutcome::Reserved(reservation))) => return Ok(reservation),
                Ok(Ok(LeaseOutcome::Rejected(account))) => account,
                Ok(Err(cause)) => return Err(QuotaError::Unavailable { cause }),
                Err(_elapsed) => return Err(QuotaError::Unavailable { cause: "the store is too slow".into() }),
            };
            tries += 1;
            if tries > MAX_RETRIES || account.is_gone_for(need.least) {
                return spent(account);
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }

    /// Asks the store for more, unless a call that asked meanwhile has obtained enough, was rejected for no more tokens than
    /// this call needs, or found the store unavailable.
    async fn extend(&self, lease: &Arc<LocalLease>, need: Need) -> Result<LeaseOutcome, String> {
        let began = Instant::now();
        let waiting = lease.wait_for(need.total);
        // A call that is cancelled here leaves the queue; during an outage such calls would fill the memory.
        let lock = Arc::clone(&lease.store_lock).lock_owned().await;
        if lease.state().take(need.total, Instant::now()).0 {
            return Ok(LeaseOutcome::Reserved(self.reservation(Arc::clone(lease), need.total)));
        }
        if lease.state().has_failed_since(began) {
            return Err("the store failed for an earlier call".into());
        }
        if let Some(account) = lease.state().rejected_since(began, need.least) {
            return Ok(LeaseOutcome::Rejected(account));
        }
        let (sender, outcome) = oneshot::channel();
        let extended = self.clone().extend_in_store(Arc::clone(lease), need, waiting, lock);
        self.inner.tasks.spawn(async move {
            // The outcome of a cancelled call is dropped, and its reservation with it.
            let _ = sender.send(extended.await);
        });
        outcome.await.map_err(|_| "the request to the store panicked".to_owned())?.map_err(|error| format!("{error:?}"))
    }

    async fn extend_in_store(
        self,
        lease: Arc<LocalLease>,
        need: Need,
        waiting: WaitingTokens,
        _lock: OwnedMutexGuard<()>,
    ) -> Result<LeaseOutcome, StoreError> {
        let began = Instant::now();
        let (change, ask) = {
            let mut state = lease.state();
            let free = state.book.free();
            let ask = LeaseRequest {
                wanted: need.total.max(lease.waiting()).saturating_sub(free),
                least: need.least.saturating_sub(free).max(1),
                recent: state.recent(began),
                nodes: self.inner.nodes.load(Ordering::Relaxed),
            };
            (state.begin_change(), ask)
        };
        let leased = self.set_lease(&lease, change, Some(&ask)).await;
        drop(waiting);
        let leased = leased.inspect_err(|_| lease.state().note_failure(Instant::now()))?;
        let mut state = lease.state();
        state.granted(change, &leased, began + LEASE_TTL);
        let amount = need.total.min(state.book.free());
        if amount >= need.least && state.take(amount, began).0 {
            drop(state);
            return Ok(LeaseOutcome::Reserved(self.reservation(Arc::clone(&lease), amount)));
        }
        let account = leased.account.after(state.book.unwritten(leased.written));
        state.note_rejection(Rejection { account, least: need.least, asked_at: began });
        Ok(LeaseOutcome::Rejected(account))
    }

    /// Sets the lease in the store, or notes that it is not known whether that has happened.
    async fn set_lease(
        &self,
        lease: &LocalLease,
        change: LeaseChange,
        ask: Option<&LeaseRequest>,
    ) -> Result<LeaseState, StoreError> {
        let set = self.set_in_store(lease, change.believed, ask).await;
        set.inspect_err(|_| lease.state().failed())
    }

    async fn set_in_store(
        &self,
        lease: &LocalLease,
        believed: u64,
        ask: Option<&LeaseRequest>,
    ) -> Result<LeaseState, StoreError> {
        let inner = &self.inner;
        #[cfg(test)]
        {
            inner.store_requests.fetch_add(1, Ordering::Relaxed);
            if inner.loses_requests.load(Ordering::Relaxed) {
                return Err(StoreError::Unavailable("the request was lost".into()));
            }
        }
        if inner.is_closed.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("this node is shutting down".into()));
        }
        match &lease.account {
            LeasedAccount::Quota { workspace, month, .. } => {
                let key = LeaseKey { workspace, month: *month, run: inner.run.as_str(), node: &inner.node };
                quota::set_lease(&inner.store, key, believed, ask, inner.default_cap, lease_expiry()).await
            }
            LeasedAccount::Budget { key, period } => {
                let called_at = lease.state().called_at();
                let key = BudgetLeaseKey { key, period: *period, run: inner.run.as_str(), node: &inner.node };
                budgets::set_lease(&inner.store, key, believed, ask, called_at).await
            }
            LeasedAccount::EndUser { workspace, end_user, period } => {
                let called_at = lease.state().called_at();
                let (run, node) = (inner.run.as_str(), inner.node.as_str());
                let key = EndUserLeaseKey { workspace, end_user, period: *period, run, node };
                inner.full_workspaces.set_lease(&inner.store, key, believed, ask, called_at, Instant::now()).await
            }
            LeasedAccount::Spend { workspace, month, .. } => {
                let key = SpendLeaseKey { workspace, month: *month, run: inner.run.as_str(), node: &inner.node };
                spend::set_lease(&inner.store, key, believed, ask).await
            }
        }
    }

    /// Raises a lease in the background, before a call has to wait for it.
    fn raise_soon(&self, lease: &Arc<LocalLease>) {
        let (quota, lease) = (self.clone(), Arc::clone(lease));
        self.inner.tasks.spawn(async move {
            let _lock = lease.store_lock.lock().await;
            let began = Instant::now();
            let (change, recent) = {
                let mut state = lease.state();
                (state.begin_change(), state.recent(began))
            };
            let nodes = quota.inner.nodes.load(Ordering::Relaxed);
            let ask = LeaseRequest { wanted: 0, least: 1, recent, nodes };
            let leased = quota.set_lease(&lease, change, Some(&ask)).await;
            let mut state = lease.state();
            match leased {
                Ok(leased) => state.granted(change, &leased, began + LEASE_TTL),
                Err(error) => {
                    tracing::debug!(%error, "could not raise a quota lease");
                    state.not_raised(began);
                }
            }
        });
    }

    fn settle(&self, lease: &Arc<LocalLease>, reserved: u64, used: u64, now: Instant) {
        let (overrun, should_return) = lease.state().settle(reserved, used, now);
        if overrun > 0 {
            self.note_overrun(lease, overrun);
        }
        if should_return {
            self.return_soon(lease);
        }
    }

    /// Counts tokens of a quota. Nano-dollars of a budget are logged: most of them are the cost of counted tokens.
    fn note_overrun(&self, lease: &LocalLease, overrun: u64) {
        match lease.account {
            LeasedAccount::Quota { .. } => {
                self.inner.overrun.fetch_add(overrun, Ordering::Relaxed);
            }
            LeasedAccount::Budget { .. } | LeasedAccount::EndUser { .. } | LeasedAccount::Spend { .. } => {
                let usd = NanoUsd::from_unsigned(overrun);
                tracing::warn!(%usd, budget = ?lease.account, "a call cost {usd} USD more than it had reserved of a budget");
            }
        }
    }

    fn return_soon(&self, lease: &Arc<LocalLease>) {
        let (quota, lease) = (self.clone(), Arc::clone(lease));
        self.inner.tasks.spawn(async move {
            tokio::time::sleep(RETURN_DELAY).await;
            quota.return_free(&lease).await;
        });
    }

    /// Returns the free tokens to the store. They are released locally first, so a lost write can only strand tokens,
    /// never grant them twice, until a round of [`Quota::renew`] repeats it.
    async fn return_free(&self, lease: &LocalLease) {
        let _lock = lease.store_lock.lock().await;
        let Some(change) = lease.state().release_free() else { return };
        if let Err(error) = self.set_lease(lease, change, None).await {
            tracing::debug!(%error, "could not return the free tokens of a quota lease");
        }
    }

    fn reservation(&self, lease: Arc<LocalLease>, amount: u64) -> Reservation {
        Reservation { quota: self.clone(), lease, amount, used: 0, ended: None }
    }

    fn lease(&self, caller: &Caller, month: Month) -> Arc<LocalLease> {
        let new = || {
            let (workspace, organization) = (caller.workspace.clone(), caller.organization.clone());
            LocalLease::new(LeasedAccount::Quota { workspace, organization, month })
        };
        let is_of_month = |lease: &LocalLease| lease.account.month() == Some(month);
        self.inner.of_workspaces.get_or_insert(&caller.workspace, is_of_month, new)
    }

    pub(super) fn budget_leases(&self) -> &LeaseTable<KeyId> {
        &self.inner.of_keys
    }

    pub(super) fn end_user_leases(&self) -> &LeaseTable<EndUserId> {
        &self.inner.of_end_users
    }

    pub(super) fn spend_leases(&self) -> &LeaseTable<WorkspaceId> {
        &self.inner.of_spend
    }

    /// Handles a change that may affect a cap: free tokens return to the store, and the next call asks again.
    pub fn apply_change(&self, change: &Change) {
        let is_affected = |lease: &LocalLease| match (change, &lease.account) {
            (
                Change::Workspace(id),
                LeasedAccount::Quota { workspace, .. } | LeasedAccount::Spend { workspace, .. },
            ) => workspace == id,
            (
                Change::Organization(id),
                LeasedAccount::Quota { organization, .. } | LeasedAccount::Spend { organization, .. },
            ) => organization == id,
            (Change::Everything, _) => true,
            // The next call of a key brings its new budgets and those of its end user.
            (
                Change::Workspace(_) | Change::Organization(_),
                LeasedAccount::Budget { .. } | LeasedAccount::EndUser { .. },
            )
            | (Change::Key(_) | Change::User(_) | Change::Endpoint(_) | Change::Catalogue, _) => false,
        };
        for lease in self.all().into_iter().filter(|lease| is_affected(lease)) {
            lease.state().forget_rejection();
            self.return_soon(&lease);
        }
    }
}

#[cfg(test)]
impl Quota {
    /// Tokens needed by all calls that wait for the store.
    pub(super) fn waiting(&self, workspace: &WorkspaceId, month: Month) -> u64 {
        let lease = self.inner.of_workspaces.find(workspace, |lease| lease.account.month() == Some(month));
        lease.map_or(0, |lease| lease.waiting())
    }

    /// How often the store was asked to change a lease.
    pub(super) fn store_requests(&self) -> u32 {
        self.inner.store_requests.load(Ordering::Relaxed)
    }

    /// From now on, requests to change a lease fail or arrive.
    pub(super) fn lose_requests(&self, lost: bool) {
        self.inner.loses_requests.store(lost, Ordering::Relaxed);
    }
}

enum LeaseOutcome {
    Reserved(Reservation),
    Rejected(Account),
}

/// Informative only, for operators who read the table: no lease is ended by the clock.
fn lease_expiry() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default() + LEASE_TTL;
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
