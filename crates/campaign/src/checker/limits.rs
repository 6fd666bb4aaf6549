//! Quotas, limits per minute and the GPU ledger.

use std::collections::BTreeMap;

use super::Check;
use crate::history::{Action, Budget, CommandOutcome, EndpointRow, FaultSpan, History, Outcome};
use crate::schedule::{Fault, Link};

const MINUTE: u64 = 60_000;
/// What a call of the generator reserves, in nano-dollars; a budget with less left rejects it.
const MOST_OF_A_CALL: i64 = 2_000_000;

/// The tokens of a month are those of its events, and never more than the highest cap.
pub(super) fn quotas_are_never_passed(history: &History) -> Check {
    let mut check = Check::new("quotas are never passed");
    let mut caps: BTreeMap<&str, u64> = BTreeMap::new();
    for workspace in &history.start.workspaces {
        caps.insert(&workspace.id, workspace.monthly_tokens.unwrap_or(u64::MAX));
    }
    for command in &history.commands {
        if let Action::SetQuota { workspace, monthly_tokens } = &command.action
            && !matches!(command.outcome, CommandOutcome::Rejected { .. })
            && let Some(cap) = caps.get_mut(workspace.as_str())
        {
            *cap = (*cap).max(*monthly_tokens);
        }
    }
    let (mut used, mut spent) = (BTreeMap::<&str, u64>::new(), BTreeMap::<&str, u64>::new());
    for month in &history.quota_months {
        *used.entry(&month.workspace).or_default() += month.used;
        let cap = caps.get(month.workspace.as_str()).copied().unwrap_or(u64::MAX);
        let passed = month.used > cap;
        check.examine(
            passed.then(|| format!("{} used {} of {cap} tokens in {}", month.workspace, month.used, month.month)),
        );
    }
    // Dedicated calls have no quota.
    for event in history.events.iter().filter(|event| !event.model.starts_with("dedicated/")) {
        *spent.entry(&event.workspace).or_default() += event.tokens.total();
    }
    for (workspace, tokens) in spent {
        let counted = used.get(workspace).copied().unwrap_or_default();
        let differs = counted != tokens;
        check.examine(differs.then(|| format!("{workspace}: {tokens} tokens in events, {counted} in the quota")));
    }
    check
}

/// The calls of a budget never cost more, and what is asked for uses nearly all of it: nothing that a node had reserved is lost.
pub(super) fn budgets_are_never_passed_and_usable(history: &History) -> Check {
    let mut check = Check::new("budgets are never passed, and usable");
    for Budget { name, keys, cap, is_monthly } in &history.start.budgets {
        let mut spent: BTreeMap<u64, i64> = BTreeMap::new();
        for event in history.events.iter().filter(|event| keys.contains(&event.actor)) {
            *spent.entry(if *is_monthly { event.month } else { 0 }).or_default() += event.cost;
        }
        for (month, cost) in &spent {
            check.examine((cost > cap).then(|| format!("the budget {name}: {cost} of {cap} nano-dollars in {month}")));
        }
        // A month that begins or ends meanwhile has too few calls.
        if spent.len() < 2 {
            let cost: i64 = spent.into_values().sum();
            let is_used = cost > 0 && cost + MOST_OF_A_CALL >= cap / 100 * 95;
            check.examine((!is_used).then(|| format!("the budget {name}: only {cost} of {cap} nano-dollars are used")));
        }
    }
    check
}

/// Any 60 seconds admit at most twice the limit, and what docs/limits.md adds while Redis comes and goes.
pub(super) fn minute_limits_hold(history: &History) -> Check {
    let mut check = Check::new("limits per minute hold");
    for workspace in &history.start.workspaces {
        let Some(limit) = workspace.requests_per_minute else { continue };
        let mut admitted: Vec<u64> = history
            .calls
            .iter()
            .filter(|call| call.workspace == workspace.id && was_admitted(&call.outcome))
            .map(|call| call.began)
            .collect();
        admitted.sort_unstable();
        let mut first = 0;
        for (last, now) in admitted.iter().enumerate() {
            while admitted[first] + MINUTE < *now {
                first += 1;
            }
            let (count, bound) = ((last - first + 1) as u64, bound_per_minute(history, limit, *now));
            let passed = count > bound;
            check.examine(
                passed.then(|| format!("{}: {count} calls in the 60 s until {now} ms, at most {bound}", workspace.id)),
            );
        }
    }
    check
}

fn was_admitted(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Served(_) | Outcome::ErrorEvent { .. } | Outcome::Cut { .. } | Outcome::Left => true,
        Outcome::Rejected { .. } | Outcome::Unreachable { .. } | Outcome::NoResponse { .. } | Outcome::TimedOut => {
            false
        }
    }
}

/// The most calls of the 60 seconds until `now`.
fn bound_per_minute(history: &History, limit: u64, now: u64) -> u64 {
    let nodes = history.start.nodes.max(1) as u64;
    let recent = |from: u64| {
        history.faults.iter().filter(move |span| span.began <= now && span.ended >= now.saturating_sub(from))
    };
    // A busy machine takes Redis for unreachable now and then: once is always granted.
    let losses: u64 = 1 + recent(2 * MINUTE).map(|span| losses(span, nodes)).sum::<u64>();
    // A node that is cut off alone grants its share while the others use the whole bucket.
    let is_alone = |span: &&FaultSpan| matches!(span.fault, Fault::Partition { link: Link::Redis, .. });
    let alone: u64 = recent(MINUTE).filter(is_alone).map(|span| 2 * span.nodes.len() as u64).sum();
    let shares = losses.min(nodes + 1) + alone;
    // A node that starts soon after Redis lost its data knows no levels.
    let has_flapped = recent(2 * MINUTE).any(|span| matches!(span.fault, Fault::RedisFlap { .. }));
    let has_started = recent(2 * MINUTE).any(|span| span.fault.ends_process());
    let full_again = if has_flapped && has_started { limit } else { 0 };
    2 * limit + shares * limit.div_ceil(nodes) + full_again
}

/// How often nodes lost Redis in a fault.
fn losses(span: &FaultSpan, nodes: u64) -> u64 {
    match span.fault {
        Fault::RedisFlap { times } => u64::from(times) * nodes,
        Fault::RedisPause => nodes,
        Fault::Partition { link: Link::Redis, .. } | Fault::Pause { .. } => span.nodes.len() as u64,
        Fault::Partition { .. }
        | Fault::Kill { .. }
        | Fault::Stop { .. }
        | Fault::Install { .. }
        | Fault::SlowDisk { .. }
        | Fault::FullDisk { .. }
        | Fault::ClockJump { .. }
        | Fault::PostgresPause
        | Fault::PostgresFailover
        | Fault::MonthRollover => 0,
    }
}

/// At no moment are more GPUs committed than the organization may commit.
pub(super) fn allotment_is_never_passed(history: &History) -> Check {
    let mut check = Check::new("GPU allotment is never passed");
    for sample in &history.samples {
        let Some(store) = &sample.store else { continue };
        let committed: u64 = store.endpoints.iter().map(|endpoint| endpoint.committed).sum();
        let passed = committed > history.start.allotment;
        check.examine(
            passed
                .then(|| format!("{committed} of {} GPUs are committed at {} ms", history.start.allotment, sample.at)),
        );
    }
    check
}

/// At every moment, each endpoint commits what its scaling and its state say.
pub(super) fn ledger_equals_commitments(history: &History) -> Check {
    let mut check = Check::new("ledger = commitments");
    for sample in &history.samples {
        for endpoint in sample.store.iter().flat_map(|store| &store.endpoints) {
            let expected = commitment(endpoint);
            let differs = expected != endpoint.committed;
            check.examine(differs.then(|| {
                let EndpointRow { name, state, committed, .. } = endpoint;
                format!("{name} is {state} and commits {committed} instead of {expected} at {} ms", sample.at)
            }));
        }
    }
    check
}

fn commitment(endpoint: &EndpointRow) -> u64 {
    match endpoint.state.as_str() {
        "suspended" | "deleting" => 0,
        _ => endpoint.ceiling * endpoint.gpu_count,
    }
}
