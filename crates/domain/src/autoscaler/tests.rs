//! The contract's vectors of the autoscaler, and properties of its decisions.

use super::signal::{Concurrency, EngineLoad, NodeReport};
use super::*;
use crate::endpoint::scaling::{ScalingPatch, Windows};
use crate::endpoint::state::{self, State, StateInput, StateReason, Trigger};
use proptest::prelude::*;

const CALLS: Target = Target::Concurrency(10);
const KV: Target = Target::KvCacheUsage(700);

/// The defaults of the contract's vectors, which each vector changes.
#[derive(Clone, Copy)]
struct Setup {
    current: u32,
    min: u32,
    max: u32,
    target: Target,
    windows: Windows,
    /// As many as are desired, unless set.
    ready: Option<u32>,
}

const fn setup(current: u32) -> Setup {
    let windows = Windows { to_zero_secs: 3_600, up_secs: 30, down_secs: 600 };
    Setup { current, min: 1, max: 8, target: CALLS, windows, ready: None }
}

impl Setup {
    const fn down(mut self, secs: u32) -> Self {
        self.windows.down_secs = secs;
        self
    }

    const fn to_zero(mut self, secs: u32) -> Self {
        self.windows.to_zero_secs = secs;
        self
    }

    const fn min(mut self, min: u32) -> Self {
        self.min = min;
        self
    }

    const fn max(mut self, max: u32) -> Self {
        self.max = max;
        self
    }

    const fn kv(mut self) -> Self {
        self.target = KV;
        self
    }

    const fn ready(mut self, ready: u32) -> Self {
        self.ready = Some(ready);
        self
    }

    fn scaling(&self) -> Scaling {
        Scaling { mode: Mode::Autoscaled { min: self.min, max: self.max }, target: self.target, windows: self.windows }
    }

    fn observe(&self, current: u32, signal: Signal) -> Observation {
        let idle = matches!(signal, Signal::Seen(0));
        Observation {
            scaling: self.scaling(),
            current,
            ready: self.ready.unwrap_or(current),
            signal,
            open_calls: u64::from(!idle),
            last_activity: at(0),
            no_shrink_until: None,
            concurrency: None,
            prefill: PrefillQueue::default(),
            prefill_target: 1_000,
        }
    }

    /// The decisions that change something, from t = 10 s on, as `seconds:replicas`: `30:4 40:2`.
    fn run(&self, signals: impl Iterator<Item = Signal>) -> String {
        let mut memory = Memory::seeded(self.current, at(0));
        let (mut current, mut changes) = (self.current, Vec::new());
        for (tick, signal) in (1..).zip(signals) {
            let now = at(tick * 10);
            let decision = decide(&mut memory, &self.observe(current, signal), now);
            if decision.changes() {
                changes.push(format!("{}:{}", tick * 10, decision.to));
            }
            current = decision.to;
        }
        changes.join(" ")
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

/// These loads, then the last one repeated, for 20 minutes.
fn loads(first: Vec<Milli>) -> impl Iterator<Item = Signal> {
    let last = first.last().copied().unwrap();
    first.into_iter().chain(std::iter::repeat(last)).map(Signal::Seen).take(120)
}

/// In concurrent calls.
fn calls(first: &[Milli]) -> impl Iterator<Item = Signal> + use<> {
    loads(first.iter().map(|calls| calls * 1_000).collect())
}

fn always(signal: Signal) -> impl Iterator<Item = Signal> {
    std::iter::repeat_n(signal, 120)
}

/// The signal of replicas with this cache usage, running and waiting calls each.
fn engines(engines: &[Option<(Milli, u64, u64)>]) -> Signal {
    let load = |(kv_usage, running, waiting)| EngineLoad { at: at(0), kv_usage, running, waiting };
    let ready: Vec<_> = engines.iter().map(|engine| engine.map(load)).collect();
    signal::kv_cache(&ready, KV.milli(), at(10))
}

fn quiet(kv_usage: Milli) -> Option<(Milli, u64, u64)> {
    Some((kv_usage, 10, 0))
}

fn nodes(loads: &[Milli]) -> Signal {
    let reports: Vec<_> = loads.iter().map(|load| NodeReport { at: at(0), load: load * 1_000 }).collect();
    signal::concurrency(&reports, 600, at(10)).signal
}

#[test]
fn the_vectors_of_the_contract() {
    for (number, decisions, expected) in [
        (1, setup(3).run(calls(&[31])), ""),
        (2, setup(3).run(calls(&[33])), ""),
        (3, setup(3).run(calls(&[34])), "30:4"),
        (4, setup(2).run(calls(&[18, 30])), "40:3"),
        (5, setup(2).run(calls(&[18, 30, 30, 18])), ""),
        (6, setup(1).run(calls(&[0, 45, 45]).take(3)), "20:5"),
        (7, setup(1).ready(1).max(40).run(calls(&[400])), "10:5 20:10 30:20 40:40"),
        (8, setup(1).run(calls(&[45, 5])), "10:5 610:3 620:2 660:1"),
        (9, setup(4).run(calls(&[40, 10])), "610:3 620:2 660:1"),
        (10, setup(8).down(30).run(calls(&[0])), "30:4 40:2 50:1"),
        (11, setup(4).min(2).down(30).run(calls(&[0])), "30:2"),
        (12, setup(6).run(calls(&[120])), "10:8"),
        (13, setup(1).min(0).to_zero(300).run(calls(&[0])), "300:0"),
        (14, setup(4).min(0).max(4).to_zero(300).run(calls(&[0])), "300:2 310:1 320:0"),
        (15, setup(1).to_zero(300).run(calls(&[0])), ""),
        (16, setup(2).run(calls(&[5, 25]).take(2).collect::<Vec<_>>().into_iter().cycle().take(120)), ""),
        (17, setup(3).run(calls(&[30, 30, 5, 30])), ""),
        (18, setup(6).run(calls(&[10])), "600:3 610:2 620:1"),
        (20, setup(2).run(always(nodes(&[12, 9]))), ""),
        (21, setup(2).run(always(nodes(&[12, 13]))), "30:3"),
        (22, setup(2).kv().run(always(engines(&[quiet(950), quiet(950)]))), "30:3"),
        (23, setup(2).kv().run(always(engines(&[Some((1_000, 20, 20)), Some((1_000, 20, 20))]))), "10:6"),
        (24, setup(3).kv().run(always(engines(&[quiet(740), quiet(740), quiet(740)]))), ""),
        (25, setup(3).kv().down(30).run(always(engines(&[quiet(200), quiet(200), None]))), "30:2"),
        (26, setup(3).kv().run(always(engines(&[quiet(950), quiet(950), None]))), ""),
        (27, setup(3).kv().run(always(engines(&[None, None, None]))), ""),
    ] {
        assert_eq!(decisions, expected, "vector {number}");
    }
}

#[test]
fn vector_19_a_wake_is_sized_by_the_held_calls_and_starts_at_most_four() {
    for (held, max, replicas) in [(1, 8, 1), (11, 8, 2), (25, 8, 3), (100, 8, 4), (25, 2, 2), (0, 8, 1)] {
        assert_eq!(wake_size(CALLS, max, held), replicas, "{held} held");
    }
    assert_eq!(wake_size(KV, 8, 100), 1);
}

#[test]
fn vector_25_a_missing_replica_counts_as_if_at_its_target() {
    assert_eq!(engines(&[quiet(200), quiet(200), None]), Signal::Seen(1_100));
    let ignoring = setup(3).kv().down(30).run(always(Signal::Seen(400)));
    assert_eq!(ignoring, "30:2 40:1", "what ignoring it would give");
}

#[test]
fn vector_28_a_lower_ceiling_applies_at_once() {
    let setup = setup(8);
    let standing = StateInput {
        state: State::Serving,
        reason: StateReason::Plain,
        scaling: setup.scaling(),
        gpu_count: 1,
        desired: 8,
    };
    let lower = setup.scaling().patched(&ScalingPatch { max: Some(4), ..ScalingPatch::default() }, None).unwrap();
    assert_eq!(state::step(&standing, Trigger::Rescaled(lower)).unwrap().desired, 4);
    for load in [0, 80_000, 800_000] {
        let observed = Observation { scaling: lower, ..setup.observe(8, Signal::Seen(load)) };
        assert_eq!(decide(&mut Memory::seeded(8, at(0)), &observed, at(10)).to, 4, "{load}");
    }
}

#[test]
fn vector_29_a_fixed_endpoint_never_scales() {
    for load in [0, 500_000] {
        let observed = setup(3).observe(3, Signal::Seen(load));
        let scaling = Scaling { mode: Mode::Fixed { replicas: 3 }, ..observed.scaling };
        let decision = decide(&mut Memory::seeded(3, at(0)), &Observation { scaling, ..observed }, at(10));
        assert_eq!((decision.to, decision.reason), (3, Reason::Fixed));
    }
}

#[test]
fn every_change_has_an_explanation() {
    let mut memory = Memory::seeded(2, at(0));
    let kv = setup(2).kv();
    let mut decisions = Vec::new();
    for tick in 1..=3 {
        decisions.push(decide(&mut memory, &kv.observe(2, Signal::Seen(1_820)), at(tick * 10)));
    }
    assert_eq!(decisions[0].to_string(), "2: kv-cache 0.91 against 0.70");
    assert_eq!(decisions[2].to_string(), "2 → 3: kv-cache 0.91 against 0.70 for 30 s");
    let inputs = decisions[2].inputs();
    assert_eq!((inputs.old_replicas, inputs.new_replicas), (2, 3));
    assert_eq!((inputs.load.as_deref(), inputs.mean_per_replica.as_deref()), (Some("1.82"), Some("0.91")));

    let first = |setup: Setup, signal, seconds| {
        decide(&mut Memory::seeded(setup.current, at(0)), &setup.observe(setup.current, signal), at(seconds))
            .to_string()
    };
    assert_eq!(first(setup(3), Signal::Seen(36_000), 10), "3: concurrency 12 against 10");
    assert_eq!(
        first(setup(1), Signal::Seen(45_000), 10),
        "1 → 5: concurrency 45 with 1 ready, at least twice the target of 10 each"
    );
    assert_eq!(first(setup(4).down(30), Signal::Seen(15_000), 30), "4 → 2: concurrency 3.8 against 10 for 30 s");
    assert_eq!(first(setup(1).min(0).to_zero(60), Signal::Seen(0), 60), "1 → 0: no call for 60 s");
    assert_eq!(first(setup(2).kv(), Signal::Missing, 10), "2: kv-cache is unknown");
}

#[test]
fn a_missing_metric_is_reported_once_and_concurrency_may_only_scale_up() {
    let kv = setup(2).kv();
    let mut memory = Memory::seeded(2, at(0));
    let mut tick = |seconds, signal, open: Milli| {
        let observed = Observation { concurrency: Some((open * 1_000, 16)), ..kv.observe(2, signal) };
        decide(&mut memory, &observed, at(seconds))
    };
    for seconds in [10, 20, 30, 40, 50, 60, 70] {
        let decision = tick(seconds, Signal::Missing, 80);
        assert_eq!((decision.to, decision.notice), (2, None), "{seconds}");
    }
    let reported = tick(80, Signal::Missing, 80);
    assert_eq!((reported.to, reported.notice), (5, Some(Notice::MetricsMissing)));
    assert_eq!(
        reported.to_string(),
        "2 → 5: kv-cache is unknown, and 80 concurrent calls need more replicas at 16 each"
    );
    let idle = tick(90, Signal::Missing, 0);
    assert_eq!((idle.to, idle.notice), (2, None));
    assert_eq!(tick(100, Signal::Seen(1_400), 0).notice, Some(Notice::MetricsRecovered));
    assert_eq!(tick(110, Signal::Seen(1_400), 0).notice, None);
}

#[test]
fn a_silent_node_counts_for_half_a_minute_and_then_blocks_scale_down_for_a_window() {
    let report = |seconds, load| NodeReport { at: at(seconds), load };
    let reports = [report(0, 12_000), report(30, 9_000)];
    let fresh = signal::concurrency(&reports, 600, at(30));
    assert_eq!(fresh, Concurrency { signal: Signal::Seen(21_000), no_shrink_until: None });
    let lost = signal::concurrency(&reports, 600, at(31));
    assert_eq!(lost, Concurrency { signal: Signal::Seen(9_000), no_shrink_until: Some(at(630)) });
    assert_eq!(signal::concurrency(&[], 600, at(31)).signal, Signal::Missing, "there is no report");

    let no_shrink = |until| {
        let observed =
            Observation { no_shrink_until: Some(at(until)), ..setup(4).down(30).observe(4, Signal::Seen(0)) };
        decide(&mut Memory::seeded(4, at(0)), &observed, at(40)).to
    };
    assert_eq!((no_shrink(41), no_shrink(40)), (4, 2));
}

#[test]
fn missing_replicas_never_reverse_a_direction_and_a_majority_makes_the_metric_missing() {
    assert_eq!(engines(&[quiet(950), quiet(950), None]), Signal::Unclear);
    assert_eq!(engines(&[Some((1_000, 10, 10)), quiet(900), None]), Signal::Seen(2_900));
    assert_eq!(engines(&[quiet(200), None]), Signal::Seen(900), "half of them is not more than half");
    assert_eq!(engines(&[quiet(200), None, None]), Signal::Missing);
    assert_eq!(engines(&[]), Signal::Unclear, "a cold start is not a missing metric");
    let old = EngineLoad { at: at(0), kv_usage: 500, running: 1, waiting: 0 };
    assert_eq!(signal::kv_cache(&[Some(old)], 700, at(30)), Signal::Seen(500));
    assert_eq!(signal::kv_cache(&[Some(old)], 700, at(31)), Signal::Missing);
    let crowded = EngineLoad { kv_usage: 1_000, running: 0, waiting: 50, ..old };
    assert_eq!(crowded.demand(), 4_000, "capped");
}

#[test]
fn prompts_in_flight_scale_up_after_the_window_and_say_so() {
    let setup = setup(1);
    let run = |prefill: &[PrefillQueue]| {
        let mut memory = Memory::seeded(1, at(0));
        let mut decisions = (1..).zip(prefill).map(|(tick, prefill)| {
            let observed = Observation { prefill: *prefill, ..setup.observe(1, Signal::Seen(2_000)) };
            decide(&mut memory, &observed, at(tick * 10))
        });
        decisions.find(Decision::changes)
    };
    let queue = |tokens, calls| PrefillQueue { tokens, calls };
    let decision = run(&[queue(2_500, 5); 3]).unwrap();
    assert_eq!(
        decision.to_string(),
        "1 → 3: 2500 prompt tokens of 5 calls in flight, at most 1000 per replica, for 30 s"
    );
    let inputs = decision.inputs();
    assert_eq!((inputs.prefill_tokens, inputs.prefill_calls, inputs.prefill_target), (2_500, 5, 1_000));
    assert_eq!(run(&[queue(2_500, 5), queue(0, 0), queue(2_500, 5)]), None, "not for the whole window");
    assert_eq!(run(&[queue(9_000, 1); 9]), None, "a single prompt cannot be divided");
    assert_eq!(queue(9_000, 9).replicas(0), 0, "not considered");
}

#[test]
fn prompts_in_flight_prevent_a_scale_down_and_ask_for_nothing_else() {
    let setup = setup(3).down(30);
    let mut memory = Memory::seeded(3, at(0));
    let mut decide_with = |tick: i64, tokens| {
        let prefill = PrefillQueue { tokens, calls: 9 };
        decide(&mut memory, &Observation { prefill, ..setup.observe(3, Signal::Seen(1_000)) }, at(tick * 10)).to
    };
    assert_eq!((1..=6).map(|tick| decide_with(tick, 2_500)).collect::<Vec<_>>(), [3; 6]);
    assert_eq!(decide_with(7, 9_000), 3, "a queue of one moment");
    assert_eq!((8..=10).map(|tick| decide_with(tick, 0)).collect::<Vec<_>>(), [3, 3, 2]);
}

#[test]
fn a_restarted_autoscaler_continues_from_its_stored_memory() {
    let mut memory = Memory::seeded(4, at(0));
    let setup = setup(4);
    for tick in 1..=30 {
        decide(&mut memory, &setup.observe(4, Signal::Seen(5_000)), at(tick * 10));
    }
    let text = serde_json::to_string(&memory).unwrap();
    assert!(text.len() < 400, "small enough to be written every tick: {text}");
    assert_eq!(serde_json::from_str::<Memory>(&text).unwrap(), memory);
}

#[test]
fn idle_at_two_ticks_is_not_idle_for_the_window() {
    let sleepy = setup(1).min(0).to_zero(60);
    let called = Observation { last_activity: at(30), ..sleepy.observe(1, Signal::Seen(0)) };
    assert_eq!(decide(&mut Memory::seeded(1, at(0)), &called, at(89)).to, 1);
    assert_eq!(decide(&mut Memory::seeded(1, at(0)), &called, at(90)).to, 0);
    let busy = Observation { open_calls: 1, ..called };
    assert_eq!(decide(&mut Memory::seeded(1, at(0)), &busy, at(500)).to, 1, "a held call keeps it awake");
}

proptest! {
    #[test]
    fn a_constant_load_never_oscillates_and_the_bounds_always_hold(
        current in 1..=64_u32, min in 0..=64_u32, spread in 0..=64_u32, load in 0..2_000_000_u64, target in 1..=200_u32,
        up_secs in 0..=120_u32, down_secs in 0..=120_u32, tokens in 0..100_000_u64, prefilling in 0..=100_u64,
    ) {
        let max = (min + spread).clamp(1, 64);
        let min = min.min(max);
        let windows = Windows { to_zero_secs: 86_400, up_secs, down_secs };
        let setup = Setup { current: current.clamp(min.max(1), max), min, max, target: Target::Concurrency(target), windows, ready: None };
        let mut memory = Memory::seeded(setup.current, at(0));
        let mut numbers = vec![setup.current];
        for tick in 1..=60 {
            let current = *numbers.last().unwrap();
            let prefill = PrefillQueue { tokens, calls: prefilling };
            let observed = Observation { prefill, ..setup.observe(current, Signal::Seen(load)) };
            let decision = decide(&mut memory, &observed, at(tick * 10));
            prop_assert!((min.max(1)..=max).contains(&decision.to));
            numbers.push(decision.to);
        }
        prop_assert!(numbers.is_sorted() || numbers.iter().rev().is_sorted(), "{:?}", numbers);
    }

    #[test]
    fn under_any_load_the_bounds_hold_and_no_step_is_too_large(
        loads in prop::collection::vec(prop_oneof![Just(None), (0..500_000_u64).prop_map(Some)], 1..80),
        ready in 0..10_u32, min in 0..=3_u32, more in 0..=9_u32,
    ) {
        let max = (min + more).max(1);
        let setup = Setup { min, max, ready: Some(ready), ..setup(min.max(1)) }.down(60).to_zero(60);
        let mut memory = Memory::seeded(setup.current, at(0));
        let mut current = setup.current;
        for (tick, load) in (1..).zip(loads) {
            let signal = load.map_or(Signal::Missing, Signal::Seen);
            let decision = decide(&mut memory, &setup.observe(current, signal), at(tick * 10));
            prop_assert!(decision.to <= max && (decision.to >= min.max(1) || (min == 0 && current <= 1)));
            prop_assert!(decision.to <= (2 * current).max(current + 4) && decision.to * 2 + 1 >= current);
            current = decision.to;
        }
    }
}
