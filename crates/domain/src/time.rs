//! Moments, in milliseconds since 1970 UTC, written as RFC 3339.

use jiff::tz::TimeZone;
use std::fmt;

/// A moment in milliseconds since 1970 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// A text is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time such as 2026-01-31T12:00:00Z")]
pub struct TimestampError(pub String);

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

    /// Milliseconds since `earlier`; zero if a clock was set back.
    pub const fn millis_since(self, earlier: Self) -> u64 {
        let span = self.0.saturating_sub(earlier.0);
        if span < 0 { 0 } else { span.unsigned_abs() }
    }

    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        let moment: jiff::Timestamp = text.parse().map_err(|_| TimestampError(text.chars().take(64).collect()))?;
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

/// A calendar month in UTC, stored as a number such as 202611 and written as `2026-11`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Month(i32);

/// A text is not a month.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a month such as 2026-11")]
pub struct MonthError(pub String);

impl Month {
    /// Parses `2026-11`. Months before 1970 and after 9998 are rejected.
    pub fn parse(text: &str) -> Result<Self, MonthError> {
        let number = |part: &str, digits: usize| {
            let is_good = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
            is_good.then(|| part.parse::<i32>().ok()).flatten()
        };
        let read = || {
            let (year, month) = text.split_once('-')?;
            let (year, month) = (number(year, 4)?, number(month, 2)?);
            ((1970..9999).contains(&year) && (1..=12).contains(&month)).then_some(Self(year * 100 + month))
        };
        read().ok_or_else(|| MonthError(text.chars().take(64).collect()))
    }

    pub fn of(moment: Timestamp) -> Self {
        let date = jiff::Timestamp::from_millisecond(moment.0).unwrap_or_default().to_zoned(TimeZone::UTC).date();
        Self(i32::from(date.year()) * 100 + i32::from(date.month()))
    }

    pub const fn number(self) -> i32 {
        self.0
    }

    pub const fn next(self) -> Self {
        if self.0 % 100 == 12 { Self(self.0 + 100 - 11) } else { Self(self.0 + 1) }
    }

    pub const fn previous(self) -> Self {
        if self.0 % 100 == 1 { Self(self.0 - 100 + 11) } else { Self(self.0 - 1) }
    }

    /// Its first moment.
    pub fn start(self) -> Timestamp {
        let part = |number: i32| i16::try_from(number).unwrap_or(1);
        let month = i8::try_from(self.0 % 100).unwrap_or(1);
        let first = jiff::civil::Date::new(part(self.0 / 100), month, 1).ok();
        let start = first.and_then(|first| first.to_zoned(TimeZone::UTC).ok());
        Timestamp(start.map_or(0, |start| start.timestamp().as_millisecond()))
    }

    /// The first moment after it.
    pub fn end(self) -> Timestamp {
        self.next().start()
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.0 / 100, self.0 % 100)
    }
}

/// The length of the spans over which usage is summed, aligned to hours and days in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grain {
    Hour,
    Day,
}

impl Grain {
    pub const fn millis(self) -> i64 {
        match self {
            Self::Hour => 3_600_000,
            Self::Day => 24 * 3_600_000,
        }
    }

    /// The start of the hour or day that contains `moment`.
    pub const fn start_of(self, moment: Timestamp) -> Timestamp {
        Timestamp(moment.0 - moment.0.rem_euclid(self.millis()))
    }

    /// The first start of an hour or day at or after `moment`.
    pub const fn start_at_or_after(self, moment: Timestamp) -> Timestamp {
        self.start_of(Timestamp(moment.0 + self.millis() - 1))
    }
}

/// A day in UTC, written as `2026-11-30`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(Timestamp);

impl Day {
    pub const fn of(moment: Timestamp) -> Self {
        Self(Grain::Day.start_of(moment))
    }

    /// Its first moment.
    pub const fn start(self) -> Timestamp {
        self.0
    }

    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.plus_millis(Grain::Day.millis()))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = jiff::Timestamp::from_millisecond(self.0.0).unwrap_or_default();
        write!(f, "{}", start.to_zoned(TimeZone::UTC).date())
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
    fn a_clock_set_back_gives_no_negative_span() {
        assert_eq!(Timestamp::from_millis(5).millis_since(Timestamp::from_millis(9)), 0);
    }

    #[test]
    fn months_follow_the_calendar_in_utc() {
        for (moment, month, start, end) in [
            ("2026-01-30T23:59:00Z", 202_601, "2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z"),
            ("2026-12-31T23:59:59.999Z", 202_612, "2026-12-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"),
            ("2027-01-01T00:30:00+01:00", 202_612, "2026-12-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"),
        ] {
            let found = Month::of(Timestamp::parse(moment).unwrap());
            assert_eq!(found.number(), month);
            assert_eq!(found.next().previous(), found);
            assert_eq!(Month::parse(&found.to_string()), Ok(found));
            assert_eq!((found.start().to_string().as_str(), found.end().to_string().as_str()), (start, end));
        }
    }

    #[test]
    fn invalid_months_are_rejected() {
        for bad in ["", "2026", "2026-13", "2026-00", "2026-1", "26-01", "1969-12", "9999-01", "2026-01-01", "+026-01"]
        {
            assert!(Month::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn hours_and_days_start_in_utc() {
        let moment = Timestamp::parse("2026-03-01T23:59:59.999-01:00").unwrap();
        assert_eq!(Grain::Hour.start_of(moment).to_string(), "2026-03-02T00:00:00.000Z");
        assert_eq!(Grain::Hour.start_at_or_after(moment).to_string(), "2026-03-02T01:00:00.000Z");
        assert_eq!(Grain::Day.start_at_or_after(Grain::Day.start_of(moment)), Grain::Day.start_of(moment));
        assert_eq!(Day::of(moment).to_string(), "2026-03-02");
    }
}
