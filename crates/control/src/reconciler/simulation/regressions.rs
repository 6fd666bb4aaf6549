//! Schedules that once broke a rule.

use super::run::run_traced;
use super::schedule::Event::{Advance, Create, Delete, Elect, Kill, Round};
use super::schedule::{ALL_STEPS, Event, Schedule};
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
