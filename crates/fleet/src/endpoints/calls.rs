//! The calls that an endpoint has on this node, and how many it had over time.

use domain::autoscaler::TICK_MILLIS;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The mean is taken over one tick of the decider.
const WINDOW: Duration = Duration::from_millis(TICK_MILLIS);
/// How far apart the moments are from which a mean may be taken.
const MARK_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Calls {
    book: Mutex<Book>,
}

#[derive(Debug)]
struct Book {
    open: u32,
    /// When `open` last changed, and the call-microseconds until then.
    changed_at: Instant,
    call_micros: u64,
    /// Moments with the call-microseconds until then, oldest first, never none.
    marks: VecDeque<(Instant, u64)>,
    /// When the last call began or ended.
    active_at: Option<Instant>,
    /// How many have begun and ended.
    activity: u64,
}

impl Calls {
    pub(super) fn since(now: Instant) -> Self {
        let marks = VecDeque::from([(now, 0)]);
        Self {
            book: Mutex::new(Book { open: 0, changed_at: now, call_micros: 0, marks, active_at: None, activity: 0 }),
        }
    }

    pub(super) fn enter(&self, now: Instant) {
        self.book().change(now, |open| open + 1);
    }

    pub(super) fn leave(&self, now: Instant) {
        self.book().change(now, |open| open.saturating_sub(1));
    }

    pub(super) fn open(&self) -> u32 {
        self.book().open
    }

    /// A number that differs whenever a call has begun or ended.
    pub(super) fn activity(&self) -> u64 {
        self.book().activity
    }

    /// How long there has been no call; nothing if there never was one.
    pub(super) fn quiet_for(&self, now: Instant) -> Option<Duration> {
        let book = self.book();
        let active_at = book.active_at?;
        Some(if book.open > 0 { Duration::ZERO } else { now.saturating_duration_since(active_at) })
    }

    /// How many calls were open at once in the last tick, on average over time, in thousandths.
    pub(super) fn mean_milli(&self, now: Instant) -> u64 {
        let mut book = self.book();
        let whole = book.call_micros_until(now);
        while book.marks.get(1).is_some_and(|(next, _)| now.saturating_duration_since(*next) >= WINDOW) {
            book.marks.pop_front();
        }
        let (from, before) = book.marks.front().copied().unwrap_or((now, whole));
        if book.marks.back().is_none_or(|(last, _)| now.saturating_duration_since(*last) >= MARK_EVERY) {
            book.marks.push_back((now, whole));
        }
        match micros(now.saturating_duration_since(from)) {
            0 => u64::from(book.open) * 1_000,
            elapsed => u64::try_from(u128::from(whole - before) * 1_000 / u128::from(elapsed)).unwrap_or(u64::MAX),
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn change(&mut self, now: Instant, change: impl FnOnce(u32) -> u32) {
        self.call_micros = self.call_micros_until(now);
        self.changed_at = self.changed_at.max(now);
        self.open = change(self.open);
        self.active_at = Some(now);
        self.activity += 1;
    }

    fn call_micros_until(&self, now: Instant) -> u64 {
        self.call_micros + u64::from(self.open) * micros(now.saturating_duration_since(self.changed_at))
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_for_as_long_as_it_was_open() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let calls = Calls::since(start);
        assert_eq!((calls.mean_milli(start), calls.quiet_for(at(5))), (0, None));
        calls.enter(at(2_000));
        calls.enter(at(4_000));
        calls.leave(at(5_000));
        // 1 × 2 s, 2 × 1 s, 1 × 5 s in ten seconds.
        assert_eq!(calls.mean_milli(at(10_000)), 900);
        assert_eq!((calls.open(), calls.activity()), (1, 3));
        assert_eq!(calls.quiet_for(at(10_000)), Some(Duration::ZERO), "while one is open nothing is quiet");
        calls.leave(at(11_000));
        assert_eq!(calls.quiet_for(at(15_000)), Some(Duration::from_secs(4)));
    }

    #[test]
    fn what_is_older_than_a_tick_is_forgotten() {
        let start = Instant::now();
        let calls = Calls::since(start);
        calls.enter(start);
        for second in 1..=20 {
            assert_eq!(calls.mean_milli(start + Duration::from_secs(second)), 1_000);
        }
        calls.leave(start + Duration::from_secs(20));
        assert_eq!(calls.mean_milli(start + Duration::from_secs(25)), 500);
        assert_eq!(calls.mean_milli(start + Duration::from_secs(40)), 0);
        let book = calls.book();
        assert!(book.marks.len() <= 12, "{}", book.marks.len());
    }
}
