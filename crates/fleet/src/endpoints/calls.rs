//! Open calls of an endpoint on this node, and their mean over time.
//!
//! The mean is the integral of open calls over time, divided by the length of the window. Example: one call open for 2 s and
//! two for 1 s within 10 s are 4 call-seconds, a mean of 0.4.

use domain::autoscaler::TICK_MILLIS;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The mean covers one tick of the autoscaler.
const WINDOW: Duration = Duration::from_millis(TICK_MILLIS);
/// Time between two possible starts of the window.
const MARK_PERIOD: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Calls {
    counters: Mutex<Counters>,
}

#[derive(Debug)]
struct Counters {
    open: u32,
    /// When `open` last changed, and the call-microseconds until then.
    changed_at: Instant,
    call_micros: u64,
    /// Times with the call-microseconds until then, oldest first, never empty.
    marks: VecDeque<(Instant, u64)>,
    /// When a call last started or ended.
    active_at: Option<Instant>,
    /// Number of starts and ends.
    activity: u64,
}

impl Calls {
    pub(super) fn since(now: Instant) -> Self {
        let marks = VecDeque::from([(now, 0)]);
        Self {
            counters: Mutex::new(Counters {
                open: 0,
                changed_at: now,
                call_micros: 0,
                marks,
                active_at: None,
                activity: 0,
            }),
        }
    }

    pub(super) fn enter(&self, now: Instant) {
        self.counters.lock().change(now, |open| open + 1);
    }

    pub(super) fn leave(&self, now: Instant) {
        self.counters.lock().change(now, |open| open.saturating_sub(1));
    }

    pub(super) fn open(&self) -> u32 {
        self.counters.lock().open
    }

    /// A number that changes whenever a call starts or ends.
    pub(super) fn activity(&self) -> u64 {
        self.counters.lock().activity
    }

    /// Time since the last call; zero while one is open, `None` if there was none.
    pub(super) fn quiet_for(&self, now: Instant) -> Option<Duration> {
        let counters = self.counters.lock();
        let active_at = counters.active_at?;
        Some(if counters.open > 0 { Duration::ZERO } else { now.saturating_duration_since(active_at) })
    }

    /// Mean number of open calls over the last tick, in thousandths.
    pub(super) fn mean_milli(&self, now: Instant) -> u64 {
        let mut counters = self.counters.lock();
        let total = counters.call_micros_until(now);
        while counters.marks.get(1).is_some_and(|(next, _)| now.saturating_duration_since(*next) >= WINDOW) {
            counters.marks.pop_front();
        }
        let (start, total_at_start) = counters.marks.front().copied().unwrap_or((now, total));
        if counters.marks.back().is_none_or(|(last, _)| now.saturating_duration_since(*last) >= MARK_PERIOD) {
            counters.marks.push_back((now, total));
        }
        match micros(now.saturating_duration_since(start)) {
            0 => u64::from(counters.open) * 1_000,
            elapsed => {
                u64::try_from(u128::from(total - total_at_start) * 1_000 / u128::from(elapsed)).unwrap_or(u64::MAX)
            }
        }
    }
}

impl Counters {
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
        assert_eq!(calls.quiet_for(at(10_000)), Some(Duration::ZERO), "not quiet while one is open");
        calls.leave(at(11_000));
        assert_eq!(calls.quiet_for(at(15_000)), Some(Duration::from_secs(4)));
    }

    #[test]
    fn calls_before_the_last_tick_do_not_count() {
        let start = Instant::now();
        let calls = Calls::since(start);
        calls.enter(start);
        for second in 1..=20 {
            assert_eq!(calls.mean_milli(start + Duration::from_secs(second)), 1_000);
        }
        calls.leave(start + Duration::from_secs(20));
        assert_eq!(calls.mean_milli(start + Duration::from_secs(25)), 500);
        assert_eq!(calls.mean_milli(start + Duration::from_secs(40)), 0);
        let marks = calls.counters.lock().marks.len();
        assert!(marks <= 12, "{marks}");
    }
}
