//! This machine's clock, which dates the folders of replicas, and its distance to the store's.

use domain::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

/// A smaller distance is that of two readings one after another, or of a clock that is right.
const MIN_SKEW_MILLIS: u64 = 1_000;

/// Wall-clock time for records that outlive the process that writes them.
pub(crate) fn now() -> Timestamp {
    timestamp(SystemTime::now())
}

pub(crate) fn timestamp(time: SystemTime) -> Timestamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// How far a clock that shows `here` is ahead of the store's; 0 if both are about right.
pub(crate) fn millis_ahead(here: Timestamp, store_now: Timestamp) -> i64 {
    let ahead = here.millis() - store_now.millis();
    if ahead.unsigned_abs() < MIN_SKEW_MILLIS { 0 } else { ahead }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_wrong_clock_is_corrected() {
        let at = Timestamp::from_millis;
        for (here, ahead) in [(10_000, 0), (10_999, 0), (9_001, 0), (11_000, 1_000), (-7_190_000, -7_200_000)] {
            assert_eq!(millis_ahead(at(here), at(10_000)), ahead, "{here}");
        }
    }
}
