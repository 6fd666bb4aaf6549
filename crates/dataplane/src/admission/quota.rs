//! The monthly quota on this node: leases from the store, spent without asking.
//!
//! A call reserves the most it can use from the lease of its workspace. Only when that is too small is the store asked,
//! by one call at a time for a workspace; further calls wait and find what the first brought. A lease that runs low is
//! raised before it is needed. Near the cap, what calls did not use goes back at once, for other nodes to use.

use super::lease::{Held, Waiting};
use domain::quota::{Account, LeaseRequest, TokenBound};
use domain::{Month, RunId, Timestamp, WorkspaceId};
use foldhash::HashMap;
use foldhash::fast::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::quota::LeaseKey;
use store::{Change, Store, StoreError, quota};
use tokio::runtime::Handle;
use tokio::sync::OwnedMutexGuard;

const SHARDS: usize = 16;
/// How long a lease is good without a word from the store, and how often the store is told that this node lives.
const LEASE_TIME: Duration = Duration::from_secs(120);
const RENEW_EVERY: Duration = Duration::from_secs(20);
/// A workspace that nobody calls gives back its lease.
const IDLE: Duration = Duration::from_secs(60);
/// How long a call waits for the store at most.
const PATIENCE: Duration = Duration::from_secs(4);
/// Other calls and nodes may give back what they hold; so often and so long it is waited for.
const LOOKS_AGAIN: u32 = 3;
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// What is left over near the cap gathers for so long before it goes back.
const RETURN_AFTER: Duration = Duration::from_millis(20);

/// Why nothing could be reserved.
#[derive(Debug)]
pub(super) enum NoQuota {
    Spent { account: Account, month: Month },
    Unavailable { cause: String },
}

/// The leases of this process.
#[derive(Clone)]
pub struct Quota {
    shared: Arc<Shared>,
}

struct Shared {
    store: Store,
    /// Where the store's connections live.
    background: Handle,
    run: RunId,
    node: String,
    default_cap: u64,
    nodes: Arc<AtomicU32>,
    hasher: RandomState,
    leases: [Mutex<Leases>; SHARDS],
    /// Tokens that engines used beyond what they could.
    overrun: AtomicU64,
    /// This run is about to end, and no lease of it may change any more.
    closed: AtomicBool,
}

/// Of this month as a rule, and of the one before until its calls have ended.
type Leases = HashMap<WorkspaceId, Vec<Arc<Held>>>;

/// Tokens that are set aside for one call; dropped, they are free again.
pub(super) struct Reservation {
    quota: Quota,
    held: Arc<Held>,
    pub(super) tokens: u64,
    used: u64,
    ended: Option<Instant>,
}

impl Reservation {
    /// The call has used so much.
    pub(super) fn settle(mut self, used: u64, now: Instant) {
        (self.used, self.ended) = (used, Some(now));
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let now = self.ended.unwrap_or_else(Instant::now);
        self.quota.settle(&self.held, self.tokens, self.used, now);
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
        let shared = Shared {
            store,
            background,
            run,
            node: node.to_owned(),
            default_cap,
            nodes,
            hasher: RandomState::default(),
            leases: std::array::from_fn(|_| Mutex::default()),
            overrun: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    pub fn overrun_tokens(&self) -> u64 {
        self.shared.overrun.load(Ordering::Relaxed)
    }

    pub(super) async fn reserve(
        &self,
        workspace: &WorkspaceId,
        bound: &TokenBound,
        now: Timestamp,
    ) -> Result<Reservation, NoQuota> {
        let held = self.held(workspace, Month::of(now));
        let (taken, is_low) = held.state().take(bound.total(), Instant::now());
        if is_low {
            self.raise_soon(&held);
        }
        match taken {
            true => Ok(self.reservation(held, bound.total())),
            false => Box::pin(self.reserve_slowly(held, bound)).await,
        }
    }

    async fn reserve_slowly(&self, held: Arc<Held>, bound: &TokenBound) -> Result<Reservation, NoQuota> {
        let mut looks = 0;
        loop {
            if let Some(account) = held.state().known_spent(bound.least(), Instant::now()) {
                return Err(NoQuota::Spent { account, month: held.month });
            }
            let account = match tokio::time::timeout(PATIENCE, self.ask(&held, bound)).await {
                Ok(Ok(Answer::Reserved(reservation))) => return Ok(reservation),
                Ok(Ok(Answer::Refused(account))) => account,
                Ok(Err(cause)) => return Err(NoQuota::Unavailable { cause }),
                Err(_elapsed) => return Err(NoQuota::Unavailable { cause: "the store is too slow".into() }),
            };
            looks += 1;
            if looks > LOOKS_AGAIN || account.is_spent_for(bound.least()) {
                return Err(NoQuota::Spent { account, month: held.month });
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Asks the store, unless a call before this one has just brought enough, or has found that the store is away.
    async fn ask(&self, held: &Arc<Held>, bound: &TokenBound) -> Result<Answer, String> {
        let came = Instant::now();
        let waiting = held.wait_for(bound.total());
        // A call that leaves gives up its place; those of an outage would fill the memory.
        let turn = Arc::clone(&held.asking).lock_owned().await;
        if held.state().take(bound.total(), Instant::now()).0 {
            return Ok(Answer::Reserved(self.reservation(Arc::clone(held), bound.total())));
        }
        if held.state().has_failed_since(came) {
            return Err("the store did not answer another call".into());
        }
        let question = self.clone().ask_store(Arc::clone(held), *bound, waiting, turn);
        let answer = self.shared.background.spawn(question);
        answer.await.map_err(|panicked| panicked.to_string())?.map_err(|error| format!("{error:?}"))
    }

    /// It is not stopped half-way when its call is gone: a reservation that nobody takes is dropped.
    async fn ask_store(
        self,
        held: Arc<Held>,
        bound: TokenBound,
        waiting: Waiting,
        _turn: OwnedMutexGuard<()>,
    ) -> Result<Answer, store::StoreError> {
        let began = Instant::now();
        let (believed, ask) = {
            let state = held.state();
            let free = state.book.free();
            let ask = LeaseRequest {
                wanted: bound.total().max(held.waiting()).saturating_sub(free),
                least: bound.least().saturating_sub(free).max(1),
                recent: state.recent(began),
                nodes: self.shared.nodes.load(Ordering::Relaxed),
            };
            (state.book.granted(), ask)
        };
        let leased = self.set_lease(&held, believed, Some(&ask)).await;
        drop(waiting);
        let leased = leased.inspect_err(|_| held.state().note_failure(Instant::now()))?;
        let mut state = held.state();
        state.granted(leased.granted, leased.near_cap, leased.granted - believed, began + LEASE_TIME);
        let tokens = bound.total().min(state.book.free());
        if tokens >= bound.least() && state.take(tokens, began).0 {
            drop(state);
            return Ok(Answer::Reserved(self.reservation(Arc::clone(&held), tokens)));
        }
        state.note_spent(leased.account, began);
        Ok(Answer::Refused(leased.account))
    }

    async fn set_lease(
        &self,
        held: &Held,
        believed: u64,
        ask: Option<&LeaseRequest>,
    ) -> Result<quota::LeaseState, store::StoreError> {
        let shared = &self.shared;
        if shared.closed.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("this node stops".into()));
        }
        let of =
            LeaseKey { workspace: &held.workspace, month: held.month, run: shared.run.as_str(), node: &shared.node };
        let expires_at = lease_end();
        quota::set_lease(&shared.store, of, believed, ask, shared.default_cap, expires_at).await
    }

    /// Raises a lease before anybody has to wait for it.
    fn raise_soon(&self, held: &Arc<Held>) {
        let (quota, held) = (self.clone(), Arc::clone(held));
        self.shared.background.spawn(async move {
            let _turn = held.asking.lock().await;
            let began = Instant::now();
            let (believed, recent) = {
                let state = held.state();
                (state.book.granted(), state.recent(began))
            };
            let nodes = quota.shared.nodes.load(Ordering::Relaxed);
            let ask = LeaseRequest { wanted: 0, least: 1, recent, nodes };
            let leased = quota.set_lease(&held, believed, Some(&ask)).await;
            let mut state = held.state();
            match leased {
                Ok(leased) => {
                    let added = leased.granted - believed;
                    state.granted(leased.granted, leased.near_cap, added, began + LEASE_TIME);
                }
                Err(error) => {
                    tracing::debug!(%error, "a lease could not be raised");
                    state.not_raised(began);
                }
            }
        });
    }

    fn settle(&self, held: &Arc<Held>, reserved: u64, used: u64, now: Instant) {
        let (overrun, goes_back) = held.state().settle(reserved, used, now);
        if overrun > 0 {
            self.shared.overrun.fetch_add(overrun, Ordering::Relaxed);
        }
        if goes_back {
            self.give_back_soon(held);
        }
    }

    fn give_back_soon(&self, held: &Arc<Held>) {
        let (quota, held) = (self.clone(), Arc::clone(held));
        self.shared.background.spawn(async move {
            tokio::time::sleep(RETURN_AFTER).await;
            quota.give_back(&held).await;
        });
    }

    /// Returns what nobody needs. It is given up here first: should the store not hear of it, it is nobody's.
    async fn give_back(&self, held: &Held) {
        let _turn = held.asking.lock().await;
        let Some(granted) = held.state().give_up_free() else { return };
        if let Err(error) = self.set_lease(held, granted, None).await {
            tracing::debug!(%error, "a lease could not be given back");
        }
    }

    fn reservation(&self, held: Arc<Held>, tokens: u64) -> Reservation {
        Reservation { quota: self.clone(), held, tokens, used: 0, ended: None }
    }

    fn held(&self, workspace: &WorkspaceId, month: Month) -> Arc<Held> {
        let index = self.shared.hasher.hash_one(workspace) as usize % SHARDS;
        let mut leases = self.lock(index);
        let known = leases.get(workspace).and_then(|months| months.iter().find(|held| held.month == month));
        if let Some(held) = known {
            return Arc::clone(held);
        }
        let new = Arc::new(Held::new(workspace.clone(), month));
        leases.entry(workspace.clone()).or_default().push(Arc::clone(&new));
        new
    }

    fn lock(&self, index: usize) -> MutexGuard<'_, Leases> {
        self.shared.leases[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all(&self) -> Vec<Arc<Held>> {
        (0..SHARDS).flat_map(|index| self.lock(index).values().flatten().cloned().collect::<Vec<_>>()).collect()
    }

    /// A cap may have changed: what is free goes back and is asked for anew.
    pub fn heard(&self, change: &Change) {
        let concerns = |held: &Held| match change {
            Change::Workspace(id) => held.workspace == *id,
            Change::Everything => true,
            Change::Key(_) | Change::Organization(_) | Change::User(_) | Change::Endpoint(_) => false,
        };
        for held in self.all().into_iter().filter(|held| concerns(held)) {
            held.state().forget_spent();
            self.give_back_soon(&held);
        }
    }

    /// Keeps the leases alive, and gives back those that nobody uses; for ever.
    pub async fn keep(self, now: fn() -> Timestamp) {
        let mut ticks = tokio::time::interval(RENEW_EVERY);
        loop {
            ticks.tick().await;
            self.keep_once(Month::of(now()), Instant::now()).await;
        }
    }

    pub(super) async fn keep_once(&self, month: Month, began: Instant) {
        // A clock that is set forth and back must not end the lease of a month that is still spent.
        let is_over = |held: &Held| held.month < month.previous() && held.state().is_over(began, IDLE);
        let spent = self.all().into_iter().filter(|held| !is_over(held)).map(|held| held.month);
        let oldest = spent.chain([month.previous()]).min().expect("there is the month before");
        if let Err(error) = quota::renew(&self.shared.store, self.shared.run.as_str(), oldest, lease_end()).await {
            // Nothing is given back either: nobody would hear of it, and what is left must last.
            return tracing::debug!(%error, "the leases could not be renewed");
        }
        for held in self.all() {
            held.state().renewed(began + LEASE_TIME);
            if held.month != month || held.state().is_idle(began, IDLE) {
                self.give_back(&held).await;
            }
        }
        for index in 0..SHARDS {
            let mut leases = self.lock(index);
            leases.values_mut().for_each(|months| months.retain(|held| held.month >= oldest));
            leases.retain(|_, months| !months.is_empty());
        }
    }

    /// Asks the store for nothing more, and returns once no question is under way: the run can be ended then.
    pub async fn close(&self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        for held in self.all() {
            drop(held.asking.lock().await);
        }
    }
}

#[cfg(test)]
impl Quota {
    /// What all calls that wait for the store would need.
    pub(super) fn waiting(&self, workspace: &WorkspaceId, month: Month) -> u64 {
        self.held(workspace, month).waiting()
    }
}

enum Answer {
    Reserved(Reservation),
    Refused(Account),
}

/// For people who look at the table: a lease is never ended by the clock.
fn lease_end() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default() + LEASE_TIME;
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
