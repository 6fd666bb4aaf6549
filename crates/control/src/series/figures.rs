//! The report of a chart: lines of named values, one per point and one for the whole span.

use super::MAX_LINES;
use domain::Timestamp;
use domain::series::{Division, Metric, Points};
use domain::usage::Actor;
use std::collections::BTreeMap;

/// A chart with all its lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
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
    pub values: Figures<Vec<Option<SeriesValue>>>,
    pub total: Figures<Option<SeriesValue>>,
}

pub type Figures<T> = Vec<(&'static str, T)>;

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

/// Sums per line and point.
pub(super) struct LineSums<S> {
    points: usize,
    lines: BTreeMap<LineName, Vec<S>>,
}

impl<S: Accumulate> LineSums<S> {
    /// An undivided chart has its line even if it is empty.
    pub(super) fn new(points: usize, division: Option<Division>) -> Self {
        let mut lines = BTreeMap::new();
        if division.is_none() {
            lines.insert(LineName::All, vec![S::default(); points]);
        }
        Self { points, lines }
    }

    pub(super) fn add(&mut self, name: LineName, index: usize, sum: &S) {
        let points = self.points;
        self.lines.entry(name).or_insert_with(|| vec![S::default(); points])[index].add(sum);
    }

    /// The heaviest lines first, each with its total; lines beyond [`MAX_LINES`] are merged into one.
    pub(super) fn finish(self) -> Vec<(LineName, Vec<S>, S)> {
        let total = |sums: &[S]| {
            let mut total = S::default();
            sums.iter().for_each(|sum| total.add(sum));
            total
        };
        let mut lines: Vec<(LineName, Vec<S>, S)> = self
            .lines
            .into_iter()
            .map(|(name, sums)| {
                let whole = total(&sums);
                (name, sums, whole)
            })
            .collect();
        lines.sort_by_key(|(_, _, total)| std::cmp::Reverse(total.weight()));
        if lines.len() > MAX_LINES {
            let rest = lines.split_off(MAX_LINES - 1);
            let mut others = vec![S::default(); self.points];
            for (_, sums, _) in &rest {
                others.iter_mut().zip(sums).for_each(|(other, sum)| other.add(sum));
            }
            let whole = total(&others);
            lines.push((LineName::Others, others, whole));
        }
        lines
    }
}

/// `None` if `whole` is 0.
pub(super) fn ratio(part: u64, whole: u64) -> Option<SeriesValue> {
    #[expect(clippy::cast_precision_loss, reason = "a fraction needs no more digits")]
    let (part, total) = (part as f64, whole as f64);
    (whole > 0).then(|| SeriesValue::part(part / total))
}
