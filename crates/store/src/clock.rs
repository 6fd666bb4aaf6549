//! The store's time on this node: the one clock by which nodes compare moments.
//!
//! A node asks the store for its time now and then, and counts on with its own monotonic clock in between. So neither a
//! wrong wall clock nor one that is set while the node runs changes anything that nodes decide together.
//!
//! Example: the store shows 12:00:00.000 in a response that took 40 ms, so its time was between 12:00:00.000 and
//! 12:00:00.040 when the response arrived. A clock within that range is not touched; any other is set to its middle.

use domain::Timestamp;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

/// The store's time is rounded to milliseconds, and so is ours.
const ROUNDING_MILLIS: i64 = 1;

#[derive(Debug)]
pub struct StoreClock {
    base: Instant,
    /// The store's time at `base`.
    base_millis: AtomicI64,
}

impl StoreClock {
    /// A clock that showed `time` at the moment `at`, until the store was observed.
    pub fn starting_at(time: Timestamp, at: Instant) -> Self {
        Self { base: at, base_millis: AtomicI64::new(time.millis()) }
    }

    /// The store's time at the moment `at`, which is not before the start of this clock.
    pub fn time(&self, at: Instant) -> Timestamp {
        Timestamp::from_millis(self.base_millis.load(Ordering::Relaxed)).plus_millis(millis_between(self.base, at))
    }

    /// Follows the store, which showed `store_time` in the response to a request.
    pub fn observe(&self, store_time: Timestamp, sent: Instant, received: Instant) {
        let round_trip = millis_between(sent, received);
        let earliest = store_time.plus_millis(-ROUNDING_MILLIS);
        let latest = store_time.plus_millis(round_trip + ROUNDING_MILLIS);
        if !(earliest..=latest).contains(&self.time(received)) {
            let at_base = store_time.plus_millis(round_trip / 2 - millis_between(self.base, received));
            self.base_millis.store(at_base.millis(), Ordering::Relaxed);
        }
    }
}

fn millis_between(from: Instant, to: Instant) -> i64 {
    i64::try_from(to.saturating_duration_since(from).as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Month;
    use std::time::Duration;

    const MONTH_END: Timestamp = Timestamp::from_millis(1_796_083_200_000);

    fn after(base: Instant, millis: u64) -> Instant {
        base + Duration::from_millis(millis)
    }

    #[test]
    fn nodes_whose_clocks_are_apart_change_the_month_at_the_same_moment() {
        assert_eq!(Month::of(MONTH_END).start(), MONTH_END);
        let base = Instant::now();
        for wrong_by in [-40 * 86_400_000, -7_000, 0, 90_000, 40 * 86_400_000] {
            let clock = StoreClock::starting_at(MONTH_END.plus_millis(wrong_by), base);
            clock.observe(MONTH_END.plus_millis(-1_000), after(base, 100), after(base, 120));
            let month = |millis| Month::of(clock.time(after(base, millis)));
            // The response was 10 ms old, give or take as much.
            assert_eq!(month(1_090), Month::of(MONTH_END).previous(), "{wrong_by}");
            assert_eq!(month(1_130), Month::of(MONTH_END), "{wrong_by}");
        }
    }

    #[test]
    fn a_clock_that_agrees_within_the_round_trip_is_not_touched() {
        let base = Instant::now();
        let clock = StoreClock::starting_at(MONTH_END, base);
        for (sent, received, ahead) in [(10, 50, 0), (1_000, 1_100, -99), (2_000, 9_000, -3_000), (9_000, 9_001, 1)] {
            let shown = MONTH_END.plus_millis(i64::try_from(received).unwrap() + ahead);
            clock.observe(shown, after(base, sent), after(base, received));
            assert_eq!(clock.time(after(base, 9_500)), MONTH_END.plus_millis(9_500));
        }
        clock.observe(MONTH_END.plus_millis(3_000), after(base, 9_500), after(base, 9_510));
        assert_eq!(clock.time(after(base, 9_510)), MONTH_END.plus_millis(3_005), "the store's clock was set back");
    }
}
