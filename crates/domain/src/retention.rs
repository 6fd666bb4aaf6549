//! Retention of data that no bill needs.

use crate::series::Resolution;
use crate::time::Timestamp;
use std::time::Duration;

/// How long series and the request log are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Series per minute, per hour and per day.
    pub minutes: Duration,
    pub hours: Duration,
    pub days: Duration,
    /// The request log: usage events and rejected calls.
    pub requests: Duration,
}

impl Retention {
    /// Rows that start earlier may have been deleted.
    pub fn kept_from(&self, resolution: Resolution, now: Timestamp) -> Timestamp {
        let kept = match resolution {
            Resolution::Minute => self.minutes,
            Resolution::Hour => self.hours,
            Resolution::Day => self.days,
        };
        resolution.start_of(before(now, kept))
    }

    /// Calls received earlier may have been deleted.
    pub fn requests_kept_from(&self, now: Timestamp) -> Timestamp {
        before(now, self.requests)
    }
}

fn before(now: Timestamp, span: Duration) -> Timestamp {
    now.plus_millis(-i64::try_from(span.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_kept_until_its_whole_span_is_too_old() {
        let hour = Duration::from_secs(3_600);
        let kept = Retention { minutes: hour, hours: 24 * hour, days: 240 * hour, requests: 240 * hour };
        let now = Timestamp::parse("2026-11-20T10:30:30Z").unwrap();
        let from = |resolution| kept.kept_from(resolution, now).to_string();
        assert_eq!(from(Resolution::Minute), "2026-11-20T09:30:00.000Z");
        assert_eq!(from(Resolution::Hour), "2026-11-19T10:00:00.000Z");
        assert_eq!(from(Resolution::Day), "2026-11-10T00:00:00.000Z");
        assert_eq!(kept.requests_kept_from(now).to_string(), "2026-11-10T10:30:30.000Z");
    }
}
