//! The points of a chart, and the resolution of the rows they are made of.

use crate::span::Span;
use crate::time::Timestamp;

/// Most points of a chart. A longer span needs longer steps.
pub const MAX_POINTS: usize = 1_500;
/// Most points of a chart whose step was not specified.
const DEFAULT_POINTS: i64 = 240;
const MINUTE: i64 = 60_000;
const MAX_STEP_SECS: i64 = 31 * 86_400;
/// Steps that are chosen by default.
const DEFAULT_STEPS_SECS: [i64; 8] = [60, 300, 900, 3_600, 3 * 3_600, 6 * 3_600, 86_400, 7 * 86_400];

/// The length of the spans that rows of series cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resolution {
    Minute,
    Hour,
    Day,
}

impl Resolution {
    pub const ALL: [Self; 3] = [Self::Minute, Self::Hour, Self::Day];

    pub const fn millis(self) -> i64 {
        match self {
            Self::Minute => MINUTE,
            Self::Hour => 60 * MINUTE,
            Self::Day => 24 * 60 * MINUTE,
        }
    }

    pub const fn start_of(self, moment: Timestamp) -> Timestamp {
        Timestamp::from_millis(moment.millis() - moment.millis().rem_euclid(self.millis()))
    }
}

/// The length of a point of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    millis: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    #[error("a step is `minute`, `hour`, `day`, or a number of seconds that is a multiple of 60, up to 31 days")]
    Invalid,
    #[error("{points} points are too many, a chart has at most {MAX_POINTS}: choose a longer step or a shorter span")]
    TooMany { points: i64 },
}

impl Step {
    pub fn parse(text: &str) -> Result<Self, StepError> {
        let seconds = match text {
            "minute" => 60,
            "hour" => 3_600,
            "day" => 86_400,
            number => number.parse().map_err(|_| StepError::Invalid)?,
        };
        if seconds % 60 == 0 && (60..=MAX_STEP_SECS).contains(&seconds) {
            return Ok(Self { millis: seconds * 1_000 });
        }
        Err(StepError::Invalid)
    }

    /// The shortest default step that fits the span and whose rows are still kept at the start of the span.
    pub fn for_span(span: Span, kept_from: impl Fn(Resolution) -> Timestamp) -> Self {
        let millis = span.to.millis() - span.from.millis();
        let fits = |step: &Self| millis <= step.millis * DEFAULT_POINTS && kept_from(step.resolution()) <= span.from;
        let steps = DEFAULT_STEPS_SECS.map(|seconds| Self { millis: seconds * 1_000 });
        steps.into_iter().find(fits).unwrap_or(Self { millis: MAX_STEP_SECS * 1_000 })
    }

    /// This step, or `millis` if it is shorter.
    #[must_use]
    pub const fn at_least(self, millis: i64) -> Self {
        if self.millis < millis { Self { millis } } else { self }
    }

    pub const fn millis(self) -> i64 {
        self.millis
    }

    pub const fn seconds(self) -> i64 {
        self.millis / 1_000
    }

    /// The coarsest rows that add up to this step.
    pub const fn resolution(self) -> Resolution {
        if self.millis % Resolution::Day.millis() == 0 {
            Resolution::Day
        } else if self.millis % Resolution::Hour.millis() == 0 {
            Resolution::Hour
        } else {
            Resolution::Minute
        }
    }

    pub const fn start_of(self, moment: Timestamp) -> Timestamp {
        Timestamp::from_millis(moment.millis() - moment.millis().rem_euclid(self.millis))
    }
}

/// The points of a chart: whole steps since 1970. The first one contains the start of the span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Points {
    pub step: Step,
    first: Timestamp,
    count: usize,
}

impl Points {
    pub fn of(span: Span, step: Step) -> Result<Self, StepError> {
        let first = step.start_of(span.from);
        let points = (span.to.millis() - first.millis() + step.millis - 1).div_euclid(step.millis);
        match usize::try_from(points) {
            Ok(count) if count <= MAX_POINTS => Ok(Self { step, first, count }),
            _ => Err(StepError::TooMany { points }),
        }
    }

    /// The span of all points.
    pub fn span(&self) -> Span {
        let millis = self.step.millis.saturating_mul(i64::try_from(self.count).unwrap_or(i64::MAX));
        Span { from: self.first, to: self.first.plus_millis(millis) }
    }

    pub const fn count(&self) -> usize {
        self.count
    }

    /// The point that contains a moment.
    pub fn index(&self, moment: Timestamp) -> Option<usize> {
        let index = (moment.millis() - self.first.millis()).div_euclid(self.step.millis);
        usize::try_from(index).ok().filter(|index| *index < self.count)
    }

    pub fn starts(&self) -> impl Iterator<Item = Timestamp> + '_ {
        (0..self.count).map(|index| {
            self.first.plus_millis(self.step.millis.saturating_mul(i64::try_from(index).unwrap_or(i64::MAX)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn span(from: &str, to: &str) -> Span {
        Span::new(at(from), at(to)).unwrap()
    }

    #[test]
    fn steps_are_words_or_whole_minutes() {
        for (text, seconds, resolution) in [
            ("minute", 60, Resolution::Minute),
            ("300", 300, Resolution::Minute),
            ("hour", 3_600, Resolution::Hour),
            ("5400", 5_400, Resolution::Minute),
            ("21600", 21_600, Resolution::Hour),
            ("day", 86_400, Resolution::Day),
            ("172800", 172_800, Resolution::Day),
        ] {
            let step = Step::parse(text).unwrap();
            assert_eq!((step.seconds(), step.resolution()), (seconds, resolution), "{text}");
        }
        for bad in ["", "0", "-60", "90", "1m", "week", "2678460", "99999999999999999999"] {
            assert_eq!(Step::parse(bad), Err(StepError::Invalid), "{bad}");
        }
    }

    #[test]
    fn points_cover_the_span_and_are_bounded() {
        let points = Points::of(span("2026-11-01T10:59:00Z", "2026-11-01T13:00:00Z"), Step::parse("hour").unwrap());
        let points = points.unwrap();
        let starts: Vec<String> = points.starts().map(|start| start.to_string()[11..16].to_owned()).collect();
        assert_eq!(starts, ["10:00", "11:00", "12:00"]);
        assert_eq!(points.index(at("2026-11-01T12:59:59Z")), Some(2));
        assert_eq!((points.index(at("2026-11-01T09:59:59Z")), points.index(at("2026-11-01T13:00:00Z"))), (None, None));
        let month = span("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z");
        assert_eq!(Points::of(month, Step::parse("minute").unwrap()), Err(StepError::TooMany { points: 43_200 }));
        assert_eq!(Points::of(month, Step::parse("hour").unwrap()).unwrap().count(), 720);
    }

    #[test]
    fn the_default_step_is_still_kept_and_not_too_fine() {
        let chosen = |from, to, minutes_from| {
            let kept =
                |resolution| if resolution == Resolution::Minute { at(minutes_from) } else { Timestamp::default() };
            Step::for_span(span(from, to), kept).seconds()
        };
        let long_ago = "2020-01-01T00:00:00Z";
        assert_eq!(chosen("2026-11-01T00:00:00Z", "2026-11-01T01:00:00Z", long_ago), 60);
        assert_eq!(chosen("2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z", long_ago), 900);
        assert_eq!(chosen("2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z", "2026-11-01T12:00:00Z"), 3_600);
        assert_eq!(chosen("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z", long_ago), 10_800);
        assert_eq!(chosen("2000-01-01T00:00:00Z", "2026-12-01T00:00:00Z", long_ago), 31 * 86_400);
    }
}
