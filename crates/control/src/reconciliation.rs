//! Tokens that were billed, held against what the engines counted.

use crate::refusal::Refusal;
use domain::reconciliation::{Difference, Side};
use domain::{Grain, OrganizationId, Span, Timestamp};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use store::reconciliation::{self, Hour, MAX_LISTED};
use store::{Store, StoreError};

/// One replica in one hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub replica: String,
    pub model: String,
    pub hour: Timestamp,
    pub billed: Side,
    /// Absent when the engine was not read in that hour.
    pub counted: Option<Side>,
    pub read_until: Option<Timestamp>,
    pub difference: Option<Difference>,
}

/// All hours of one replica in which its engine was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sum {
    pub replica: String,
    pub model: String,
    pub billed: Side,
    pub counted: Side,
    /// Billed in hours in which the engine was not read, so that nothing can be said about it.
    pub unread: Side,
}

impl Sum {
    pub fn difference(&self) -> Difference {
        Difference::between(self.billed, self.counted)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub span: Span,
    /// Newest hours first.
    pub lines: Vec<Line>,
    pub replicas: Vec<Sum>,
}

/// Both sides of the hours of a span; of one organization's endpoints, or of everything that runs.
pub async fn report(store: &Store, organization: Option<&OrganizationId>, span: Span) -> Result<Report, Refusal> {
    let span = Span { from: Grain::Hour.start_of(span.from), to: span.to };
    let hours = reconciliation::list(store, organization, span, MAX_LISTED + 1).await?;
    if hours.len() > MAX_LISTED {
        return Err(Refusal::BadValue {
            field: "from",
            why: "that is more than 20000 hours of replicas: name a shorter span",
        });
    }
    let lines: Vec<Line> = hours.into_iter().map(line).collect();
    Ok(Report { span, replicas: sums(&lines), lines })
}

/// An engine that does not count what its cache held is compared with what is billed less that.
fn line(hour: Hour) -> Line {
    let counted = hour.counted.map(|counted| counted.tokens);
    let cached = if hour.counted.is_some_and(|counted| !counted.counts_cached) { hour.cached } else { 0 };
    let billed = Side { prompt: hour.billed.prompt.saturating_sub(cached), ..hour.billed };
    let difference = counted.map(|counted| Difference::between(billed, counted));
    let read_until = hour.counted.map(|counted| counted.read_until);
    Line { replica: hour.replica, model: hour.model, hour: hour.hour, billed, counted, read_until, difference }
}

/// How the bill stands, for whoever watches it. Hours that were read to their end are compared, those of the last day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    pub replicas: u64,
    pub billed: Side,
    pub counted: Side,
    /// Replicas for which clearly more was billed than counted: somebody should look.
    pub overbilled_replicas: u64,
}

impl Standing {
    pub fn difference(&self) -> Difference {
        Difference::between(self.billed, self.counted)
    }
}

/// More than this was billed and not counted, both as a part of what was counted and in tokens. The edges of hours, and
/// calls that span them, make small differences that the next hour takes back.
const CLEARLY_PART: u64 = 50; // one fiftieth
const CLEARLY_TOKENS: i64 = 1_000;
const WATCHED_MILLIS: i64 = 24 * 3_600_000;

/// The last look at the bill.
#[derive(Debug, Default)]
pub struct Watch(Mutex<Option<Standing>>);

impl Watch {
    /// Nothing before the first look.
    pub fn standing(&self) -> Option<Standing> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares the hours of the last day that are over.
    pub async fn look(&self, store: &Store, now: Timestamp) -> Result<(), StoreError> {
        let to = Grain::Hour.start_of(now);
        let span = Span { from: to.plus_millis(-WATCHED_MILLIS), to };
        let hours = reconciliation::list(store, None, span, MAX_LISTED).await?;
        let whole: Vec<Line> = hours.into_iter().filter(Hour::is_read_to_its_end).map(line).collect();
        let standing = stand(&sums(&whole));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(standing);
        Ok(())
    }
}

fn stand(sums: &[Sum]) -> Standing {
    let mut standing = Standing::default();
    for sum in sums {
        standing.replicas += 1;
        standing.billed += sum.billed;
        standing.counted += sum.counted;
        let excess = sum.difference().total();
        let is_clear = excess > CLEARLY_TOKENS && excess.unsigned_abs() > sum.counted.total() / CLEARLY_PART;
        standing.overbilled_replicas += u64::from(is_clear);
    }
    standing
}

fn sums(lines: &[Line]) -> Vec<Sum> {
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for line in lines {
        let sum = sums.entry(&line.replica).or_insert_with(|| Sum {
            replica: line.replica.clone(),
            model: line.model.clone(),
            billed: Side::default(),
            counted: Side::default(),
            unread: Side::default(),
        });
        match line.counted {
            Some(counted) => {
                sum.billed += line.billed;
                sum.counted += counted;
            }
            None => sum.unread += line.billed,
        }
    }
    sums.into_values().collect()
}
