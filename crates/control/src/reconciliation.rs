//! Tokens that were billed, held against what the engines counted.

use crate::refusal::Refusal;
use domain::reconciliation::{Difference, Side};
use domain::{Grain, OrganizationId, Span, Timestamp};
use std::collections::BTreeMap;
use store::Store;
use store::reconciliation::{self, Hour, MAX_LISTED};

/// One replica in one hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub replica: String,
    pub model: String,
    pub hour: Timestamp,
    pub billed: Side,
    /// Absent when the engine was not read in that hour.
    pub counted: Option<Side>,
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
    Line { replica: hour.replica, model: hour.model, hour: hour.hour, billed, counted, difference }
}

pub(crate) fn sums(lines: &[Line]) -> Vec<Sum> {
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
