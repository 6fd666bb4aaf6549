//! Bill check: compares billed tokens with the counters of the engines, per replica and hour.

use crate::command_error::CommandError;
use domain::bill_check::{Difference, TokenCounts};
use domain::{Grain, OrganizationId, Span, Timestamp};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use store::bill_check::{self, Hour, MAX_LISTED};
use store::{Store, StoreError};

/// The model servers that several models use: each counts the tokens of all of them. By the name of each of their replicas,
/// the name of the first one.
#[derive(Debug, Default)]
pub struct SharedServers(HashMap<Arc<str>, Arc<str>>);

impl SharedServers {
    pub fn of(table: &fleet::routes::Table) -> Self {
        let mut first: HashMap<(&str, &str), &Arc<str>> = HashMap::new();
        let mut shared = HashMap::new();
        for (_, replica) in table.replicas() {
            let server = (replica.upstream.url.as_str(), replica.upstream.model.as_str());
            let name = *first.entry(server).or_insert(&replica.name);
            shared.insert(Arc::clone(&replica.name), Arc::clone(name));
        }
        Self(shared)
    }

    /// Joins the hours of replicas that are the same server: what was billed for each, and what it counted for all.
    fn join(&self, hours: Vec<Hour>) -> Vec<Hour> {
        let mut joined: Vec<Hour> = Vec::with_capacity(hours.len());
        let mut places: HashMap<(String, Timestamp), usize> = HashMap::new();
        for mut hour in hours {
            if let Some(first) = self.0.get(hour.replica.as_str()) {
                hour.replica = first.to_string();
            }
            let place = places.entry((hour.replica.clone(), hour.hour)).or_insert(joined.len());
            let Some(found) = joined.get_mut(*place) else {
                joined.push(hour);
                continue;
            };
            found.billed += hour.billed;
            found.cached = found.cached.saturating_add(hour.cached);
            // The replica that was read for longer has seen more of the same counters.
            let seen = |hour: &Hour| hour.counted.map(|counted| (counted.tokens.total(), counted.read_until));
            if seen(&hour) > seen(found) {
                found.counted = hour.counted;
            }
        }
        joined
    }
}

/// Both token counts of one replica in one hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaHour {
    pub replica: String,
    pub model: String,
    pub hour: Timestamp,
    pub billed: TokenCounts,
    /// `None` if the engine was not read in that hour.
    pub counted: Option<TokenCounts>,
    pub read_until: Option<Timestamp>,
    pub difference: Option<Difference>,
}

/// All hours of one replica in which its engine was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaTotal {
    pub replica: String,
    pub model: String,
    /// The nodes that ran the engine; empty for a model server that all nodes share, and in reports for an organization.
    pub nodes: Vec<String>,
    pub billed: TokenCounts,
    pub counted: TokenCounts,
    /// Billed in hours in which the engine was not read, so it cannot be compared.
    pub unread: TokenCounts,
}

impl ReplicaTotal {
    pub fn difference(&self) -> Difference {
        Difference::between(self.billed, self.counted)
    }

    /// Whether clearly more was billed than counted. An operator should look at it.
    pub fn is_overbilled(&self) -> bool {
        let excess = self.difference().total();
        excess > MIN_EXCESS_TOKENS && excess.unsigned_abs() > self.counted.total() / MIN_EXCESS_DIVISOR
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillCheckReport {
    pub span: Span,
    /// Newest hours first.
    pub hours: Vec<ReplicaHour>,
    pub replicas: Vec<ReplicaTotal>,
}

/// Compares the hours of a span, for the endpoints of one organization or for all engines.
pub async fn report(
    store: &Store,
    organization: Option<&OrganizationId>,
    span: Span,
    shared: &SharedServers,
) -> Result<BillCheckReport, CommandError> {
    let span = Span { from: Grain::Hour.start_of(span.from), to: span.to };
    let hours = bill_check::list(store, organization, span, MAX_LISTED + 1).await?;
    if hours.len() > MAX_LISTED {
        return Err(CommandError::BadValue {
            field: "from",
            why: "the span covers more than 20000 hours of replicas: choose a shorter one",
        });
    }
    let hours: Vec<ReplicaHour> = shared.join(hours).into_iter().map(compare).collect();
    let mut replicas = total_per_replica(&hours);
    if organization.is_none() {
        add_nodes(&mut replicas, &bill_check::nodes(store, span.from).await?);
    }
    Ok(BillCheckReport { span, replicas, hours })
}

fn add_nodes(replicas: &mut [ReplicaTotal], nodes: &[(String, String)]) {
    for total in replicas {
        let own = nodes.iter().filter(|(replica, _)| *replica == total.replica);
        total.nodes = own.map(|(_, node)| node.clone()).collect();
    }
}

/// If the engine does not count cached prompt tokens, they are subtracted from the billed ones before comparing.
fn compare(hour: Hour) -> ReplicaHour {
    let counted = hour.counted.map(|counted| counted.tokens);
    let cached = if hour.counted.is_some_and(|counted| !counted.counts_cached) { hour.cached } else { 0 };
    let billed = TokenCounts { prompt: hour.billed.prompt.saturating_sub(cached), ..hour.billed };
    let difference = counted.map(|counted| Difference::between(billed, counted));
    let read_until = hour.counted.map(|counted| counted.read_until);
    ReplicaHour { replica: hour.replica, model: hour.model, hour: hour.hour, billed, counted, read_until, difference }
}

/// Result of the last check, for metrics: the hours of the last day that were read to their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    pub replicas: u64,
    pub billed: TokenCounts,
    pub counted: TokenCounts,
    /// Replicas for which clearly more was billed than counted. An operator should look at them.
    pub overbilled_replicas: u64,
}

impl Summary {
    pub fn difference(&self) -> Difference {
        Difference::between(self.billed, self.counted)
    }
}

/// A replica is overbilled if its excess is above both bounds: this many tokens, and 1/50 of the counted tokens. Calls
/// that span the edge of an hour cause small differences that the next hour cancels.
const MIN_EXCESS_TOKENS: i64 = 1_000;
const MIN_EXCESS_DIVISOR: u64 = 50;
const MONITORED_MILLIS: i64 = 24 * 3_600_000;

/// Keeps the result of the last check.
#[derive(Debug, Default)]
pub struct Monitor(Mutex<Option<Summary>>);

impl Monitor {
    /// `None` before the first check.
    pub fn summary(&self) -> Option<Summary> {
        *self.0.lock()
    }

    /// Compares the complete hours of the last day.
    pub async fn refresh(&self, store: &Store, shared: &SharedServers, now: Timestamp) -> Result<(), StoreError> {
        let to = Grain::Hour.start_of(now);
        let span = Span { from: to.plus_millis(-MONITORED_MILLIS), to };
        let hours = shared.join(bill_check::list(store, None, span, MAX_LISTED).await?);
        let complete: Vec<ReplicaHour> = hours.into_iter().filter(Hour::is_read_to_its_end).map(compare).collect();
        let summary = summarize(&total_per_replica(&complete));
        *self.0.lock() = Some(summary);
        Ok(())
    }
}

fn summarize(replicas: &[ReplicaTotal]) -> Summary {
    let mut summary = Summary::default();
    for total in replicas {
        summary.replicas += 1;
        summary.billed += total.billed;
        summary.counted += total.counted;
        summary.overbilled_replicas += u64::from(total.is_overbilled());
    }
    summary
}

fn total_per_replica(hours: &[ReplicaHour]) -> Vec<ReplicaTotal> {
    let mut totals: BTreeMap<&str, ReplicaTotal> = BTreeMap::new();
    for hour in hours {
        let total = totals.entry(&hour.replica).or_insert_with(|| ReplicaTotal {
            replica: hour.replica.clone(),
            model: hour.model.clone(),
            nodes: Vec::new(),
            billed: TokenCounts::default(),
            counted: TokenCounts::default(),
            unread: TokenCounts::default(),
        });
        match hour.counted {
            Some(counted) => {
                total.billed += hour.billed;
                total.counted += counted;
            }
            None => total.unread += hour.billed,
        }
    }
    totals.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::bill_check::Counted;

    fn hour(replica: &str, hour: i64, billed: u64, counted: Option<u64>) -> Hour {
        let tokens = |prompt| TokenCounts { prompt, completion: 0 };
        let at = Timestamp::from_millis(hour * 3_600_000);
        let counted = counted.map(|count| Counted { tokens: tokens(count), counts_cached: true, read_until: at });
        Hour { replica: replica.into(), model: "m".into(), hour: at, billed: tokens(billed), cached: 0, counted }
    }

    #[test]
    fn models_with_the_same_server_are_compared_as_one() {
        let same = |name: &str| (Arc::from(name), Arc::from("a#1"));
        let shared = SharedServers([same("a#1"), same("b#1")].into());
        let hours = vec![
            hour("a#1", 2, 100, Some(164)),
            hour("b#1", 2, 64, Some(160)),
            hour("c#1", 2, 7, None),
            hour("b#1", 1, 5, None),
            hour("a#1", 1, 0, Some(5)),
        ];
        let joined = shared.join(hours);
        let expected = [hour("a#1", 2, 164, Some(164)), hour("c#1", 2, 7, None), hour("a#1", 1, 5, Some(5))];
        assert_eq!(joined, expected);
        assert!(joined.into_iter().map(compare).all(|one| one.difference.is_none_or(|found| found.total() == 0)));
    }
}
