//! Moments, in milliseconds since 1970 UTC, written as RFC 3339.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time such as 2026-01-31T12:00:00Z")]
pub struct BadTime(pub String);

impl Timestamp {
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn millis(self) -> i64 {
        self.0
    }

    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// Milliseconds from `earlier` to here; never negative, also when a clock was set back.
    pub const fn millis_since(self, earlier: Self) -> u64 {
        let span = self.0.saturating_sub(earlier.0);
        if span < 0 { 0 } else { span.unsigned_abs() }
    }

    pub fn parse(text: &str) -> Result<Self, BadTime> {
        let moment: jiff::Timestamp = text.parse().map_err(|_| BadTime(text.chars().take(64).collect()))?;
        Ok(Self(moment.as_millisecond()))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        write!(f, "{moment:.3}")
    }
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_and_written_as_rfc_3339() {
        let moment = Timestamp::parse("2026-01-30T23:59:00+01:00").unwrap();
        assert_eq!(moment.to_string(), "2026-01-30T22:59:00.000Z");
        assert!(Timestamp::parse("yesterday").is_err());
    }

    #[test]
    fn a_clock_that_was_set_back_gives_no_negative_span() {
        assert_eq!(Timestamp::from_millis(5).millis_since(Timestamp::from_millis(9)), 0);
    }
}
