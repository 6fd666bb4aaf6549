//! A small history in which everything holds, and for each invariant histories in which it does not.

use super::*;
use crate::history::{
    Action, Budget, Call, Command, CommandOutcome, EndpointRow, Event, Hold, Invoice, Key, Outcome, Period, Process,
    QuotaMonth, Sample, Start, StoreSample, Sum, Tokens, Workspace,
};
use crate::schedule::{Ending, Fault, Link, Victim};

const WALL: i64 = 1_767_225_600_000;
const MONTH: u64 = 202_601;
const TOKENS: Tokens = Tokens { prompt: 10, completion: 5, cached: 2 };
const OTHER_TOKENS: Tokens = Tokens { prompt: 11, completion: 5, cached: 2 };

fn call(number: u64, node: usize, began: u64, outcome: Outcome) -> Call {
    let tokens = if number == 1 { TOKENS } else { OTHER_TOKENS };
    Call {
        number,
        node,
        workspace: "ws".into(),
        key: "key_a".into(),
        model: "acme/tiny".into(),
        began,
        ended: began + 100,
        request: Some(format!("req_{number}")),
        scripted: Some(tokens),
        outcome,
    }
}

fn event(number: u64, tokens: Tokens) -> Event {
    Event {
        request: format!("req_{number}"),
        workspace: "ws".into(),
        actor: "key_a".into(),
        model: "acme/tiny".into(),
        tokens,
        certainty: "exact".into(),
        code: String::new(),
        cost: 30,
        started_at: WALL + 1_000,
        month: MONTH,
    }
}

fn sum(period: Period) -> Sum {
    let tokens = Tokens { prompt: 21, completion: 10, cached: 4 };
    Sum {
        period,
        workspace: "ws".into(),
        starts_at: WALL,
        model: "acme/tiny".into(),
        actor: "key_a".into(),
        requests: 2,
        tokens,
        cost: 60,
    }
}

fn command(began: u64, action: Action) -> Command {
    Command { began, ended: began + 10, action, outcome: CommandOutcome::Acknowledged }
}

fn endpoint(state: &str, committed: u64) -> EndpointRow {
    EndpointRow { name: "chat".into(), state: state.into(), ceiling: 2, gpu_count: 1, committed }
}

fn sample(at: u64, epoch: u64, renewals: u64, holder: &str) -> Sample {
    let endpoints = vec![endpoint("serving", 2)];
    let store = StoreSample { epoch, holder: holder.into(), renewals, endpoints };
    Sample { at, store: Some(store), leading: vec![Some(true), Some(false), None] }
}

fn fault(fault: Fault, node: usize, began: u64, ended: u64) -> FaultSpan {
    FaultSpan { fault, nodes: vec![node], began, ended }
}

fn good() -> History {
    let workspace = Workspace { id: "ws".into(), requests_per_minute: Some(2), monthly_tokens: Some(31) };
    let budget = Budget { name: "of a key".into(), keys: vec!["key_a".into()], cap: 60, is_monthly: true };
    let hold = Hold {
        replica: "rep_1".into(),
        workspace: "ws".into(),
        gpu_count: 2,
        started_at: WALL + 1_000,
        ended_at: Some(WALL + 37_000),
        billable: true,
        gpus: vec!["node_a/cpu-0".into()],
    };
    let invoice = Invoice { workspace: "ws".into(), month: MONTH, serverless: 60, gpu_hours: vec![20_000_000] };
    History {
        start: Start {
            seed: 1,
            wall_millis: WALL,
            nodes: 3,
            allotment: 4,
            workspaces: vec![workspace],
            budgets: vec![budget],
        },
        calls: vec![call(1, 0, 1_000, Outcome::Served(TOKENS)), call(2, 1, 2_000, Outcome::Served(OTHER_TOKENS))],
        commands: vec![
            command(10, Action::CreateKey { key: "key_b".into() }),
            command(50_000, Action::RevokeKey { key: "key_b".into() }),
            command(20, Action::CreateEndpoint { name: "chat".into() }),
        ],
        faults: vec![fault(Fault::Kill { victim: Victim::Leader }, 0, 10_000, 12_000)],
        samples: vec![sample(1_000, 1, 1, "node_a"), sample(11_000, 1, 2, "node_a"), sample(20_000, 2, 3, "node_b")],
        processes: vec![Process { replica: "rep_1".into(), began: 1_500, ended: 36_500 }],
        events: vec![event(1, TOKENS), event(2, OTHER_TOKENS)],
        sums: vec![sum(Period::Hour), sum(Period::Day)],
        quota_months: vec![QuotaMonth { workspace: "ws".into(), month: MONTH, used: 31 }],
        invoices: vec![invoice],
        holds: vec![hold],
        keys: vec![Key { id: "key_b".into(), revoked: true }],
        end: crate::history::End { endpoints: vec![endpoint("serving", 2)], ..Default::default() },
    }
}

/// The names of the checks that a change of the good history breaks.
fn broken(change: impl FnOnce(&mut History)) -> Vec<&'static str> {
    let mut history = good();
    change(&mut history);
    check(&history).into_iter().filter(|check| !check.holds()).map(|check| check.name).collect()
}

#[test]
fn a_good_history_has_no_violation_and_every_check_looked_at_something() {
    assert_eq!(broken(|_| {}), [""; 0]);
    let mut history = good();
    // Something for the two checks of later calls.
    history.calls.push(call(3, 0, 30_000, Outcome::Rejected { status: 429, code: "quota_exceeded".into() }));
    let late =
        Call { key: "key_b".into(), ..call(4, 0, 60_000, Outcome::Rejected { status: 401, code: String::new() }) };
    history.calls.push(late);
    for result in check(&history) {
        assert!(result.holds() && result.examined > 0, "{result}");
    }
}

#[test]
fn lost_and_changed_events_are_found() {
    let lost = broken(|history| history.events.truncate(1));
    assert!(lost.contains(&"no event lost"), "{lost:?}");
    let changed = broken(|history| history.events[0].tokens.completion += 1);
    assert!(changed.contains(&"no event lost"), "{changed:?}");
    assert_eq!(broken(|history| history.calls[0].request = None)[0], "no event lost");
    let stolen = broken(|history| history.events[0].actor = "key_z".into());
    assert!(stolen.contains(&"no event lost"), "{stolen:?}");
}

#[test]
fn doubled_events_are_found() {
    let twice = broken(|history| history.events.push(history.events[0].clone()));
    assert!(twice.contains(&"no event doubled"), "{twice:?}");
    let two_ids = broken(|history| history.events.push(event(9, TOKENS)));
    assert!(two_ids.contains(&"no event doubled"), "{two_ids:?}");
    // An event without a call: nothing but its unknown id gives it away.
    let invented = broken(|history| history.events.push(event(9, Tokens::default())));
    assert!(invented.contains(&"no event doubled"), "{invented:?}");
    let excused = broken(|history| {
        let lost = Call { request: None, ..call(9, 0, 11_000, Outcome::NoResponse { error: "reset".into() }) };
        history.calls.push(lost);
        history.events.push(Event { cost: 0, certainty: "void".into(), ..event(9, Tokens::default()) });
    });
    assert_eq!(excused, [""; 0], "its client saw no id");
}

#[test]
fn sums_that_differ_from_events_are_found() {
    assert_eq!(broken(|history| history.sums[0].cost += 1), ["sums = events"]);
    assert_eq!(broken(|history| history.sums[1].requests += 1), ["sums = events"]);
    assert_eq!(broken(|history| history.sums.truncate(1)), ["sums = events"]);
    let invented = Sum { workspace: "ws_other".into(), ..sum(Period::Hour) };
    assert_eq!(broken(|history| history.sums.push(invented)), ["sums = events"]);
}

#[test]
fn invoices_that_differ_from_events_are_found() {
    assert_eq!(broken(|history| history.invoices[0].serverless += 1), ["invoices = events"]);
    let missing = broken(|history| history.invoices.clear());
    assert_eq!(missing, ["invoices = events", "GPU-hours = intervals"]);
    let next = Invoice { workspace: "ws".into(), month: MONTH + 1, serverless: 1, gpu_hours: Vec::new() };
    assert_eq!(broken(|history| history.invoices.push(next)), ["invoices = events"]);
}

#[test]
fn events_with_the_time_of_a_wrong_clock_are_found() {
    let wrong = |history: &mut History| history.events[0].started_at += 7_200_000;
    let found = broken(wrong);
    assert!(found.contains(&"events have the time of the store"), "{found:?}");
    let jump = fault(Fault::ClockJump { victim: Victim::Node(0), seconds: 7_200 }, 0, 0, 9_000);
    let jumped = broken(|history| {
        wrong(history);
        history.faults.push(jump);
    });
    assert!(jumped.contains(&"events have the time of the store"), "it knows the store's time: {jumped:?}");
    let unknowing = broken(|history| {
        wrong(history);
        history.faults.push(fault(Fault::PostgresPause, 0, 0, 500));
    });
    assert!(!unknowing.contains(&"events have the time of the store"), "it may have started without the store");
}

#[test]
fn budgets_that_are_passed_or_lost_are_found() {
    const BUDGETS: &str = "budgets are never passed, and usable";
    let cap = |cap| broken(move |history: &mut History| history.start.budgets[0].cap = cap);
    assert_eq!((cap(59), cap(10_000_000)), (vec![BUDGETS], vec![BUDGETS]));
    assert_eq!(cap(1_000_000), [""; 0], "not enough is left for another call");
    let unused = broken(|history| history.start.budgets[0].keys = vec!["key_c".into()]);
    assert_eq!(unused, [BUDGETS], "no call has used it");
    let other_month = broken(|history| {
        history.start.budgets[0].cap = 10_000_000;
        history.events[1].month += 1;
        history.invoices.push(Invoice { month: MONTH + 1, serverless: 30, ..history.invoices[0].clone() });
        history.invoices[0].serverless = 30;
    });
    assert!(!other_month.contains(&BUDGETS), "{other_month:?}");
}

#[test]
fn waiting_journals_are_found() {
    assert_eq!(broken(|history| history.end.waiting_bytes = 1), ["journals are empty"]);
}

#[test]
fn a_passed_quota_is_found() {
    let cap = |tokens| move |history: &mut History| history.start.workspaces[0].monthly_tokens = Some(tokens);
    assert_eq!(broken(cap(30)), ["quotas are never passed"]);
    assert_eq!(broken(cap(31)), [""; 0]);
    let raised = Action::SetQuota { workspace: "ws".into(), monthly_tokens: 31 };
    let raised = broken(|history| {
        cap(30)(history);
        history.commands.push(command(5, raised));
    });
    assert_eq!(raised, [""; 0]);
    assert_eq!(broken(|history| history.quota_months[0].used = 30), ["quotas are never passed"]);
}

#[test]
fn passed_limits_per_minute_are_found() {
    let calls = |count: u64| {
        move |history: &mut History| {
            history.calls.extend((0..count).map(|number| call(10 + number, 2, 3_000, Outcome::Left)));
        }
    };
    assert_eq!(broken(calls(4)), ["limits per minute hold"], "two are served besides");
    assert_eq!(broken(calls(3)), [""; 0]);
    let with = |count: u64, span: &FaultSpan| {
        broken(|history| {
            calls(count)(history);
            history.faults.push(span.clone());
        })
    };
    let flap = fault(Fault::RedisFlap { times: 1 }, 0, 2_500, 2_900);
    assert_eq!(with(6, &flap), [""; 0], "three nodes add their share, and one more");
    assert_eq!(with(7, &flap), ["limits per minute hold"]);
    let alone = fault(Fault::Partition { victim: Victim::Node(0), link: Link::Redis }, 0, 2_500, 2_900);
    assert_eq!(with(6, &alone), [""; 0], "one that is cut off adds two");
    assert_eq!(with(7, &alone), ["limits per minute hold"]);
    let restart = fault(Fault::Stop { victim: Victim::Node(0) }, 0, 2_600, 2_900);
    let started = broken(|history| {
        calls(8)(history);
        history.faults.extend([flap, restart]);
    });
    assert_eq!(started, [""; 0], "a node that starts knows no levels");
}

#[test]
fn wrong_commitments_are_found() {
    let over = broken(|history| {
        history.samples[1].store.as_mut().unwrap().endpoints[0] = EndpointRow { ceiling: 5, ..endpoint("serving", 5) };
    });
    assert_eq!(over, ["GPU allotment is never passed"]);
    let wrong = broken(|history| history.samples[1].store.as_mut().unwrap().endpoints[0].committed = 1);
    assert_eq!(wrong, ["ledger = commitments"]);
    let kept = broken(|history| history.samples[1].store.as_mut().unwrap().endpoints[0] = endpoint("suspended", 2));
    assert_eq!(kept, ["ledger = commitments"]);
}

#[test]
fn wrong_gpu_hours_are_found() {
    assert_eq!(broken(|history| history.invoices[0].gpu_hours = vec![20_000_010]), ["GPU-hours = intervals"]);
    let open = broken(|history| history.holds[0].ended_at = None);
    assert_eq!(open, ["GPU-hours = intervals"]);
    let backwards = broken(|history| history.holds[0].ended_at = Some(WALL));
    assert!(backwards.contains(&"GPU-hours = intervals"), "{backwards:?}");
    let shared = Hold { replica: "rep_2".into(), billable: false, started_at: WALL + 36_000, ..good().holds.remove(0) };
    assert_eq!(broken(|history| history.holds.push(shared)), ["no GPU is held twice"]);
    let (two_hours, process) = (7_200_000, Process { replica: "rep_9".into(), began: 1, ended: 2 });
    let wrong_clock = broken(|history| {
        history.holds[0].started_at += two_hours;
        history.holds[0].ended_at = Some(WALL + 37_000 + two_hours);
    });
    assert_eq!(wrong_clock, ["holds match processes"]);
    assert_eq!(broken(|history| history.processes.push(process)), ["holds match processes"]);
    let jump = fault(Fault::ClockJump { victim: Victim::Leader, seconds: 7_200 }, 0, 30_000, 40_000);
    let torn = broken(|history| {
        history.holds[0].started_at -= 20_000;
        history.invoices[0].gpu_hours = vec![31_111_111];
        history.faults.push(jump);
    });
    assert_eq!(torn, [""; 0], "the clocks of a gateway and of its replicas differed when it ended");
}

#[test]
fn revoked_keys_that_are_served_are_found() {
    let with = |number, node, began, outcome| Call { key: "key_b".into(), ..call(number, node, began, outcome) };
    let rejected = || Outcome::Rejected { status: 401, code: "invalid_api_key".into() };
    let late = broken(|history| history.calls.push(with(9, 0, 56_000, Outcome::Left)));
    assert_eq!(late, ["revoked keys stay revoked"]);
    assert_eq!(broken(|history| history.calls.push(with(9, 0, 51_000, Outcome::Left))), [""; 0], "soon enough");
    let again = broken(|history| {
        history.calls.push(with(8, 0, 50_500, rejected()));
        history.calls.push(with(9, 0, 51_000, Outcome::Left));
    });
    assert_eq!(again, ["revoked keys stay revoked"]);
    let cut = fault(Fault::Partition { victim: Victim::Node(0), link: Link::Postgres }, 0, 49_000, 58_000);
    let unknowing = broken(|history| {
        history.faults.push(cut);
        history.calls.push(with(9, 0, 62_000, Outcome::Left));
    });
    assert_eq!(unknowing, [""; 0], "it could not know");
}

#[test]
fn valid_keys_that_are_rejected_are_found() {
    let rejected = || Outcome::Rejected { status: 401, code: "invalid_api_key".into() };
    assert_eq!(broken(|history| history.calls.push(call(9, 0, 5_000, rejected()))), ["valid keys are never rejected"]);
}

#[test]
fn calls_that_we_cut_are_found() {
    let reset = || Outcome::NoResponse { error: "reset".into() };
    let cut = || Outcome::Cut { error: "reset".into() };
    let refused = || Outcome::Unreachable { error: "refused".into() };
    let lost = |node, began, outcome| move |history: &mut History| history.calls.push(call(9, node, began, outcome));
    let name = ["no call is cut by us"];
    for outcome in [reset(), cut(), refused(), Outcome::TimedOut, Outcome::ErrorEvent { code: "upstream".into() }] {
        assert_eq!(broken(lost(1, 10_500, outcome.clone())), name, "{outcome:?} on a node without a fault");
    }
    for outcome in [reset(), cut(), refused(), Outcome::TimedOut] {
        assert_eq!(broken(lost(0, 10_500, outcome)), [""; 0], "its node was killed");
    }
    let stopping = |outcome| {
        broken(move |history| {
            history.faults[0].fault = Fault::Stop { victim: Victim::Leader };
            lost(0, 10_500, outcome)(history);
        })
    };
    assert_eq!(stopping(refused()), [""; 0]);
    assert_eq!(stopping(reset()), name, "a stopping node finishes what it accepted");
    assert_eq!(stopping(cut()), name);
}

#[test]
fn calls_that_fail_after_the_last_fault_are_found() {
    let rejected = Outcome::Rejected { status: 503, code: "store_unavailable".into() };
    let late = broken(|history| history.calls.push(call(9, 0, 40_000, rejected.clone())));
    assert_eq!(late, ["calls succeed again after the last fault"]);
    let deleted = Call { model: "dedicated/chat".into(), ..call(9, 0, 40_000, rejected.clone()) };
    assert_eq!(broken(|history| history.calls.push(deleted)), [""; 0], "an endpoint may be gone");
    assert_eq!(broken(|history| history.calls.push(call(9, 0, 13_000, rejected))), [""; 0], "it may recover first");
}

#[test]
fn processes_that_end_unasked_are_found() {
    let crashed = broken(|history| history.end.unexpected_exits.push("node 1 ended with signal 6".into()));
    assert_eq!(crashed, ["no process ends unasked"]);
}

#[test]
fn two_leaders_are_found() {
    let both = || vec![Some(true), Some(true), None];
    let overlap = broken(|history| {
        history.samples[0].leading = both();
        history.samples[1].leading = both();
    });
    assert_eq!(overlap, ["one leader at a time"]);
    assert_eq!(broken(|history| history.samples[1].leading = both()), [""; 0], "only for a moment");
    let shared = broken(|history| history.samples[2] = sample(20_000, 1, 3, "node_b"));
    assert_eq!(shared, ["one leader at a time"]);
    let back = broken(|history| history.samples[2] = sample(20_000, 0, 3, "node_b"));
    assert_eq!(back, ["one leader at a time"]);
}

#[test]
fn a_missing_leader_is_found() {
    let silent = |at| move |history: &mut History| history.samples.push(sample(at, 2, 3, "node_b"));
    assert_eq!(broken(silent(38_100)), ["a leader within 15 s"]);
    assert_eq!(broken(silent(37_900)), [""; 0]);
    let excused = broken(|history| {
        silent(45_000)(history);
        history.faults.push(fault(Fault::PostgresPause, 0, 21_000, 46_000));
    });
    assert_eq!(excused, [""; 0], "without the store, no node can lead");
    let full = Fault::FullDisk { victim: Victim::Leader, ending: Ending::Survives };
    let restarted = broken(|history| {
        silent(45_000)(history);
        history.faults.push(fault(full, 0, 30_000, 46_000));
    });
    assert_eq!(restarted, [""; 0], "the time starts with the fault");
    let elsewhere = broken(|history| {
        silent(45_000)(history);
        history.faults.push(fault(full, 1, 30_000, 46_000));
    });
    assert_eq!(elsewhere, ["a leader within 15 s"], "it hit another node");
}

#[test]
fn acknowledged_commands_that_did_not_last_are_found() {
    let name = ["acknowledged commands last"];
    assert_eq!(broken(|history| history.keys.clear()), name);
    assert_eq!(broken(|history| history.keys[0].revoked = false), name);
    assert_eq!(broken(|history| history.end.endpoints.clear()), name);
    let deleted = || command(30, Action::DeleteEndpoint { name: "chat".into() });
    assert_eq!(broken(|history| history.commands.push(deleted())), name);
    let suspended = command(30, Action::SuspendEndpoint { name: "chat".into() });
    assert_eq!(broken(|history| history.commands.push(suspended)), name);
    let unknown = CommandOutcome::Unknown { error: "reset".into() };
    let doubtful = broken(|history| history.commands.push(Command { outcome: unknown, ..deleted() }));
    assert_eq!(doubtful, [""; 0], "it may or may not have taken effect");
}
