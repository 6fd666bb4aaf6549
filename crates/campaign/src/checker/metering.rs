//! Served calls, usage events, sums and invoices agree.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Check, faults_in};
use crate::history::{Call, Event, History, Outcome, Period, Sum, Tokens};
use crate::schedule::{Fault, Link};

/// An event may be dated this much before or after its call, in milliseconds.
const TIME_TOLERANCE: i64 = 3_000;
/// A node that started this long ago may not have reached the store yet.
const NODE_START: u64 = 60_000;

/// Every response that a client received completely is one event, with the usage that the client saw.
pub(super) fn no_event_is_lost(history: &History) -> Check {
    let mut check = Check::new("no event lost");
    let events: HashMap<&str, &Event> = history.events.iter().map(|event| (event.request.as_str(), event)).collect();
    for call in &history.calls {
        let Outcome::Served(tokens) = &call.outcome else { continue };
        let Some(request) = &call.request else {
            check.examine(Some(format!("call {} was served without a request id", call.number)));
            continue;
        };
        check.examine(match events.get(request.as_str()) {
            None => {
                Some(format!("{request} (call {}, node {}, {} ms) has no event", call.number, call.node, call.began))
            }
            Some(event) if event.tokens != *tokens => {
                Some(format!("{request}: the client saw {tokens:?}, the event has {:?}", event.tokens))
            }
            Some(event) if event.workspace != call.workspace || event.actor != call.key => {
                Some(format!("{request}: the event names {} and {}", event.workspace, event.actor))
            }
            Some(_) => None,
        });
    }
    check
}

/// A request id has one event, a call has one event, and an event has a call.
///
/// The scripted engine reports a usage for each call that no other call has, so a call that was billed under two ids is
/// found. An event whose id no client saw must belong to a call that lost its connection before the head.
pub(super) fn no_event_is_doubled(history: &History) -> Check {
    let mut check = Check::new("no event doubled");
    let known: BTreeSet<&str> = history.calls.iter().filter_map(|call| call.request.as_deref()).collect();
    let scripted: HashMap<Tokens, u64> =
        history.calls.iter().filter_map(|call| Some((call.scripted?, call.number))).collect();
    let (mut requests, mut numbers, mut unknown) = (BTreeSet::new(), HashMap::new(), 0);
    for event in &history.events {
        unknown += usize::from(!known.contains(event.request.as_str()));
        let number = scripted.get(&event.tokens).filter(|_| event.certainty == "exact");
        let other = number.and_then(|number| numbers.insert(number, &event.request));
        let is_new = requests.insert(&event.request);
        check.examine(match other {
            _ if !is_new => Some(format!("{} has two events", event.request)),
            Some(other) => Some(format!("{} and {other} are events of one call", event.request)),
            None => None,
        });
    }
    let unseen = history.calls.iter().filter(|call| call.request.is_none()).count();
    if unknown > unseen {
        let excess = format!("{unknown} events have an id that no client saw, but only {unseen} calls saw none");
        check.violations.push(excess);
    }
    check
}

type SumKey<'a> = (Period, &'a str, i64, &'a str, &'a str);
type SumValue = (u64, Tokens, i64);

/// Hourly and daily sums are the sums of the events.
pub(super) fn sums_equal_events(history: &History) -> Check {
    let mut check = Check::new("sums = events");
    let mut expected: BTreeMap<SumKey<'_>, SumValue> = BTreeMap::new();
    for event in &history.events {
        for period in [Period::Hour, Period::Day] {
            let starts_at = event.started_at - event.started_at.rem_euclid(period.millis());
            let key = (period, event.workspace.as_str(), starts_at, event.model.as_str(), event.actor.as_str());
            let (requests, tokens, cost) = expected.entry(key).or_default();
            *requests += u64::from(event.certainty != "void");
            tokens.prompt += event.tokens.prompt;
            tokens.completion += event.tokens.completion;
            tokens.cached += event.tokens.cached;
            *cost += event.cost;
        }
    }
    let found: BTreeMap<SumKey<'_>, SumValue> = history.sums.iter().map(row).collect();
    let keys: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    for key in keys {
        let (events, sum) = (expected.get(key), found.get(key));
        let differs = events.copied().unwrap_or_default() != sum.copied().unwrap_or_default();
        check.examine(differs.then(|| format!("{key:?}: events {events:?}, sum {sum:?}")));
    }
    check
}

fn row(sum: &Sum) -> (SumKey<'_>, SumValue) {
    let key = (sum.period, sum.workspace.as_str(), sum.starts_at, sum.model.as_str(), sum.actor.as_str());
    (key, (sum.requests, sum.tokens, sum.cost))
}

/// Invoices bill the events of their month to the nano-dollar.
pub(super) fn invoices_equal_events(history: &History) -> Check {
    let mut check = Check::new("invoices = events");
    let mut costs: BTreeMap<(&str, u64), i64> = BTreeMap::new();
    for event in &history.events {
        *costs.entry((event.workspace.as_str(), event.month)).or_default() += event.cost;
    }
    let invoiced: BTreeMap<(&str, u64), i64> =
        history.invoices.iter().map(|one| ((one.workspace.as_str(), one.month), one.serverless)).collect();
    for key in costs.keys().chain(invoiced.keys()).collect::<BTreeSet<_>>() {
        let (events, invoice) = (costs.get(key), invoiced.get(key));
        let differs = events.copied().unwrap_or_default() != invoice.copied().unwrap_or_default();
        check.examine(differs.then(|| format!("{key:?}: events {events:?}, invoice {invoice:?}, in nano-dollars")));
    }
    check
}

/// An event is dated by the store's clock, whatever the clock of its node shows.
pub(super) fn events_have_the_time_of_the_store(history: &History) -> Check {
    let mut check = Check::new("events have the time of the store");
    let events: HashMap<&str, &Event> = history.events.iter().map(|event| (event.request.as_str(), event)).collect();
    for call in history.calls.iter().filter(|call| !may_use_own_clock(history, call)) {
        let Some(event) = call.request.as_deref().and_then(|request| events.get(request)) else { continue };
        let wall = |millis: u64| history.start.wall_millis + i64::try_from(millis).unwrap_or(i64::MAX / 2);
        let range = wall(call.began) - TIME_TOLERANCE..=wall(call.ended) + TIME_TOLERANCE;
        check.examine((!range.contains(&event.started_at)).then(|| {
            let late = event.started_at - wall(call.began);
            format!("{} of node {} is dated {late:+} ms after its call", event.request, call.node)
        }));
    }
    check
}

/// A node that has not reached the store since its start has only its own clock.
fn may_use_own_clock(history: &History, call: &Call) -> bool {
    faults_in(history, call.began.saturating_sub(NODE_START), call.ended).any(|span| match span.fault {
        Fault::PostgresPause | Fault::PostgresFailover => true,
        Fault::Partition { link: Link::Postgres, .. } => span.nodes.contains(&call.node),
        _ => false,
    })
}

/// At the end, no event waits for the store.
pub(super) fn journals_are_empty(history: &History) -> Check {
    let mut check = Check::new("journals are empty");
    let waiting = history.end.waiting_bytes;
    check.examine((waiting > 0).then(|| format!("{waiting} bytes are still waiting for the store")));
    check
}
