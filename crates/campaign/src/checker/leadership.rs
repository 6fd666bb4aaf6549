//! The leader of the control plane.

use std::collections::BTreeMap;

use super::Check;
use crate::history::{History, Sample};
use crate::schedule::Fault;

/// A leader is succeeded within this time, in milliseconds.
const SUCCEEDED_WITHIN: u64 = 15_000;
/// For the period of samples and a busy machine.
const TOLERANCE: u64 = 3_000;

/// An epoch has one holder, epochs only grow, and no two nodes lead in two samples in a row.
///
/// A node that wakes up from a pause may believe for a moment that it leads; the store rejects its writes.
pub(super) fn one_leader_at_a_time(history: &History) -> Check {
    let mut check = Check::new("one leader at a time");
    let mut holders: BTreeMap<u64, &str> = BTreeMap::new();
    let (mut newest, mut overlap) = (0, 0);
    for sample in &history.samples {
        let leading = sample.leading.iter().filter(|leads| **leads == Some(true)).count();
        overlap = if leading > 1 { overlap + 1 } else { 0 };
        let mut violation = (overlap > 1).then(|| format!("{leading} nodes lead at {} ms", sample.at));
        if let Some(store) = &sample.store {
            if store.epoch < newest {
                violation = Some(format!("epoch {} follows epoch {newest} at {} ms", store.epoch, sample.at));
            }
            newest = newest.max(store.epoch);
            let holder = holders.entry(store.epoch).or_insert(&store.holder);
            // A leader that resigned leaves its epoch without a holder.
            if holder.is_empty() {
                *holder = &store.holder;
            }
            if *holder != store.holder && !store.holder.is_empty() {
                violation = Some(format!("{holder} and {} hold epoch {}", store.holder, store.epoch));
            }
        }
        check.examine(violation);
    }
    check
}

/// A state of the term, since when it has not changed, and which node led then.
struct Standing {
    term: (u64, u64),
    since: u64,
    leader: Option<usize>,
}

/// While the store responds, the term is renewed or taken over within 15 seconds of the last renewal, or of the begin of
/// the fault that took the leader. At least one node is free of faults at any time, so no other fault excuses more.
pub(super) fn a_leader_within_fifteen_seconds(history: &History) -> Check {
    let mut check = Check::new("a leader within 15 s");
    let mut last: Option<Standing> = None;
    for sample in &history.samples {
        let Some(store) = &sample.store else {
            last = None;
            continue;
        };
        let term = (store.epoch, store.renewals);
        let unchanged = last.as_ref().filter(|standing| standing.term == term && !is_store_down(history, sample));
        let Some(standing) = unchanged else {
            let leader = sample.leading.iter().position(|leads| *leads == Some(true));
            last = Some(Standing { term, since: sample.at, leader });
            check.examine(None);
            continue;
        };
        let from = standing.since.max(last_disturbance(history, standing.leader, sample.at));
        let waited = sample.at.saturating_sub(from);
        check.examine(
            (waited > SUCCEEDED_WITHIN + TOLERANCE)
                .then(|| format!("no node has led for {waited} ms at {} ms", sample.at)),
        );
    }
    check
}

fn is_store_down(history: &History, sample: &Sample) -> bool {
    let down = |fault: Fault| matches!(fault, Fault::PostgresPause | Fault::PostgresFailover);
    history.faults.iter().any(|span| down(span.fault) && span.began <= sample.at && sample.at <= span.ended)
}

/// The begin of the latest fault that can take away this leader.
fn last_disturbance(history: &History, leader: Option<usize>, now: u64) -> u64 {
    let disturbs = |fault: Fault| !matches!(fault, Fault::ClockJump { .. } | Fault::MonthRollover);
    let hits = |nodes: &[usize]| leader.is_none_or(|leader| nodes.contains(&leader));
    let spans = history.faults.iter().filter(|span| disturbs(span.fault) && hits(&span.nodes) && span.began <= now);
    spans.map(|span| span.began).max().unwrap_or_default()
}
