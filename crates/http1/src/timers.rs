//! Timers and stop signals that cost next to nothing while they do not fire.
//!
//! Polling a timer or a channel with every request or event would read the clock or take a lock each time. Instead the
//! future is polled once, which registers the task's waker, and afterwards only when a plain load shows that it may be
//! ready. This works because a connection, its handler and its body stay in one task, so the waker does not change.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep, sleep};

/// A future that is polled once and then again only when it may be ready.
struct PollOnce<F: ?Sized> {
    future: Pin<Box<F>>,
    is_registered: bool,
}

impl<F: Future + ?Sized> PollOnce<F> {
    fn new(future: Pin<Box<F>>) -> Self {
        Self { future, is_registered: false }
    }

    /// Unconstrained: tokio's cooperative budget must not suppress the only poll.
    fn poll(&mut self, cx: &mut Context<'_>, may_be_ready: impl FnOnce(&F) -> bool) -> Poll<F::Output> {
        if std::mem::replace(&mut self.is_registered, true) && !may_be_ready(&self.future) {
            return Poll::Pending;
        }
        pin!(unconstrained(self.future.as_mut())).poll(cx)
    }
}

/// Limits a pause between two events, without reading the clock at an event.
///
/// The timer counts ticks; an event only resets the count. With `limit` 8 s and 8 ticks, an event 3.5 s after the start
/// sets the count to 9, so the timer fires after the ninth tick from 3 s on: at 12 s, after a pause of 8.5 s. The limit
/// is thus exceeded by at most one tick, and some milliseconds of the runtime's timer.
pub struct IdleTimer {
    limit: Duration,
    ticks: u32,
    ticks_left: u32,
    /// Starts at the first poll.
    sleep: Option<PollOnce<Sleep>>,
}

impl IdleTimer {
    pub fn new(limit: Duration, ticks: u32) -> Self {
        Self { limit, ticks, ticks_left: ticks, sleep: None }
    }

    /// An event happened: the pause starts again. The current tick has partly passed, so it does not count.
    pub fn restart(&mut self) {
        self.ticks_left = self.ticks + 1;
    }

    /// Ready with the limit once the pause was too long. Must always be polled by the same task.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Duration> {
        let tick = self.limit / self.ticks;
        let timer = self.sleep.get_or_insert_with(|| PollOnce::new(Box::pin(sleep(tick))));
        loop {
            ready!(timer.poll(cx, Sleep::is_elapsed));
            self.ticks_left = self.ticks_left.saturating_sub(1);
            if self.ticks_left == 0 {
                return Poll::Ready(self.limit);
            }
            timer.future.as_mut().reset(Instant::now() + tick);
            timer.is_registered = false;
        }
    }
}

/// How far a peer lags behind what there is for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lag {
    /// Data has waited for it without a break for [`StallTimer::GRACE`]. Reported once, until it has caught up.
    Behind,
    /// It took too little in a window.
    Stalled,
}

/// Detects a peer that takes data too slowly, without reading the clock while it keeps up.
///
/// While data waits for the peer, it has to take [`StallTimer::MIN_BYTES_PER_SEC`] on average in each window. A window
/// begins when data starts to wait, and again at the end of the last one. Example: with a window of 120 s, a peer that stops
/// reading is detected after 120 to 240 s, and so is one that takes a byte per second.
///
/// A socket accepts more data only when much of what it has was read: on Linux in steps of about 128 KiB. A peer that reads
/// 1 KiB per second thus seems to take nothing for 112 s, so a shorter window detects peers that are only slow.
pub struct StallTimer {
    window: Duration,
    /// Bytes that the peer took in the current window.
    taken: usize,
    /// `None` while no data waits.
    blocked: Option<Blocked>,
    /// `None` until data first has to wait.
    sleep: Option<Pin<Box<Sleep>>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Blocked {
    /// Not for long.
    Briefly,
    /// [`Lag::Behind`] was reported.
    Behind,
}

impl StallTimer {
    /// Far below what a person reads, or any network delivers.
    pub const MIN_BYTES_PER_SEC: u32 = 512;
    /// Longer than a network usually takes to deliver what a socket has accepted.
    pub const GRACE: Duration = Duration::from_secs(1);

    pub fn new(window: Duration) -> Self {
        Self { window, taken: 0, blocked: None, sleep: None }
    }

    /// The peer took some data.
    pub fn took(&mut self, bytes: usize) {
        self.taken += bytes;
    }

    /// The peer took everything that there was for it; whether it had been behind.
    pub fn caught_up(&mut self) -> bool {
        self.blocked.take() == Some(Blocked::Behind)
    }

    /// Data waits for the peer: ready once it is behind, and again once it took too little in a window.
    pub fn poll_blocked(&mut self, cx: &mut Context<'_>) -> Poll<Lag> {
        let (window, grace) = (self.window, Self::GRACE.min(self.window));
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep(grace)));
        if self.blocked.is_none() {
            self.blocked = Some(Blocked::Briefly);
            self.taken = 0;
            sleep.as_mut().reset(Instant::now() + grace);
        }
        if self.blocked == Some(Blocked::Briefly) {
            ready!(sleep.as_mut().poll(cx));
            self.blocked = Some(Blocked::Behind);
            sleep.as_mut().reset(Instant::now() + (window - grace));
            return Poll::Ready(Lag::Behind);
        }
        let least = (window.as_secs_f64() * f64::from(Self::MIN_BYTES_PER_SEC)) as usize;
        loop {
            ready!(sleep.as_mut().poll(cx));
            if std::mem::take(&mut self.taken) < least.max(1) {
                return Poll::Ready(Lag::Stalled);
            }
            sleep.as_mut().reset(Instant::now() + window);
        }
    }
}

/// Reports that a `watch` channel has turned to `true`.
pub struct StopSignal {
    state: watch::Receiver<bool>,
    was_set: bool,
    wake: PollOnce<dyn Future<Output = ()> + Send>,
}

impl StopSignal {
    pub fn new(state: watch::Receiver<bool>) -> Self {
        let mut changes = state.clone();
        let wake = Box::pin(async move {
            let _ = changes.wait_for(|is_set| *is_set).await;
        });
        let was_set = *state.borrow();
        Self { state, was_set, wake: PollOnce::new(wake) }
    }

    pub fn is_set(&self) -> bool {
        self.was_set || (self.state.has_changed().unwrap_or(true) && *self.state.borrow())
    }

    /// Like [`Self::is_set`]; if it is not set, the task is woken when that changes. Must always be called by the same
    /// task.
    pub fn poll_is_set(&mut self, cx: &mut Context<'_>) -> bool {
        // Only the wake-up matters; the state is read below.
        let _ = self.wake.poll(cx, |_| false);
        self.is_set()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    #[tokio::test]
    async fn a_pause_is_never_cut_short() {
        let limit = Duration::from_millis(160);
        let started = Instant::now();
        let mut timer = IdleTimer::new(limit, 8);
        let early = tokio::time::timeout(Duration::from_millis(70), poll_fn(|cx| timer.poll(cx))).await;
        assert!(early.is_err());
        timer.restart();
        assert_eq!(poll_fn(|cx| timer.poll(cx)).await, limit);
        assert!(started.elapsed() >= Duration::from_millis(70) + limit, "{:?}", started.elapsed());
    }

    #[tokio::test]
    async fn a_peer_must_take_a_little_in_each_window_unless_it_has_caught_up() {
        let window = Duration::from_millis(400);
        let polled = |timer: &mut StallTimer| timer.poll_blocked(&mut Context::from_waker(std::task::Waker::noop()));
        let mut timer = StallTimer::new(window);
        assert_eq!(polled(&mut timer), Poll::Pending);
        timer.took(1_000);
        tokio::time::sleep(window).await;
        assert_eq!(polled(&mut timer), Poll::Ready(Lag::Behind));
        assert_eq!(polled(&mut timer), Poll::Pending, "it took enough, and a new window begins");
        assert!(timer.caught_up());
        tokio::time::sleep(window).await;
        assert_eq!(polled(&mut timer), Poll::Pending, "nothing was waiting for it");
        assert!(!timer.caught_up(), "it was not behind again");
        assert_eq!(polled(&mut timer), Poll::Pending);
        timer.took(1);
        assert_eq!(poll_fn(|cx| timer.poll_blocked(cx)).await, Lag::Behind);
        assert_eq!(poll_fn(|cx| timer.poll_blocked(cx)).await, Lag::Stalled);
    }

    #[tokio::test]
    async fn a_stop_is_seen_before_and_after_the_first_poll() {
        let sender = watch::Sender::new(false);
        let mut early = StopSignal::new(sender.subscribe());
        let polled = |signal: &mut StopSignal| signal.poll_is_set(&mut Context::from_waker(std::task::Waker::noop()));
        assert!(!polled(&mut early));
        sender.send_replace(true);
        let mut late = StopSignal::new(sender.subscribe());
        assert!(polled(&mut early) && polled(&mut late) && late.is_set());

        let (sender, receiver) = watch::channel(false);
        let mut orphan = StopSignal::new(receiver);
        drop(sender);
        assert!(!polled(&mut orphan), "a dropped sender does not stop anything");
    }
}
