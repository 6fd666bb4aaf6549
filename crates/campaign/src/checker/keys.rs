//! Keys: a revoked one is rejected from then on, and a valid one is never called invalid.

use std::collections::BTreeMap;

use super::Check;
use crate::history::{Action, Call, CommandOutcome, FaultSpan, History, Outcome};
use crate::schedule::{Fault, Link};

/// A node that reaches the store rejects a revoked key within this time, in milliseconds.
const REVOKED_WITHIN: u64 = 5_000;

/// When each key was revoked: the moment from which the command may have had an effect, and the acknowledgement.
fn revocations(history: &History) -> BTreeMap<&str, (u64, Option<u64>)> {
    let mut revoked: BTreeMap<&str, (u64, Option<u64>)> = BTreeMap::new();
    for command in &history.commands {
        let Action::RevokeKey { key } = &command.action else { continue };
        let entry = revoked.entry(key).or_insert((command.began, None));
        if command.outcome == CommandOutcome::Acknowledged && entry.1.is_none() {
            entry.1 = Some(command.ended);
        }
    }
    revoked
}

/// Once a node has rejected a revoked key, it never accepts it again; and a node that reaches the store rejects it soon.
pub(super) fn revoked_keys_stay_revoked(history: &History) -> Check {
    let mut check = Check::new("revoked keys stay revoked");
    let revoked = revocations(history);
    let mut rejected: BTreeMap<(&str, usize), u64> = BTreeMap::new();
    let mut calls: Vec<&Call> = history.calls.iter().collect();
    calls.sort_by_key(|call| call.began);
    for call in &calls {
        let Some((_, Some(_))) = revoked.get(call.key.as_str()) else { continue };
        if matches!(call.outcome, Outcome::Rejected { status: 401, .. }) {
            let first = rejected.entry((call.key.as_str(), call.node)).or_insert(call.ended);
            *first = call.ended.min(*first);
        }
    }
    for call in calls {
        let Some((_, Some(acknowledged))) = revoked.get(call.key.as_str()) else { continue };
        if call.began <= *acknowledged {
            continue;
        }
        let is_served = matches!(call.outcome, Outcome::Served(_) | Outcome::Left | Outcome::Cut { .. });
        let before = rejected.get(&(call.key.as_str(), call.node)).is_some_and(|first| *first < call.began);
        let too_late = call.began > deadline(history, call.node, *acknowledged);
        check.examine((is_served && (before || too_late)).then(|| {
            let since = call.began - acknowledged;
            format!("node {} served {} with {} ms after its revocation", call.node, call.key, since)
        }));
    }
    check
}

/// Until when a node may still accept a key that was revoked at `revoked`: while it cannot know, and a little longer.
fn deadline(history: &History, node: usize, revoked: u64) -> u64 {
    let mut deadline = revoked + REVOKED_WITHIN;
    let mut faults: Vec<&FaultSpan> = history.faults.iter().filter(|fault| hides_changes(fault, node)).collect();
    faults.sort_by_key(|fault| fault.began);
    for fault in faults {
        if fault.began <= deadline && fault.ended >= revoked {
            deadline = deadline.max(fault.ended + REVOKED_WITHIN);
        }
    }
    deadline
}

fn hides_changes(fault: &FaultSpan, node: usize) -> bool {
    match fault.fault {
        Fault::PostgresPause | Fault::PostgresFailover => true,
        Fault::Partition { link: Link::Postgres, .. }
        | Fault::Pause { .. }
        | Fault::Kill { .. }
        | Fault::Stop { .. }
        | Fault::Install { .. }
        | Fault::FullDisk { .. }
        | Fault::SlowDisk { .. } => fault.nodes.contains(&node),
        Fault::Partition { .. }
        | Fault::ClockJump { .. }
        | Fault::RedisFlap { .. }
        | Fault::RedisPause
        | Fault::MonthRollover => false,
    }
}

/// A key that was not revoked never gets a 401 or a 403, whatever fails.
pub(super) fn valid_keys_are_never_rejected(history: &History) -> Check {
    let mut check = Check::new("valid keys are never rejected");
    let revoked = revocations(history);
    for call in &history.calls {
        if revoked.get(call.key.as_str()).is_some_and(|(began, _)| call.ended >= *began) {
            continue;
        }
        let is_rejected = matches!(call.outcome, Outcome::Rejected { status: 401 | 403, .. });
        check.examine(is_rejected.then(|| format!("node {} rejected {} at {} ms", call.node, call.key, call.ended)));
    }
    check
}
