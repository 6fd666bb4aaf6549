//! GPU-hours: intervals, invoices and real processes agree.

use std::collections::BTreeMap;

use super::{Check, faults_in};
use crate::history::{History, Hold};
use crate::schedule::Fault;

const MILLIS_PER_HOUR: i64 = 3_600_000;
const NANO_HOURS: i64 = 1_000_000_000;
/// A hold may begin this much before its process is seen, and end this much after it was seen last, in milliseconds.
const TOLERANCE: i64 = 5_000;

/// Invoices bill the intervals of billable holds. Each line is rounded to a billionth of an hour.
pub(super) fn gpu_hours_equal_intervals(history: &History) -> Check {
    let mut check = Check::new("GPU-hours = intervals");
    let mut held: BTreeMap<&str, i64> = BTreeMap::new();
    for hold in history.holds.iter().filter(|hold| hold.billable) {
        let Some(ended_at) = hold.ended_at else {
            check.examine(Some(format!("the hold of {} is still open", hold.replica)));
            continue;
        };
        let length = ended_at - hold.started_at;
        check.examine((length < 0).then(|| format!("the hold of {} lasts {length} ms", hold.replica)));
        *held.entry(&hold.workspace).or_default() += length * hold.gpu_count;
    }
    for (workspace, millis) in held {
        let lines = history.invoices.iter().filter(|one| one.workspace == workspace).flat_map(|one| &one.gpu_hours);
        let (count, billed) = lines.fold((0, 0), |(count, sum), line| (count + 1, sum + line));
        let expected = i128::from(millis) * i128::from(NANO_HOURS) / i128::from(MILLIS_PER_HOUR);
        let differs = (i128::from(billed) - expected).abs() > i128::from(count) + 1;
        check.examine(
            differs.then(|| {
                format!("{workspace}: intervals of {expected} billionths of an hour, {billed} on its invoices")
            }),
        );
    }
    check
}

/// The intervals of a GPU do not overlap.
pub(super) fn no_gpu_is_held_twice(history: &History) -> Check {
    let mut check = Check::new("no GPU is held twice");
    let mut intervals: BTreeMap<&str, Vec<&Hold>> = BTreeMap::new();
    for hold in &history.holds {
        for gpu in &hold.gpus {
            intervals.entry(gpu).or_default().push(hold);
        }
    }
    for (gpu, mut holds) in intervals {
        holds.sort_by_key(|hold| hold.started_at);
        check.examined += 1;
        for pair in holds.windows(2) {
            let [one, next] = pair else { continue };
            if one.ended_at.is_none_or(|ended_at| ended_at > next.started_at) {
                check.violations.push(format!("{} and {} hold {gpu} at once", one.replica, next.replica));
            }
        }
    }
    check
}

/// A hold lasts as long as the process that it pays for, whatever the clocks of the nodes said.
///
/// Not checked are processes that began or ended while a clock was moved: libfaketime moves the clock of a gateway, but not
/// the one by which its replicas date their ends. On a real machine it is the same clock.
pub(super) fn holds_match_processes(history: &History) -> Check {
    let mut check = Check::new("holds match processes");
    let wall = |millis: u64| history.start.wall_millis + i64::try_from(millis).unwrap_or(i64::MAX / 2);
    let is_torn = |at: u64| {
        let mut spans = faults_in(history, at, at);
        spans.any(|span| matches!(span.fault, Fault::ClockJump { .. }))
    };
    for process in &history.processes {
        if is_torn(process.began) || is_torn(process.ended) {
            continue;
        }
        let Some(hold) = history.holds.iter().find(|hold| hold.replica == process.replica) else {
            check.examine(Some(format!("{} ran without a hold", process.replica)));
            continue;
        };
        let Some(ended_at) = hold.ended_at else { continue };
        let (ran, paid) = (wall(process.ended) - wall(process.began), ended_at - hold.started_at);
        let differs = (paid - ran).abs() > 2 * TOLERANCE || (hold.started_at - wall(process.began)).abs() > TOLERANCE;
        check.examine(differs.then(|| {
            let late = hold.started_at - wall(process.began);
            format!("{} ran {ran} ms, its hold lasts {paid} ms and begins {late:+} ms after it", process.replica)
        }));
    }
    check
}
