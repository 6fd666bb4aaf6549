//! Connections: no response is cut, and no call is lost, except where a fault must do that.

use super::{Check, faults_in};
use crate::history::{Call, FaultSpan, History, Outcome};
use crate::schedule::{Fault, Link};

/// After the last fault, nodes have this much time to recover, in milliseconds.
const RECOVERY: u64 = 5_000;

/// A call ends early only if its node was killed, or if the network was cut.
pub(super) fn no_call_is_cut_by_us(history: &History) -> Check {
    let mut check = Check::new("no call is cut by us");
    for call in &history.calls {
        let excused = |excuses: fn(&Fault) -> bool| {
            faults_in(history, call.began, call.ended).any(|span| hits(span, call) && excuses(&span.fault))
        };
        let is_excused = match &call.outcome {
            Outcome::Served(_) | Outcome::Rejected { .. } | Outcome::Left => true,
            // A node that is stopping, starting or frozen accepts no connection.
            Outcome::Unreachable { .. } => {
                excused(|fault| fault.ends_process() || matches!(fault, Fault::Pause { .. }) || cuts_clients(fault))
            }
            Outcome::NoResponse { .. } | Outcome::Cut { .. } => excused(|fault| fault.kills() || cuts_clients(fault)),
            Outcome::ErrorEvent { .. } => excused(cuts_engines),
            Outcome::TimedOut => excused(|fault| fault.kills() || cuts_clients(fault) || cuts_engines(fault)),
        };
        check.examine((!is_excused).then(|| describe(call)));
    }
    check
}

fn describe(call: &Call) -> String {
    let Call { number, node, model, began, ended, outcome, .. } = call;
    format!("call {number} to {model} on node {node}, {began} to {ended} ms: {outcome:?}")
}

fn hits(span: &FaultSpan, call: &Call) -> bool {
    span.nodes.contains(&call.node)
}

fn cuts_clients(fault: &Fault) -> bool {
    matches!(fault, Fault::Partition { link: Link::Clients, .. })
}

fn cuts_engines(fault: &Fault) -> bool {
    matches!(fault, Fault::Partition { link: Link::Engines, .. })
}

/// After the last fault, calls to models of the catalogue are served, or rejected by a limit.
pub(super) fn calls_succeed_again_after_the_last_fault(history: &History) -> Check {
    let mut check = Check::new("calls succeed again after the last fault");
    let last = history.faults.iter().map(|fault| fault.ended).max().unwrap_or_default();
    // An endpoint may be suspended or deleted at any time.
    let is_late = |call: &&Call| call.began > last + RECOVERY && !call.model.starts_with("dedicated/");
    for call in history.calls.iter().filter(is_late) {
        let is_fine = match &call.outcome {
            Outcome::Served(_) | Outcome::Left => true,
            // Of revoked keys, 401 is checked elsewhere.
            Outcome::Rejected { status, .. } => [401, 429].contains(status),
            Outcome::ErrorEvent { .. }
            | Outcome::Unreachable { .. }
            | Outcome::NoResponse { .. }
            | Outcome::Cut { .. }
            | Outcome::TimedOut => false,
        };
        check.examine((!is_fine).then(|| describe(call)));
    }
    check
}

/// No node crashed, and each that was stopped ended with exit code 0.
pub(super) fn no_process_ends_unasked(history: &History) -> Check {
    let mut check = Check::new("no process ends unasked");
    check.examined = history.start.nodes;
    check.violations.clone_from(&history.end.unexpected_exits);
    check
}
