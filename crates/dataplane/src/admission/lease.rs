//! One lease as this node holds it.

use domain::quota::{Account, LeaseBook};
use domain::{Month, WorkspaceId};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);
/// A cap that is spent is looked at again after so long, should nothing be heard of a change.
const SPENT_TIME: Duration = Duration::from_secs(1);
/// A lease that could not be raised is not asked for again at once.
const RAISE_PAUSE: Duration = Duration::from_millis(500);

pub(super) struct Held {
    pub(super) workspace: WorkspaceId,
    pub(super) month: Month,
    /// Held by whoever asks the store about this lease.
    pub(super) asking: Arc<tokio::sync::Mutex<()>>,
    /// What all calls that wait for the store would need.
    waiting: AtomicU64,
    state: Mutex<State>,
}

pub(super) struct State {
    pub(super) book: LeaseBook,
    near_cap: bool,
    /// Past this the store may have given the lease up.
    good_until: Option<Instant>,
    /// Below so much, the lease is raised.
    low_mark: u64,
    raising: bool,
    raise_after: Option<Instant>,
    /// When the store last did not answer.
    failed_at: Option<Instant>,
    returning: bool,
    spent: Option<(Account, Instant)>,
    /// Tokens used in the minute that began then, and in the one before.
    minute: Option<Instant>,
    this_minute: u64,
    last_minute: u64,
    used_at: Option<Instant>,
}

impl Held {
    pub(super) fn new(workspace: WorkspaceId, month: Month) -> Self {
        let state = State {
            book: LeaseBook::default(),
            near_cap: false,
            good_until: None,
            low_mark: 0,
            raising: false,
            raise_after: None,
            failed_at: None,
            returning: false,
            spent: None,
            minute: None,
            this_minute: 0,
            last_minute: 0,
            used_at: None,
        };
        Self { workspace, month, asking: Arc::default(), waiting: AtomicU64::new(0), state: Mutex::new(state) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Counts a call that waits, until the guard is dropped.
    pub(super) fn wait_for(self: &Arc<Self>, tokens: u64) -> Waiting {
        self.waiting.fetch_add(tokens, Ordering::Relaxed);
        Waiting { held: Arc::clone(self), tokens }
    }
}

pub(super) struct Waiting {
    held: Arc<Held>,
    tokens: u64,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.held.waiting.fetch_sub(self.tokens, Ordering::Relaxed);
    }
}

impl State {
    /// Sets so much aside, if it is there. Tells also whether the lease should be raised now.
    pub(super) fn take(&mut self, tokens: u64, now: Instant) -> (bool, bool) {
        if self.good_until.is_none_or(|end| now >= end) {
            return (false, false);
        }
        let taken = self.book.reserve(tokens);
        self.used_at = Some(now);
        let may_raise = !self.near_cap && !self.raising && self.raise_after.is_none_or(|at| now >= at);
        let is_low = taken && may_raise && self.book.free() < self.low_mark;
        self.raising |= is_low;
        (taken, is_low)
    }

    /// The store holds so much now, of which so much is new.
    pub(super) fn granted(&mut self, granted: u64, near_cap: bool, added: u64, good_until: Instant) {
        self.book.set_granted(granted);
        self.near_cap = near_cap;
        self.low_mark = if near_cap { 0 } else { added / 2 };
        self.good_until = Some(good_until);
        self.raising = false;
        self.spent = None;
    }

    pub(super) fn not_raised(&mut self, now: Instant) {
        self.raising = false;
        self.raise_after = Some(now + RAISE_PAUSE);
    }

    pub(super) fn note_failure(&mut self, now: Instant) {
        self.failed_at = Some(now);
    }

    /// Whether the store was asked and did not answer after that moment.
    pub(super) fn has_failed_since(&self, moment: Instant) -> bool {
        self.failed_at.is_some_and(|at| at >= moment)
    }

    pub(super) fn renewed(&mut self, good_until: Instant) {
        if self.good_until.is_some() {
            self.good_until = Some(good_until);
        }
    }

    /// A call ended. Returns what it used beyond its bound, and whether what it left should go back soon.
    pub(super) fn settle(&mut self, reserved: u64, used: u64, now: Instant) -> (u64, bool) {
        let overrun = self.book.settle(reserved, used);
        self.turn_minute(now);
        self.this_minute = self.this_minute.saturating_add(used);
        self.used_at = Some(now);
        let goes_back = self.near_cap && !self.returning && self.book.free() > 0;
        self.returning |= goes_back;
        (overrun, goes_back)
    }

    /// Gives up what is free; the lease is so large from now on. `None` when there is nothing to give.
    pub(super) fn give_up_free(&mut self) -> Option<u64> {
        self.returning = false;
        (self.book.give_up_free() > 0).then(|| self.book.granted())
    }

    /// What was used in the last minute, or in this one if that is more.
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

    /// No call is under way, and the events of those that were have had the time to reach the store.
    pub(super) fn is_over(&self, now: Instant, limit: Duration) -> bool {
        self.book.is_quiet() && self.is_idle(now, limit)
    }

    /// The account, when it is certain that it has no room for so much.
    pub(super) fn known_spent(&self, least: u64, now: Instant) -> Option<Account> {
        let (account, at) = self.spent?;
        let certain = account.is_spent_for(least) && now.saturating_duration_since(at) < SPENT_TIME;
        certain.then_some(account)
    }

    pub(super) fn note_spent(&mut self, account: Account, now: Instant) {
        self.spent = Some((account, now));
    }

    pub(super) fn forget_spent(&mut self) {
        self.spent = None;
    }
}
