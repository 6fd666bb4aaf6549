//! Schedules that once broke a rule.

use super::run::run_traced;
use super::schedule::Event::{Advance, Create, Delete, Elect, Kill, Round};
use super::schedule::{ALL_STEPS, Event, Fate, Schedule};
use domain::endpoint::failure::FailureClass;
use domain::endpoint::scaling::Mode;

fn keeps_the_rules(nodes: usize, events: Vec<Event>) {
    if let Err(failure) = run_traced(&Schedule { nodes, events }, None) {
        panic!("{}\n{:?}", failure.trace.join("\n"), failure.violation);
    }
}

/// The leader claimed GPUs, and started a process, for an endpoint that was deleted after it had read the endpoints.
#[test]
fn no_gpu_is_claimed_for_an_endpoint_that_was_deleted_during_the_round() {
    keeps_the_rules(
        2,
        vec![
            Elect { node: 0, steps: ALL_STEPS },
            Create { slot: 2, gpus: 1, mode: Mode::Autoscaled { min: 1, max: 3 } },
            Round { node: 0, steps: 6 },
            Delete { slot: 2 },
        ],
    );
}

/// A leader was paused between the claim of GPUs and the start. Meanwhile the next leader started the replica, and its
/// process ended and was forgotten; then the first one woke up and started it again, without a hold.
#[test]
fn a_paused_leader_does_not_start_a_replica_that_has_ended_meanwhile() {
    keeps_the_rules(
        2,
        vec![
            Create { slot: 0, gpus: 1, mode: Mode::Fixed { replicas: 1 } },
            Elect { node: 0, steps: ALL_STEPS },
            Elect { node: 1, steps: ALL_STEPS },
            Round { node: 0, steps: 9 },
            Advance(11_000),
            Elect { node: 1, steps: ALL_STEPS },
            Round { node: 1, steps: ALL_STEPS },
            Kill { index: 0, recorded: true },
            Round { node: 1, steps: ALL_STEPS },
            Round { node: 1, steps: ALL_STEPS },
            Round { node: 0, steps: ALL_STEPS },
        ],
    );
}

/// A leader was paused after it had listed the processes, and then stored its later time as the one at which a process was
/// last seen. The process had ended in between, so the pause was billed.
#[test]
fn a_paused_leader_has_not_seen_a_process_that_ended_meanwhile() {
    keeps_the_rules(
        1,
        vec![
            Event::Fate(Fate { crash: Some((4_170, FailureClass::Crash)), ..Fate::HEALTHY }),
            Elect { node: 0, steps: ALL_STEPS },
            Create { slot: 2, gpus: 1, mode: Mode::Autoscaled { min: 1, max: 2 } },
            Round { node: 0, steps: ALL_STEPS },
            Round { node: 0, steps: 3 },
            Advance(4_902),
        ],
    );
}

/// Two leaders with different clocks: the first one has stopped a drained replica, and the second one kept it because by its
/// clock the drain was not over.
#[test]
fn a_stopped_replica_is_not_kept_by_a_leader_whose_clock_is_behind() {
    let beat = |node| {
        [
            Advance(1_000),
            Event::Report { node, calls: 0 },
            Elect { node, steps: ALL_STEPS },
            Round { node, steps: ALL_STEPS },
        ]
    };
    let mut events = vec![
        Event::Fate(Fate { stop: 60_000, ..Fate::HEALTHY }),
        Event::SetClock { node: 0, by: 50_000 },
        Create { slot: 0, gpus: 1, mode: Mode::Fixed { replicas: 1 } },
    ];
    events.extend((0..4).flat_map(|_| beat(0)));
    events.push(Event::Suspend { slot: 0 });
    events.extend((0..5).flat_map(|_| beat(0)));
    events.extend([Event::Resume { slot: 0 }, Elect { node: 1, steps: ALL_STEPS }, Advance(11_000)]);
    events.extend((0..3).flat_map(|_| beat(1)));
    keeps_the_rules(2, events);
}
