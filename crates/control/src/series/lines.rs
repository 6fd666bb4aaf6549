//! The report of a chart: lines of named values, one per point and one for the whole span.

use super::MAX_LINES;
use domain::Timestamp;
use domain::series::{Division, Metric, Points};
use domain::usage::Actor;
use std::collections::BTreeMap;

/// A chart with all its lines.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesReport {
    pub metric: Metric,
    pub division: Option<Division>,
    pub points: Points,
    /// Rows of this resolution from before this moment may be deleted.
    pub kept_from: Timestamp,
    pub lines: Vec<ChartLine>,
}

/// The subject of a line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineName {
    All,
    /// `None` for calls that named no known model.
    Model(Option<String>),
    Actor(Actor),
    Endpoint(String),
    Replica(String),
    Code(String),
    /// The sum of all lines beyond the maximum.
    Others,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ChartLine {
    pub name: LineName,
    /// One value per point, by the names of values, which are the same for all lines of a metric.
    pub values: NamedValues<Vec<Option<SeriesValue>>>,
    pub total: NamedValues<Option<SeriesValue>>,
}

pub type NamedValues<T> = Vec<(&'static str, T)>;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SeriesValue {
    Whole(u64),
    Part(f64),
}

impl SeriesValue {
    /// Rounded to six decimal places.
    pub(super) fn part(value: f64) -> Self {
        Self::Part((value * 1e6).round() / 1e6)
    }
}

/// An amount that is added up for the points of a line.
pub(super) trait Accumulate: Default + Clone {
    fn add(&mut self, other: &Self);

    /// Lines are sorted by weight.
    fn weight(&self) -> u64;
}

/// Sums per line and point. Points without a sum take no memory: before the smaller lines are merged there may be thousands,
/// most of them with few points.
pub(super) struct LineSums<S> {
    points: usize,
    is_divided: bool,
    sums: BTreeMap<(LineName, usize), S>,
}

impl<S: Accumulate> LineSums<S> {
    /// An undivided chart has its line even if it is empty.
    pub(super) fn new(points: usize, division: Option<Division>) -> Self {
        Self { points, is_divided: division.is_some(), sums: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, name: LineName, index: usize, sum: &S) {
        self.sums.entry((name, index)).or_default().add(sum);
    }

    /// The heaviest lines first, each with its total; lines beyond [`MAX_LINES`] are merged into one.
    pub(super) fn finish(self) -> Vec<(LineName, Vec<S>, S)> {
        let mut lines: Vec<SparseLine<S>> = Vec::new();
        if !self.is_divided {
            lines.push(SparseLine::new(LineName::All));
        }
        for ((name, index), sum) in self.sums {
            if lines.last().is_none_or(|line| line.name != name) {
                lines.push(SparseLine::new(name));
            }
            let Some(line) = lines.last_mut() else { continue };
            line.total.add(&sum);
            line.sums.push((index, sum));
        }
        lines.sort_by_key(|line| std::cmp::Reverse(line.total.weight()));
        if lines.len() > MAX_LINES {
            let mut others = SparseLine::<S>::new(LineName::Others);
            for line in lines.split_off(MAX_LINES - 1) {
                others.total.add(&line.total);
                others.sums.extend(line.sums);
            }
            lines.push(others);
        }
        lines.into_iter().map(|line| line.with_all_points(self.points)).collect()
    }
}

/// A line with the points that have sums.
struct SparseLine<S> {
    name: LineName,
    sums: Vec<(usize, S)>,
    total: S,
}

impl<S: Accumulate> SparseLine<S> {
    fn new(name: LineName) -> Self {
        Self { name, sums: Vec::new(), total: S::default() }
    }

    fn with_all_points(self, points: usize) -> (LineName, Vec<S>, S) {
        let mut sums = vec![S::default(); points];
        for (index, sum) in &self.sums {
            sums[*index].add(sum);
        }
        (self.name, sums, self.total)
    }
}

/// `None` if `whole` is 0.
pub(super) fn ratio(part: u64, whole: u64) -> Option<SeriesValue> {
    #[expect(clippy::cast_precision_loss, reason = "a fraction needs no more digits")]
    let (part, total) = (part as f64, whole as f64);
    (whole > 0).then(|| SeriesValue::part(part / total))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static COPIES: Cell<usize> = const { Cell::new(0) };
    }

    /// Counts its copies, of which every point of a line is one.
    #[derive(Debug, Default, PartialEq, Eq)]
    struct Counted(u64);

    impl Clone for Counted {
        fn clone(&self) -> Self {
            COPIES.set(COPIES.get() + 1);
            Self(self.0)
        }
    }

    impl Accumulate for Counted {
        fn add(&mut self, other: &Self) {
            self.0 += other.0;
        }

        fn weight(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn lines_that_are_not_shown_have_no_points_of_their_own() {
        const LINES: usize = 1_000;
        const POINTS: usize = 100;
        let mut sums = LineSums::new(POINTS, Some(Division::Replica));
        for number in 0..LINES {
            let name = LineName::Replica(format!("{number:03}"));
            // The first ones are the heaviest.
            sums.add(name, number % POINTS, &Counted(if number < MAX_LINES { 3 } else { 1 }));
        }
        let lines = sums.finish();
        assert!(COPIES.get() <= MAX_LINES * POINTS, "{} points", COPIES.get());
        assert_eq!(lines.len(), MAX_LINES);
        let (name, points, total) = &lines[7];
        assert_eq!((name, total), (&LineName::Replica("007".to_owned()), &Counted(3)));
        assert!(points.iter().enumerate().all(|(index, sum)| sum.0 == if index == 7 { 3 } else { 0 }), "{points:?}");
        let (name, points, total) = &lines[MAX_LINES - 1];
        // The last of the heaviest is among them.
        let others = (LINES - MAX_LINES + 3) as u64;
        assert_eq!((name, total), (&LineName::Others, &Counted(others)));
        assert_eq!(points.iter().map(|sum| sum.0).sum::<u64>(), others);
    }

    #[test]
    fn an_undivided_chart_has_one_line_also_without_sums() {
        let empty: LineSums<Counted> = LineSums::new(2, None);
        assert_eq!(empty.finish(), [(LineName::All, vec![Counted(0), Counted(0)], Counted(0))]);
        let mut sums = LineSums::new(2, None);
        for index in [1, 1, 0] {
            sums.add(LineName::All, index, &Counted(5));
        }
        assert_eq!(sums.finish(), [(LineName::All, vec![Counted(5), Counted(10)], Counted(15))]);
    }
}
