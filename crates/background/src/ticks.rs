//! Moments at which the periodic work of a process runs together, so that an idle process rarely wakes up.

use std::sync::LazyLock;
use std::time::Duration;
use tokio::time::Instant;

/// The time between two moments. Shorter delays are exact.
const TICK: Duration = Duration::from_millis(500);

/// The end of a delay: the last tick in it, if it is as long as a tick. So a loop with a period of 2 s that ends its round 3 ms
/// after a tick begins the next one 1,997 ms later, on the tick.
pub fn after(delay: Duration) -> Instant {
    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    end_of(delay, *FIRST, Instant::now())
}

/// Waits for [`after`].
pub async fn sleep(delay: Duration) {
    tokio::time::sleep_until(after(delay)).await;
}

fn end_of(delay: Duration, first: Instant, now: Instant) -> Instant {
    let end = now + delay;
    let past_tick = end.saturating_duration_since(first).as_nanos() % TICK.as_nanos();
    let aligned = end - Duration::from_nanos(u64::try_from(past_tick).unwrap_or(0));
    if delay < TICK || aligned <= now { end } else { aligned }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_delays_end_on_a_tick_and_short_ones_are_exact() {
        let (first, millis) = (Instant::now(), Duration::from_millis);
        for (now, delay, end) in [(0, 500, 500), (3, 2_000, 2_000), (400, 1_000, 1_000), (3, 499, 502), (3, 10, 13)] {
            assert_eq!(end_of(millis(delay), first, first + millis(now)), first + millis(end), "{now} {delay}");
        }
        assert!(end_of(millis(500), first, first + millis(499)) > first + millis(499));
    }
}
