//! Wall-clock time for records that outlive the process that writes them.

use domain::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

pub(in crate::drivers) fn now() -> Timestamp {
    moment(SystemTime::now())
}

pub(super) fn moment(time: SystemTime) -> Timestamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Moments in files, as RFC 3339.
pub(super) mod text {
    use domain::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de};

    pub(in super::super) fn serialize<S: Serializer>(moment: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        moment.serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(deserializer)?;
        Timestamp::parse(&text).map_err(de::Error::custom)
    }
}
