//! Charts as figures: lines of named values, one for each point, and what they are in the whole span.

use super::MAX_LINES;
use domain::Timestamp;
use domain::series::{Division, Metric, Points};
use domain::usage::Actor;
use std::collections::BTreeMap;

/// The body of `/api/workspaces/{id}/metrics`.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub metric: Metric,
    pub division: Option<Division>,
    pub points: Points,
    /// Of what was before, rows of this resolution may be gone.
    pub kept_from: Timestamp,
    pub lines: Vec<Line>,
}

/// What a line is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    All,
    /// None for calls that named no model of ours.
    Model(Option<String>),
    Actor(Actor),
    Endpoint(String),
    Code(String),
    /// All that are too many to be shown one by one.
    Others,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub name: Name,
    /// One value for each point, by the names of values: the same for all lines of a metric.
    pub values: Figures<Vec<Option<Number>>>,
    pub total: Figures<Option<Number>>,
}

pub type Figures<T> = Vec<(&'static str, T)>;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    Whole(u64),
    Part(f64),
}

impl Number {
    /// As many digits as anybody reads.
    pub(super) fn part(value: f64) -> Self {
        Self::Part((value * 1e6).round() / 1e6)
    }
}

/// What is added up for the points of a line before it becomes figures.
pub(super) trait Sum: Default + Clone {
    fn add(&mut self, other: &Self);

    /// What makes one line come before another.
    fn weight(&self) -> u64;
}

/// Sums by line and point.
pub(super) struct Sheet<S> {
    points: usize,
    lines: BTreeMap<Name, Vec<S>>,
}

impl<S: Sum> Sheet<S> {
    /// An undivided chart has its line also when there is nothing on it.
    pub(super) fn new(points: usize, division: Option<Division>) -> Self {
        let mut lines = BTreeMap::new();
        if division.is_none() {
            lines.insert(Name::All, vec![S::default(); points]);
        }
        Self { points, lines }
    }

    pub(super) fn add(&mut self, name: Name, index: usize, sum: &S) {
        let points = self.points;
        self.lines.entry(name).or_insert_with(|| vec![S::default(); points])[index].add(sum);
    }

    /// The lines with the most on them first, and what they are in the whole span; those that are too many as one.
    pub(super) fn finish(self) -> Vec<(Name, Vec<S>, S)> {
        let total = |sums: &[S]| {
            let mut total = S::default();
            sums.iter().for_each(|sum| total.add(sum));
            total
        };
        let mut lines: Vec<(Name, Vec<S>, S)> = self
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
            lines.push((Name::Others, others, whole));
        }
        lines
    }
}
