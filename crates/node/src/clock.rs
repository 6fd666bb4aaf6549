//! The current time: that of the store, which all nodes share, and that of this machine.

use domain::Timestamp;
use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use store::{Store, StoreClock, StoreError};

/// One per process, because there is one store per process. Shows this machine's time until the store was asked.
static STORE_CLOCK: LazyLock<StoreClock> = LazyLock::new(|| StoreClock::starting_at(machine_time(), Instant::now()));

/// The store's time. All records and decisions use it.
pub fn now() -> Timestamp {
    STORE_CLOCK.time(Instant::now())
}

/// This machine's wall clock, which may be wrong.
pub fn machine_time() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

/// Asks the store for its time, and follows it. Returns by how many milliseconds this machine is ahead.
pub async fn follow(store: &Store) -> Result<i64, StoreError> {
    // Before the first response, so that the clock starts before the moments it is asked for.
    LazyLock::force(&STORE_CLOCK);
    let (sent, sent_here) = (Instant::now(), machine_time());
    let store_time = store.clock().await?;
    STORE_CLOCK.observe(store_time, sent, Instant::now());
    Ok(ahead_of(store_time, sent_here, machine_time()))
}

/// Milliseconds by which this machine is ahead, assuming that the other clock was read halfway between request and
/// response.
pub fn ahead_of(other: Timestamp, sent: Timestamp, received: Timestamp) -> i64 {
    let here = sent.millis() + (received.millis() - sent.millis()) / 2;
    here - other.millis()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_round_trip_is_subtracted() {
        let at = Timestamp::from_millis;
        assert_eq!(ahead_of(at(1_000), at(1_010), at(1_030)), 20);
        assert_eq!(ahead_of(at(5_000), at(1_000), at(1_000)), -4_000);
    }
}
