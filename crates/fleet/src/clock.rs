//! Wall-clock time for records that outlive the process that writes them.

use domain::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) fn now() -> Timestamp {
    timestamp(SystemTime::now())
}

pub(crate) fn timestamp(time: SystemTime) -> Timestamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
