//! The lease of one account on this node: of the monthly quota or budget of a workspace, or of a budget of a key
//! or an end user.

use domain::budget::BudgetPeriod;
use domain::quota::{Account, LeaseBook};
use domain::{EndUserId, KeyId, Month, OrganizationId, Timestamp, WorkspaceId};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use store::leases::LeaseState as StoredLease;

const MINUTE: Duration = Duration::from_secs(60);
/// How long a spent quota is remembered before the store is asked again.
const SPENT_TTL: Duration = Duration::from_secs(1);
/// Pause before another attempt to raise a lease.
const RAISE_BACKOFF: Duration = Duration::from_millis(500);

/// What a lease is a part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LeasedAccount {
    Quota {
        workspace: WorkspaceId,
        organization: OrganizationId,
        month: Month,
    },
    Budget {
        key: KeyId,
        period: BudgetPeriod,
    },
    /// The budget of an end user of the workspace.
    EndUser {
        workspace: WorkspaceId,
        end_user: EndUserId,
        period: BudgetPeriod,
    },
    /// The monthly budgets of the workspace and of its organization.
    Spend {
        workspace: WorkspaceId,
        organization: OrganizationId,
        month: Month,
    },
}

impl LeasedAccount {
    /// The month of a quota.
    pub(super) fn month(&self) -> Option<Month> {
        match self {
            Self::Quota { month, .. } => Some(*month),
            Self::Budget { .. } | Self::EndUser { .. } | Self::Spend { .. } => None,
        }
    }
}

pub(super) struct LocalLease {
    pub(super) account: LeasedAccount,
    /// Locked while the store is asked to change this lease.
    pub(super) store_lock: Arc<tokio::sync::Mutex<()>>,
    /// Tokens needed by all calls that wait for the store.
    waiting: AtomicU64,
    state: Mutex<LeaseState>,
}

#[derive(Default)]
pub(super) struct LeaseState {
    pub(super) book: LeaseBook,
    near_cap: bool,
    /// After this time the store may have ended the lease.
    valid_until: Option<Instant>,
    /// The lease is raised when fewer tokens than this are free.
    low_mark: u64,
    is_raising: bool,
    raise_after: Option<Instant>,
    /// The last failure of the store.
    failed_at: Option<Instant>,
    is_returning: bool,
    /// The last time that the store had too few tokens left.
    rejection: Option<Rejection>,
    /// Start of the current minute of usage.
    minute: Option<Instant>,
    this_minute: u64,
    last_minute: u64,
    used_at: Option<Instant>,
    /// The cap of a budget and the time, of the last call.
    last_call: Option<(u64, Timestamp)>,
    /// The store may hold more than the book: a request failed, or a free amount was given up only here.
    is_unsure: bool,
    /// The store may have a row of the lease, which it writes with the first grant.
    has_row: bool,
}

/// A request to the store to change a lease.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeaseChange {
    /// The size of the lease when the store was asked.
    pub(super) believed: u64,
    cap: Option<u64>,
}

/// The store had fewer than `least` tokens left.
#[derive(Clone, Copy)]
pub(super) struct Rejection {
    pub(super) account: Account,
    pub(super) least: u64,
    /// When the store was asked.
    pub(super) asked_at: Instant,
}

impl LocalLease {
    pub(super) fn new(account: LeasedAccount) -> Self {
        let (store_lock, waiting, state) = (Arc::default(), AtomicU64::new(0), Mutex::default());
        Self { account, store_lock, waiting, state }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, LeaseState> {
        self.state.lock()
    }

    pub(super) fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Counts the tokens of a waiting call until the guard is dropped.
    pub(super) fn wait_for(self: &Arc<Self>, tokens: u64) -> WaitingTokens {
        self.waiting.fetch_add(tokens, Ordering::Relaxed);
        WaitingTokens { lease: Arc::clone(self), tokens }
    }
}

pub(super) struct WaitingTokens {
    lease: Arc<LocalLease>,
    tokens: u64,
}

impl Drop for WaitingTokens {
    fn drop(&mut self) {
        self.lease.waiting.fetch_sub(self.tokens, Ordering::Relaxed);
    }
}

impl LeaseState {
    /// Follows the cap of a budget as a call at `now` knows it. If it has changed, the free amount is given up, so that the next
    /// reservation asks the store.
    pub(super) fn follow_cap(&mut self, cap: u64, now: Timestamp) {
        if self.cap().is_some_and(|known| known != cap) {
            self.distrust();
        }
        self.last_call = Some((cap, now));
    }

    fn cap(&self) -> Option<u64> {
        self.last_call.map(|(cap, _)| cap)
    }

    /// When the last call was made, by the clock of the store.
    pub(super) fn called_at(&self) -> Timestamp {
        self.last_call.map(|(_, at)| at).unwrap_or_default()
    }

    /// Gives up the free amount, which the store holds until it is asked again.
    fn distrust(&mut self) {
        self.is_unsure |= self.book.give_up_free() > 0;
        (self.valid_until, self.rejection) = (None, None);
    }

    /// Begins a request to the store, which ends with [`Self::granted`], [`Self::failed`] or a returned amount.
    pub(super) fn begin_change(&mut self) -> LeaseChange {
        self.is_unsure = false;
        LeaseChange { believed: self.book.granted(), cap: self.cap() }
    }

    /// The request may have changed the lease in the store, or not.
    pub(super) fn failed(&mut self) {
        (self.is_unsure, self.has_row) = (true, true);
    }

    pub(super) fn is_unsure(&self) -> bool {
        self.is_unsure
    }

    /// Starts again after the lease has ended in the store.
    pub(super) fn reset(&mut self) {
        *self = Self { minute: self.minute, ..Self::default() };
    }

    pub(super) fn has_row(&self) -> bool {
        self.has_row
    }

    /// Whether it holds nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.book == LeaseBook::default() && self.valid_until.is_none() && !self.is_unsure
    }

    /// Reserves the tokens if they are free. The second value says whether the lease should be raised now.
    pub(super) fn take(&mut self, tokens: u64, now: Instant) -> (bool, bool) {
        if self.valid_until.is_none_or(|end| now >= end) {
            return (false, false);
        }
        let taken = self.book.reserve(tokens);
        self.used_at = Some(now);
        let may_raise = !self.near_cap && !self.is_raising && self.raise_after.is_none_or(|at| now >= at);
        let is_low = taken && may_raise && self.book.free() < self.low_mark;
        self.is_raising |= is_low;
        (taken, is_low)
    }

    /// Records the lease as the store has it now. What was asked for under another cap is not used.
    pub(super) fn granted(&mut self, change: LeaseChange, stored: &StoredLease, valid_until: Instant) {
        self.book.set_granted(stored.granted);
        self.has_row |= stored.granted > 0;
        self.near_cap = stored.near_cap;
        self.low_mark = if stored.near_cap { 0 } else { (stored.granted - change.believed) / 2 };
        // The store does not keep a lease that was never granted anything.
        if stored.granted > 0 || self.valid_until.is_some() {
            self.valid_until = Some(valid_until);
        }
        self.is_raising = false;
        self.rejection = None;
        if self.cap() != change.cap {
            self.distrust();
        }
    }

    pub(super) fn not_raised(&mut self, now: Instant) {
        self.is_raising = false;
        self.raise_after = Some(now + RAISE_BACKOFF);
    }

    pub(super) fn note_failure(&mut self, now: Instant) {
        self.failed_at = Some(now);
    }

    pub(super) fn has_failed_since(&self, moment: Instant) -> bool {
        self.failed_at.is_some_and(|at| at >= moment)
    }

    pub(super) fn renewed(&mut self, valid_until: Instant) {
        if self.valid_until.is_some() {
            self.valid_until = Some(valid_until);
        }
    }

    /// Settles a call. Returns the tokens used above its upper bound, and whether the free tokens should be returned.
    pub(super) fn settle(&mut self, reserved: u64, used: u64, now: Instant) -> (u64, bool) {
        let overrun = self.book.settle(reserved, used);
        self.turn_minute(now);
        self.this_minute = self.this_minute.saturating_add(used);
        self.used_at = Some(now);
        let should_return = self.near_cap && !self.is_returning && self.book.free() > 0;
        self.is_returning |= should_return;
        (overrun, should_return)
    }

    /// Releases the free tokens and begins a request with the new size of the lease. `None` if the store knows it.
    pub(super) fn release_free(&mut self) -> Option<LeaseChange> {
        self.is_returning = false;
        let has_released = self.book.give_up_free() > 0;
        (has_released || self.is_unsure).then(|| self.begin_change())
    }

    /// Tokens used in the last minute, or in the current one if that is more.
    pub(super) fn recent(&self, now: Instant) -> u64 {
        match self.minute {
            Some(began) if now < began + MINUTE => self.last_minute.max(self.this_minute),
            Some(began) if now < began + 2 * MINUTE => self.this_minute,
            _ => 0,
        }
    }

    fn turn_minute(&mut self, now: Instant) {
        let began = *self.minute.get_or_insert(now);
        if now >= began + MINUTE {
            self.last_minute = if now < began + 2 * MINUTE { self.this_minute } else { 0 };
            (self.this_minute, self.minute) = (0, Some(now));
        }
    }

    pub(super) fn is_idle(&self, now: Instant, limit: Duration) -> bool {
        self.used_at.is_none_or(|at| now.saturating_duration_since(at) >= limit)
    }

    /// Whether no call is running and the usage events of earlier calls have had time to reach the store.
    pub(super) fn is_over(&self, now: Instant, limit: Duration) -> bool {
        self.book.is_quiet() && self.is_idle(now, limit)
    }

    /// The account, if it was recently found to have fewer than `least` tokens left.
    pub(super) fn known_spent(&self, least: u64, now: Instant) -> Option<Account> {
        let Rejection { account, asked_at, .. } = self.rejection?;
        let is_recent = now.saturating_duration_since(asked_at) < SPENT_TTL;
        (is_recent && account.is_gone_for(least)).then_some(account)
    }

    /// The account, if the store was asked after `moment` and had too few tokens for a call that needs `least`.
    pub(super) fn rejected_since(&self, moment: Instant, least: u64) -> Option<Account> {
        let rejection = self.rejection.filter(|rejection| rejection.asked_at >= moment && rejection.least <= least)?;
        (self.book.free() < least).then_some(rejection.account)
    }

    pub(super) fn note_rejection(&mut self, rejection: Rejection) {
        self.rejection = Some(rejection);
    }

    pub(super) fn forget_rejection(&mut self) {
        self.rejection = None;
    }
}
