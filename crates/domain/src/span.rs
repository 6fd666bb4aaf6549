//! Spans of time, and the plan that reads the usage of a span from stored sums and single events.

use crate::time::{Grain, Month, Timestamp};

/// A half-open interval: `from` is included, `to` is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub from: Timestamp,
    pub to: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`to` is before `from`")]
pub struct SpanError;

impl Span {
    pub fn new(from: Timestamp, to: Timestamp) -> Result<Self, SpanError> {
        if from <= to { Ok(Self { from, to }) } else { Err(SpanError) }
    }

    /// The span with defaults: a missing bound is the start or end of the month of the other bound, or of `now`.
    ///
    /// The current month extends to its end: the rest of it is empty, and whole days are read faster than parts of days.
    pub fn or_month_of(now: Timestamp, from: Option<Timestamp>, to: Option<Timestamp>) -> Result<Self, SpanError> {
        let last_moment = to.map_or(now, |to| Timestamp::from_millis(to.millis() - 1));
        let to = to.unwrap_or_else(|| Month::of(from.map_or(now, |from| from.max(now))).end());
        Self::new(from.unwrap_or_else(|| Month::of(last_moment).start()), to)
    }

    pub fn contains(self, moment: Timestamp) -> bool {
        self.from <= moment && moment < self.to
    }

    pub const fn is_empty(self) -> bool {
        self.from.millis() >= self.to.millis()
    }

    /// The part of the span that is in the past at `now`.
    fn past_millis(self, now: Timestamp) -> u64 {
        self.to.min(now).millis_since(self.from)
    }
}

/// The rows that usage is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The hourly or daily sums.
    Sums(Grain),
    /// Single events.
    Events,
    /// Single events that named a known end user.
    EventsOfEndUsers,
    /// The daily sums of calls that named an end user.
    EndUsers(EndUserRows),
    /// Single events that are not interactive, to models of the catalogue.
    EventsOfClasses,
    /// The daily sums of the calls of classes other than interactive.
    Classes,
}

/// How the sums of end users are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndUserRows {
    Named,
    /// As if they had named none.
    Unnamed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    Plus,
    Minus,
}

/// A part of a sum: the usage of a span from one source, added or subtracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    pub sign: Sign,
    pub source: Source,
    pub span: Span,
}

impl Piece {
    pub const fn plus(source: Source, span: Span) -> Self {
        Self { sign: Sign::Plus, source, span }
    }

    pub const fn minus(source: Source, span: Span) -> Self {
        Self { sign: Sign::Minus, source, span }
    }
}

/// Plans how to read whole days by end user: those of all calls without a name, less the calls that named an end user, and these.
/// So the usage of a deleted end user stays, without a name.
pub fn plan_by_end_user(days: Span) -> Vec<Piece> {
    if days.is_empty() {
        return Vec::new();
    }
    vec![
        Piece::plus(Source::Sums(Grain::Day), days),
        Piece::minus(Source::EndUsers(EndUserRows::Unnamed), days),
        Piece::plus(Source::EndUsers(EndUserRows::Named), days),
    ]
}

/// Plans how to read a span: whole days, the whole hours around them, and events for the rest of the two outer hours.
///
/// Only events in the past take time to read. So an outer hour is read in the cheaper of two ways: the events inside the
/// span, or the whole hour minus the events outside. Example: from 12:10 to 15:00 is the sum of the hours 12 to 14 minus
/// the events from 12:00 to 12:10, because 10 minutes of events are fewer than 50.
pub fn plan(span: Span, now: Timestamp) -> Vec<Piece> {
    let (first_hour, last_hour) = (Grain::Hour.start_at_or_after(span.from), Grain::Hour.start_of(span.to));
    let mut pieces = Vec::with_capacity(7);
    if first_hour > last_hour {
        pieces.push(Piece::plus(Source::Events, span));
    } else {
        let before = Span { from: Grain::Hour.start_of(span.from), to: span.from };
        pieces.extend(part_of_hour(Span { from: span.from, to: first_hour }, before, now));
        pieces.extend(whole_hours(Span { from: first_hour, to: last_hour }));
        let after = Span { from: span.to, to: Grain::Hour.start_at_or_after(span.to) };
        pieces.extend(part_of_hour(Span { from: last_hour, to: span.to }, after, now));
    }
    pieces.retain(|piece| !piece.span.is_empty());
    pieces
}

fn part_of_hour(inside: Span, outside: Span, now: Timestamp) -> Vec<Piece> {
    if inside.is_empty() || inside.past_millis(now) <= outside.past_millis(now) {
        return vec![Piece::plus(Source::Events, inside)];
    }
    let hour = Span { from: inside.from.min(outside.from), to: inside.to.max(outside.to) };
    vec![Piece::plus(Source::Sums(Grain::Hour), hour), Piece::minus(Source::Events, outside)]
}

fn whole_hours(span: Span) -> Vec<Piece> {
    let (first_day, last_day) = (Grain::Day.start_at_or_after(span.from), Grain::Day.start_of(span.to));
    if first_day >= last_day {
        return vec![Piece::plus(Source::Sums(Grain::Hour), span)];
    }
    vec![
        Piece::plus(Source::Sums(Grain::Hour), Span { from: span.from, to: first_day }),
        Piece::plus(Source::Sums(Grain::Day), Span { from: first_day, to: last_day }),
        Piece::plus(Source::Sums(Grain::Hour), Span { from: last_day, to: span.to }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    /// `+days 05T00:00..07T00:00` and so on.
    fn shown(pieces: &[Piece]) -> Vec<String> {
        let moment = |moment: Timestamp| moment.to_string()[8..16].to_owned();
        let line = |piece: &Piece| {
            let sign = if piece.sign == Sign::Plus { '+' } else { '-' };
            let source = match piece.source {
                Source::Sums(Grain::Day) => "days",
                Source::Sums(Grain::Hour) => "hours",
                Source::Events => "events",
                Source::EndUsers(_) | Source::EventsOfEndUsers => "end users",
                Source::Classes | Source::EventsOfClasses => "classes",
            };
            format!("{sign}{source} {}..{}", moment(piece.span.from), moment(piece.span.to))
        };
        pieces.iter().map(line).collect()
    }

    #[test]
    fn a_month_is_read_as_days_and_its_edges_in_the_cheaper_way() {
        let now = at("2026-11-20T14:50:00Z");
        let plan = |from, to| shown(&plan(Span::new(at(from), at(to)).unwrap(), now));
        assert_eq!(plan("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"), ["+days 01T00:00..01T00:00"]);
        assert_eq!(
            plan("2026-11-03T21:50:00Z", "2026-11-06T02:10:00Z"),
            [
                "+events 03T21:50..03T22:00",
                "+hours 03T22:00..04T00:00",
                "+days 04T00:00..06T00:00",
                "+hours 06T00:00..06T02:00",
                "+events 06T02:00..06T02:10",
            ]
        );
        assert_eq!(
            plan("2026-11-20T12:10:00Z", "2026-11-20T14:50:00Z"),
            [
                "+hours 20T12:00..20T13:00",
                "-events 20T12:00..20T12:10",
                "+hours 20T13:00..20T14:00",
                "+hours 20T14:00..20T15:00",
                "-events 20T14:50..20T15:00",
            ],
            "the future costs nothing"
        );
        assert_eq!(plan("2026-11-20T12:10:00Z", "2026-11-20T12:20:00Z"), ["+events 20T12:10..20T12:20"]);
        assert!(plan("2026-11-20T12:10:00Z", "2026-11-20T12:10:00Z").is_empty());
    }

    #[test]
    fn a_missing_bound_defaults_to_the_month_of_the_other() {
        let now = at("2026-11-20T14:50:00Z");
        for (from, to, found) in [
            (None, None, ("2026-11-01T00:00:00.000Z", "2026-12-01T00:00:00.000Z")),
            (Some("2026-08-05T01:00:00Z"), None, ("2026-08-05T01:00:00.000Z", "2026-12-01T00:00:00.000Z")),
            (None, Some("2026-10-01T00:00:00Z"), ("2026-09-01T00:00:00.000Z", "2026-10-01T00:00:00.000Z")),
            (None, Some("2026-11-10T00:00:00Z"), ("2026-11-01T00:00:00.000Z", "2026-11-10T00:00:00.000Z")),
        ] {
            let span = Span::or_month_of(now, from.map(at), to.map(at)).unwrap();
            assert_eq!((span.from.to_string().as_str(), span.to.to_string().as_str()), found);
        }
        let late = at("2026-11-20T00:00:00Z");
        assert!(Span::or_month_of(now, Some(late), Some(at("2026-11-19T23:59:59.999Z"))).is_err());
    }

    const FIVE_DAYS: i64 = 5 * 86_400_000;

    /// A random moment, or one at the border of an hour or a day.
    fn moment() -> impl Strategy<Value = Timestamp> {
        let border = (0..5 * 24_i64, -1..=1_i64).prop_map(|(hour, off)| hour * 3_600_000 + off);
        prop_oneof![0..FIVE_DAYS, border].prop_map(Timestamp::from_millis)
    }

    proptest! {
        #[test]
        fn every_moment_counts_once_inside_and_never_outside(
            a in moment(), b in moment(), now in moment(), probes in prop::collection::vec(moment(), 50),
        ) {
            let span = Span::new(a.min(b), a.max(b)).unwrap();
            let pieces = plan(span, now);
            for probe in probes.into_iter().chain([span.from, span.to]) {
                let count = pieces.iter().filter(|piece| piece.span.contains(probe)).map(|piece| match piece.sign {
                    Sign::Plus => 1,
                    Sign::Minus => -1,
                });
                prop_assert_eq!(count.sum::<i32>(), i32::from(span.contains(probe)), "{} in {:?}", probe, pieces);
            }
            for piece in &pieces {
                if let Source::Sums(grain) = piece.source {
                    prop_assert_eq!(grain.start_of(piece.span.from), piece.span.from);
                    prop_assert_eq!(grain.start_of(piece.span.to), piece.span.to);
                }
            }
        }
    }
}
