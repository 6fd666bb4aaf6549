//! Calls that wait for bytes of a replica, and what ends a wait early: its deadline, a replica that is down, the end of the
//! process.
//!
//! A timer and a subscription for each call would cost more than most steps of a call. So the waiting calls of a core are in
//! one list, and as long as there are any, one task looks at them every [`TICK`].

use fleet::Backend;
use fleet::backend::Health;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Waits end up to this much later than they should.
const TICK: Duration = Duration::from_millis(250);

/// The longest silence of an engine that health probes report as down. It may have got SIGTERM, and keep its connections
/// without sending anything.
pub(crate) const SILENCE_WHEN_DOWN: Duration = Duration::from_secs(5);

/// What a call waits for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WaitFor {
    /// The beginning of the response.
    Response { until: Instant },
    /// The next event of a stream.
    Event,
}

/// Why a wait ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitEnd {
    TimedOut,
    /// The replica is down: for [`SILENCE_WHEN_DOWN`] if the response has not begun, else it was just noticed, which is
    /// reported once.
    Down,
    /// The process is about to exit, and streams must end.
    Cut,
}

/// The waiting calls of one core.
#[derive(Clone, Default)]
pub(crate) struct Waits(Arc<Shared>);

struct Shared {
    list: Mutex<List>,
    /// How many waits were ended early. A call looks at its entry only if this has changed.
    ended: AtomicU64,
    cut: watch::Sender<bool>,
    started: Instant,
    /// Milliseconds from `started` until the last tick: a clock that costs less than that of the system.
    ticked: AtomicU64,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            list: Mutex::default(),
            ended: AtomicU64::new(0),
            cut: watch::Sender::default(),
            started: Instant::now(),
            ticked: AtomicU64::new(0),
        }
    }
}

#[derive(Default)]
struct List {
    entries: Vec<Option<Entry>>,
    /// The entries that are `None`.
    free: Vec<usize>,
    is_ticking: bool,
}

struct Entry {
    waker: Waker,
    replica: Arc<Backend>,
    what: WaitFor,
    down_since: Option<Instant>,
    /// Not taken by the call yet.
    end: Option<WaitEnd>,
}

impl Waits {
    /// Ends all streams, also those that begin later.
    pub(crate) fn cut(&self) {
        self.0.cut.send_replace(true);
        for entry in self.0.list.lock().entries.iter_mut().flatten() {
            if matches!(entry.what, WaitFor::Event) {
                entry.end = Some(WaitEnd::Cut);
                self.0.ended.fetch_add(1, Ordering::Relaxed);
                entry.waker.wake_by_ref();
            }
        }
    }

    /// Turns true when streams must end.
    pub(crate) fn watch_cut(&self) -> watch::Receiver<bool> {
        self.0.cut.subscribe()
    }
}

impl Shared {
    fn note_time(&self, now: Instant) {
        let millis = now.saturating_duration_since(self.started).as_millis();
        self.ticked.store(u64::try_from(millis).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Looks at all calls, and returns whether there are any.
    fn tick(&self, now: Instant) -> bool {
        self.note_time(now);
        let mut list = self.list.lock();
        for entry in list.entries.iter_mut().flatten() {
            if entry.look(now) {
                self.ended.fetch_add(1, Ordering::Relaxed);
                entry.waker.wake_by_ref();
            }
        }
        list.is_ticking = list.free.len() < list.entries.len();
        list.is_ticking
    }
}

impl Entry {
    /// Whether the wait ends now.
    fn look(&mut self, now: Instant) -> bool {
        let was_down = self.down_since.is_some();
        let is_down = self.replica.health() == Health::Down;
        self.down_since = is_down.then(|| self.down_since.unwrap_or(now));
        let end = match self.what {
            WaitFor::Response { until } if now >= until => Some(WaitEnd::TimedOut),
            WaitFor::Response { .. } => {
                self.down_since.filter(|since| now - *since >= SILENCE_WHEN_DOWN).map(|_| WaitEnd::Down)
            }
            WaitFor::Event => (is_down && !was_down).then_some(WaitEnd::Down),
        };
        self.end = self.end.or(end);
        end.is_some()
    }
}

/// The wait of one call. Costs nothing before its first poll.
pub(crate) struct Wait {
    waits: Waits,
    /// The place of the entry in the list.
    index: Option<usize>,
    /// The number of ended waits when the entry was last looked at.
    seen: u64,
}

impl Wait {
    pub(crate) fn new(waits: &Waits) -> Self {
        Self { waits: waits.clone(), index: None, seen: 0 }
    }

    /// A new wait, of the same call for another replica.
    pub(crate) fn again(self) -> Self {
        Self::new(&self.waits)
    }

    /// The time, at most about a [`TICK`] ago.
    pub(crate) fn now(&self) -> Instant {
        let shared = &self.waits.0;
        match self.index {
            // As long as there is an entry, the list is looked at.
            Some(_) => shared.started + Duration::from_millis(shared.ticked.load(Ordering::Relaxed)),
            None => Instant::now(),
        }
    }

    /// To be polled whenever there is nothing to read; must always be polled by the same task.
    pub(crate) fn poll(&mut self, cx: &Context<'_>, replica: &Arc<Backend>, what: WaitFor) -> Poll<WaitEnd> {
        let shared = &self.waits.0;
        let Some(index) = self.index else {
            return self.begin(cx, replica, what);
        };
        let ended = shared.ended.load(Ordering::Relaxed);
        if std::mem::replace(&mut self.seen, ended) == ended {
            return Poll::Pending;
        }
        let end = shared.list.lock().entries[index].as_mut().and_then(|entry| entry.end.take());
        end.map_or(Poll::Pending, Poll::Ready)
    }

    fn begin(&mut self, cx: &Context<'_>, replica: &Arc<Backend>, what: WaitFor) -> Poll<WaitEnd> {
        let shared = &self.waits.0;
        let entry =
            Entry { waker: cx.waker().clone(), replica: Arc::clone(replica), what, down_since: None, end: None };
        let mut list = shared.list.lock();
        // Read under the lock: `cut` ends what is in the list.
        if matches!(what, WaitFor::Event) && *shared.cut.borrow() {
            return Poll::Ready(WaitEnd::Cut);
        }
        self.seen = shared.ended.load(Ordering::Relaxed);
        let index = match list.free.pop() {
            Some(index) => {
                list.entries[index] = Some(entry);
                index
            }
            None => {
                list.entries.push(Some(entry));
                list.entries.len() - 1
            }
        };
        self.index = Some(index);
        if !list.is_ticking
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            list.is_ticking = true;
            shared.note_time(Instant::now());
            let shared = Arc::clone(shared);
            runtime.spawn(async move {
                loop {
                    tokio::time::sleep(TICK).await;
                    if !shared.tick(Instant::now()) {
                        return;
                    }
                }
            });
        }
        Poll::Pending
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(index) = self.index {
            let mut list = self.waits.0.list.lock();
            let entry = list.entries[index].take();
            list.free.push(index);
            drop(list);
            drop(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::model::Upstream;

    fn replica() -> Arc<Backend> {
        Arc::new(Backend::new("r", Upstream::plain("http://127.0.0.1:1/v1".to_owned(), "m")).unwrap())
    }

    fn poll(wait: &mut Wait, replica: &Arc<Backend>, what: WaitFor) -> Poll<WaitEnd> {
        wait.poll(&Context::from_waker(Waker::noop()), replica, what)
    }

    #[test]
    fn the_wait_for_a_response_ends_at_its_deadline_or_when_its_replica_stays_down() {
        let (waits, replica, start) = (Waits::default(), replica(), Instant::now());
        let what = WaitFor::Response { until: start + Duration::from_secs(60) };
        let (mut first, mut second) = (Wait::new(&waits), Wait::new(&waits));
        assert!(poll(&mut first, &replica, what).is_pending() && poll(&mut second, &replica, what).is_pending());
        let after = |wait: &mut Wait, seconds| {
            waits.0.tick(start + Duration::from_secs(seconds));
            poll(wait, &replica, what)
        };
        replica.set_health(Health::Down);
        assert!(after(&mut first, 1).is_pending());
        replica.set_health(Health::Up);
        assert!(after(&mut first, 2).is_pending());
        replica.set_health(Health::Down);
        assert!(after(&mut first, 3).is_pending() && after(&mut first, 7).is_pending());
        assert_eq!(after(&mut first, 8), Poll::Ready(WaitEnd::Down), "five seconds without an interruption");
        drop(first);
        replica.set_health(Health::Up);
        let mut third = Wait::new(&waits);
        assert!(poll(&mut third, &replica, what).is_pending(), "it takes the place of the first");
        assert_eq!(after(&mut third, 60), Poll::Ready(WaitEnd::TimedOut));
        drop((second, third));
        assert!(!waits.0.tick(start), "no call waits any more");
    }

    #[test]
    fn a_stream_learns_once_that_its_replica_is_down_and_ends_with_the_process() {
        let (waits, replica, start) = (Waits::default(), replica(), Instant::now());
        let mut wait = Wait::new(&waits);
        assert!(poll(&mut wait, &replica, WaitFor::Event).is_pending());
        replica.set_health(Health::Down);
        assert!(waits.0.tick(start));
        assert_eq!(poll(&mut wait, &replica, WaitFor::Event), Poll::Ready(WaitEnd::Down));
        waits.0.tick(start + Duration::from_secs(100));
        assert!(poll(&mut wait, &replica, WaitFor::Event).is_pending());
        waits.cut();
        assert_eq!(poll(&mut wait, &replica, WaitFor::Event), Poll::Ready(WaitEnd::Cut));
        assert_eq!(poll(&mut Wait::new(&waits), &replica, WaitFor::Event), Poll::Ready(WaitEnd::Cut), "a later one");
    }

    #[tokio::test]
    async fn one_task_looks_at_all_waiting_calls_and_keeps_the_time() {
        let (waits, replica) = (Waits::default(), replica());
        let mut wait = Wait::new(&waits);
        let until = Instant::now();
        assert!(wait.now() >= until);
        let end = std::future::poll_fn(|cx| wait.poll(cx, &replica, WaitFor::Response { until })).await;
        assert_eq!(end, WaitEnd::TimedOut);
        let began = Instant::now();
        let is_later = async {
            while wait.now() < began {
                tokio::time::sleep(TICK / 10).await;
            }
        };
        tokio::time::timeout(40 * TICK, is_later).await.expect("the time goes on while a call waits");
        assert!(wait.now() <= Instant::now());
    }
}
