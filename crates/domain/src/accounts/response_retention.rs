//! How long the responses of a workspace are stored.

use crate::time::Timestamp;

const MAX_DAYS: u8 = 30;
const DAY_MILLIS: i64 = 86_400_000;

/// The days for which responses are stored, from 1 to 30.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseRetention(u8);

/// A number of days is out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("responses are stored for 1 to {MAX_DAYS} days, or not at all (null)")]
pub struct ResponseRetentionError;

impl ResponseRetention {
    pub fn from_days(days: u64) -> Result<Self, ResponseRetentionError> {
        let days = u8::try_from(days).map_err(|_| ResponseRetentionError)?;
        (1..=MAX_DAYS).contains(&days).then_some(Self(days)).ok_or(ResponseRetentionError)
    }

    pub const fn days(self) -> u8 {
        self.0
    }

    /// Responses from before this moment are no longer kept.
    pub fn kept_from(self, now: Timestamp) -> Timestamp {
        now.plus_millis(-DAY_MILLIS * i64::from(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_kept_for_one_to_thirty_days() {
        for days in [1, 7, 30] {
            let retention = ResponseRetention::from_days(days).unwrap();
            assert_eq!(u64::from(retention.days()), days);
        }
        for days in [0, 31, 256 + 7, u64::MAX] {
            assert_eq!(ResponseRetention::from_days(days), Err(ResponseRetentionError), "{days}");
        }
        let week = ResponseRetention::from_days(7).unwrap();
        assert_eq!(week.kept_from(Timestamp::from_millis(8 * DAY_MILLIS)), Timestamp::from_millis(DAY_MILLIS));
    }
}
