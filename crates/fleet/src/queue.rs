//! Calls that wait for room at the replicas of a pool, in the order of [`FairQueue`].
//!
//! Only the first of them tries to get a slot, whenever something has changed: it has become the first, a call has left a
//! replica, or a replica or its engine has got better. So that calls which end have nothing to look up, the first call
//! marks the replicas before it goes to sleep ([`crate::Pool::await_room`]); a call that leaves a marked replica wakes it.
//!
//! ```text
//! first call: no slot, mark, still no slot, sleep      a call ends: leave the replica, is it marked? wake the first
//! first call: slot, out of the queue, wake the next
//! ```

use domain::CallClass;
use domain::fair_queue::{self, FairQueue, Newcomer, QueueBounds, QueueFullError, Ticket, WaitingCalls};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The bounds of each class. A queue of a serverless model keeps a place for every workspace.
const BOUNDS: QueueBounds = QueueBounds { of_workspace: 1_000, shared: 10_000 };
/// All calls of an endpoint are of one workspace, and their number is bounded before they get here.
const BOUNDS_OF_ENDPOINT: QueueBounds = QueueBounds { of_workspace: usize::MAX, shared: usize::MAX };
/// The first call tries again after this time, because a replica may be usable again without a sign of it.
const POLL_PERIOD: Duration = Duration::from_millis(500);
/// How fast the queue moves is measured over one to two of these.
const PACE_WINDOW: Duration = Duration::from_secs(10);

/// The waiting calls of a pool.
#[derive(Debug)]
pub struct Queue {
    /// The number of calls by class, in the order of [`CallClass::ALL`], to be read without the lock.
    counts: [AtomicUsize; CallClass::ALL.len()],
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    calls: FairQueue<Arc<Notify>>,
    pace: Pace,
}

/// How far a waiting call is from being served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlook {
    /// Calls that are probably served before it.
    pub ahead: usize,
    /// `None` if nothing was served recently.
    pub wait: Option<Duration>,
}

/// A call in the queue. It leaves on drop.
#[derive(Debug)]
pub struct QueuedCall {
    queue: Arc<Queue>,
    class: CallClass,
    /// `None` once it was served.
    ticket: Option<Ticket>,
    woken: Arc<Notify>,
}

/// What a call that waited was charged with. It is corrected on drop.
#[derive(Debug)]
pub struct QueueCharge {
    queue: Arc<Queue>,
    charge: fair_queue::QueueCharge,
    actual: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Self::bounded(BOUNDS)
    }
}

impl Queue {
    fn bounded(bounds: QueueBounds) -> Self {
        let calls = FairQueue::new(bounds);
        Self { counts: Default::default(), state: Mutex::new(State { calls, pace: Pace::default() }) }
    }

    pub(crate) fn of_endpoint() -> Self {
        Self::bounded(BOUNDS_OF_ENDPOINT)
    }

    /// Whether calls wait that come before a new one of this class.
    pub fn has_before(&self, class: CallClass) -> bool {
        self.counts[..=class as usize].iter().any(|count| count.load(Ordering::Relaxed) > 0)
    }

    /// Waiting calls of all classes.
    pub fn len(&self) -> usize {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waiting calls of a class, and what they will probably cost.
    pub fn totals(&self, class: CallClass) -> (usize, u64) {
        let state = self.state.lock();
        (state.calls.calls(class), state.calls.tokens(class))
    }

    /// What waits, by class and workspace.
    pub fn waiting(&self) -> Vec<WaitingCalls> {
        if self.is_empty() { Vec::new() } else { self.state.lock().calls.waiting() }
    }

    /// Puts a call in the queue.
    pub fn join(self: &Arc<Self>, newcomer: Newcomer) -> Result<QueuedCall, QueueFullError> {
        let (woken, class) = (Arc::new(Notify::new()), newcomer.class);
        let ticket = self.state.lock().calls.join(newcomer, Arc::clone(&woken))?;
        self.counts[class as usize].fetch_add(1, Ordering::Relaxed);
        Ok(QueuedCall { queue: Arc::clone(self), class, ticket: Some(ticket), woken })
    }

    /// Lets the first call try again.
    pub fn wake(&self) {
        if let Some(first) = self.state.lock().calls.first() {
            first.notify_one();
        }
    }

    /// How long this many calls take from now on.
    fn outlook(&self, state: &State, ahead: usize) -> Outlook {
        Outlook { ahead, wait: state.pace.time_for(ahead + 1, Instant::now()) }
    }

    /// What a call of this class would have to expect that could not join.
    pub fn outlook_for(&self, class: CallClass) -> Outlook {
        let state = self.state.lock();
        let ahead = CallClass::ALL.into_iter().filter(|other| *other <= class).map(|other| state.calls.calls(other));
        self.outlook(&state, ahead.sum())
    }
}

impl QueuedCall {
    pub fn is_first(&self) -> bool {
        self.ticket.as_ref().is_some_and(|ticket| self.queue.state.lock().calls.is_first(ticket))
    }

    /// Waits until the call should try to get a slot, if it is the first then.
    pub async fn woken(&self) {
        if self.is_first() {
            let _ = tokio::time::timeout(POLL_PERIOD, self.woken.notified()).await;
        } else {
            self.woken.notified().await;
        }
    }

    pub fn outlook(&self) -> Outlook {
        let state = self.queue.state.lock();
        let ahead = self.ticket.as_ref().map_or(0, |ticket| state.calls.ahead(ticket));
        self.queue.outlook(&state, ahead)
    }

    /// Leaves the queue with a slot, at this expected cost, and lets the next call try.
    pub fn serve(mut self, tokens: u64) -> Option<QueueCharge> {
        let ticket = self.ticket.take()?;
        let charge = {
            let mut state = self.queue.state.lock();
            state.pace.count(Instant::now());
            state.calls.serve(&ticket, tokens.max(1))
        };
        self.left();
        Some(QueueCharge { queue: Arc::clone(&self.queue), charge, actual: tokens.max(1) })
    }

    fn left(&self) {
        self.queue.counts[self.class as usize].fetch_sub(1, Ordering::Relaxed);
        self.queue.wake();
    }
}

impl Drop for QueuedCall {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.queue.state.lock().calls.leave(&ticket);
            self.left();
        }
    }
}

impl QueueCharge {
    /// What the call has cost. Without this, it has cost what was expected.
    pub fn used(&mut self, tokens: u64) {
        self.actual = tokens.max(1);
    }
}

impl Drop for QueueCharge {
    fn drop(&mut self) {
        self.queue.state.lock().calls.end(&self.charge, self.actual);
        // Another call may be the first now.
        self.queue.wake();
    }
}

/// How many calls a queue serves per second: those of the current window and of the one before.
#[derive(Debug, Default)]
struct Pace {
    began: Option<Instant>,
    current: u32,
    before: u32,
}

impl Pace {
    fn count(&mut self, now: Instant) {
        let began = *self.began.get_or_insert(now);
        let elapsed = now.saturating_duration_since(began);
        if elapsed >= PACE_WINDOW {
            self.before = if elapsed < 2 * PACE_WINDOW { self.current } else { 0 };
            (self.began, self.current) = (Some(now), 0);
        }
        self.current += 1;
    }

    /// The time in which this many calls are served; `None` if none was recently.
    fn time_for(&self, calls: usize, now: Instant) -> Option<Duration> {
        let elapsed = now.saturating_duration_since(self.began?);
        if elapsed >= 2 * PACE_WINDOW {
            return None;
        }
        let over = if self.before > 0 { elapsed + PACE_WINDOW } else { elapsed.max(Duration::from_secs(1)) };
        let served = f64::from(self.current + self.before);
        Some(Duration::from_secs_f64((over.as_secs_f64() * calls as f64 / served).min(86_400.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::caller::Actor;
    use domain::{KeyId, QueueWeight, Timestamp, WorkspaceId};

    const NOW: Timestamp = Timestamp::from_millis(1);

    fn newcomer(class: CallClass, owner: u128) -> Newcomer {
        let actor = Actor::Key(KeyId::new(NOW, 1));
        let workspace = WorkspaceId::new(NOW, owner);
        Newcomer { class, workspace, weight: QueueWeight::default(), actor, tokens: 100, since: Instant::now() }
    }

    #[tokio::test]
    async fn the_first_call_is_woken_when_it_becomes_the_first() {
        let queue = Arc::new(Queue::default());
        let batch = queue.join(newcomer(CallClass::Batch, 1)).unwrap();
        assert!(batch.is_first() && queue.has_before(CallClass::Batch) && !queue.has_before(CallClass::Flex));
        let interactive = queue.join(newcomer(CallClass::Interactive, 2)).unwrap();
        assert!(interactive.is_first() && !batch.is_first() && queue.has_before(CallClass::Flex));
        assert_eq!((batch.outlook().ahead, queue.len()), (1, 2));
        drop(interactive);
        let woken = tokio::time::timeout(POLL_PERIOD / 2, batch.woken()).await;
        assert!(woken.is_ok() && batch.is_first());
        let charge = batch.serve(50).unwrap();
        assert!(queue.is_empty());
        drop(charge);
        assert_eq!(queue.totals(CallClass::Batch), (0, 0));
    }

    #[tokio::test]
    async fn a_correction_that_changes_the_first_call_wakes_it() {
        let queue = Arc::new(Queue::default());
        let [one, other] = [1, 2].map(|owner| queue.join(newcomer(CallClass::Flex, owner)).unwrap());
        let next = queue.join(newcomer(CallClass::Flex, 1)).unwrap();
        let mut charge = one.serve(10).unwrap();
        let charged = other.serve(100).unwrap();
        let last = queue.join(newcomer(CallClass::Flex, 2)).unwrap();
        next.woken().await;
        assert!(next.is_first() && !last.is_first());
        charge.used(1_000);
        drop(charge);
        let woken = tokio::time::timeout(POLL_PERIOD / 2, last.woken()).await;
        assert!(woken.is_ok() && last.is_first());
        drop(charged);
    }

    #[test]
    fn the_expected_wait_follows_what_was_served_recently() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut pace = Pace::default();
        assert_eq!(pace.time_for(1, start), None);
        (0..20).for_each(|second| pace.count(at(second)));
        assert_eq!(pace.time_for(10, at(20)), Some(Duration::from_secs(10)));
        assert_eq!(pace.time_for(10, at(60)), None, "it has come to a halt");
        pace.count(at(100));
        assert_eq!(pace.time_for(3, at(100)), Some(Duration::from_secs(3)));
    }
}
