//! One test per row of the contract's table, in its order.

use super::*;
use crate::endpoint::scaling::ScalingPatch;
use crate::endpoint::state::Admission;

const GPUS: u32 = 4;

fn scaling(patch: ScalingPatch) -> Scaling {
    Scaling::create(&patch, None).unwrap()
}

fn fixed(replicas: u32) -> Scaling {
    scaling(ScalingPatch { replicas: Some(replicas), ..ScalingPatch::default() })
}

fn ranged(min: u32, max: u32) -> Scaling {
    scaling(ScalingPatch { min: Some(min), max: Some(max), ..ScalingPatch::default() })
}

fn standing(state: State, scaling: Scaling, desired: u32) -> StateInput {
    StateInput { state, reason: StateReason::Plain, scaling, gpu_count: GPUS, desired }
}

/// `state (reason) desired/committed`.
fn shown(step: Result<Step, StepError>) -> String {
    match step {
        Ok(step) => {
            let to = match step.to {
                Next::State(state) => state.as_str(),
                Next::Gone => "gone",
            };
            format!("{to} ({}) {}/{}", step.reason.as_str(), step.desired, step.committed)
        }
        Err(StepError::Deleting) => "rejected: deleting".into(),
        Err(StepError::NotApplicable(state)) => format!("not applicable: {state}"),
    }
}

fn after(state: State, scaling: Scaling, desired: u32, trigger: Trigger) -> String {
    shown(step(&standing(state, scaling, desired), trigger))
}

#[test]
fn row_1_a_create_starts_the_fixed_count_or_the_floor_and_commits_the_ceiling() {
    assert_eq!(shown(Ok(create(fixed(2), GPUS))), "provisioning (created) 2/8");
    assert_eq!(shown(Ok(create(ranged(0, 3), GPUS))), "provisioning (created) 1/12");
    assert_eq!(shown(Ok(create(ranged(2, 3), GPUS))), "provisioning (created) 2/12");
    assert_eq!(State::Provisioning.admission(), Admission::Held);
}

#[test]
fn row_2_without_a_free_gpu_it_waits_and_continues_once_there_is_one() {
    let waiting = step(&standing(State::Provisioning, fixed(1), 1), Trigger::NoFreeGpu);
    assert_eq!(shown(waiting), "provisioning (waiting-for-gpus) 1/4");
    let there = StateInput { reason: StateReason::WaitingForGpus, ..standing(State::Provisioning, fixed(1), 1) };
    assert_eq!(shown(step(&there, Trigger::GpusBound)), "provisioning () 1/4");
    assert_eq!(after(State::Serving, fixed(1), 1, Trigger::NoFreeGpu), "not applicable: serving");
    let no_weights = after(State::Provisioning, fixed(1), 1, Trigger::NoWeights);
    assert_eq!(no_weights, "provisioning (waiting-for-weights) 1/4");
}

#[test]
fn row_3_the_first_ready_replica_serves() {
    assert_eq!(after(State::Provisioning, ranged(1, 3), 1, Trigger::Ready), "serving () 1/12");
    assert_eq!(State::Serving.admission(), Admission::Routed);
}

#[test]
fn row_4_a_permanent_start_failure_stops_all_and_keeps_the_commitment() {
    for reason in FailureReason::ALL {
        let failed = after(State::Provisioning, ranged(1, 3), 1, Trigger::StartFailed(reason));
        assert_eq!(failed, format!("failed ({}) 0/12", reason.as_str()));
    }
    assert_eq!(State::Failed.admission(), Admission::NotServing);
}

#[test]
fn row_5_scaling_changes_the_number_and_the_commitment_follows_the_ceiling_alone() {
    assert_eq!(after(State::Serving, ranged(1, 3), 1, Trigger::Autoscaled { desired: 2 }), "serving () 2/12");
    assert_eq!(after(State::Serving, ranged(1, 3), 1, Trigger::Autoscaled { desired: 9 }), "serving () 3/12");
    assert_eq!(after(State::Serving, ranged(1, 8), 8, Trigger::Rescaled(ranged(1, 4))), "serving () 4/16");
    assert_eq!(after(State::Serving, ranged(1, 8), 3, Trigger::Rescaled(fixed(2))), "serving () 2/8");
    assert_eq!(after(State::Serving, fixed(3), 3, Trigger::Rescaled(ranged(1, 4))), "serving () 3/16");
    assert_eq!(after(State::Provisioning, fixed(3), 3, Trigger::Rescaled(fixed(5))), "provisioning () 5/20");
}

#[test]
fn row_6_a_lost_replica_among_others_degrades_until_one_is_ready_again() {
    assert_eq!(after(State::Serving, fixed(2), 2, Trigger::ReplicaLost { ready: 1 }), "serving (degraded) 2/8");
    let degraded = StateInput { reason: StateReason::Degraded, ..standing(State::Serving, fixed(2), 2) };
    assert_eq!(shown(step(&degraded, Trigger::Ready)), "serving () 2/8");
}

#[test]
fn row_7_when_the_last_ready_replica_is_lost_calls_are_held_again() {
    let lost = after(State::Serving, ranged(1, 3), 2, Trigger::ReplicaLost { ready: 0 });
    assert_eq!(lost, "provisioning (recovering) 2/12");
}

#[test]
fn row_8_the_last_idle_replica_goes_and_the_commitment_stays() {
    assert_eq!(after(State::Serving, ranged(0, 3), 1, Trigger::Idle), "scaled-to-zero () 0/12");
    for (scaling, desired) in [(ranged(0, 3), 2), (ranged(1, 3), 1), (fixed(1), 1)] {
        assert_eq!(after(State::Serving, scaling, desired, Trigger::Idle), "not applicable: serving");
    }
}

#[test]
fn row_9_a_call_wakes_it_once() {
    let woken = after(State::ScaledToZero, ranged(0, 3), 0, Trigger::Request { wake: 2 });
    assert_eq!(woken, "provisioning (cold-start) 2/12");
    assert_eq!(after(State::Provisioning, ranged(0, 3), 2, Trigger::Request { wake: 3 }), "provisioning () 2/12");
    assert_eq!(State::ScaledToZero.admission(), Admission::HeldAndWakes);
}

#[test]
fn row_10_a_floor_or_a_fixed_count_starts_an_endpoint_at_zero() {
    let floor = after(State::ScaledToZero, ranged(0, 3), 0, Trigger::Rescaled(ranged(2, 3)));
    assert_eq!(floor, "provisioning (scaled) 2/12");
    let pinned = after(State::ScaledToZero, ranged(0, 3), 0, Trigger::Rescaled(fixed(1)));
    assert_eq!(pinned, "provisioning (scaled) 1/4");
    let ceiling = after(State::ScaledToZero, ranged(0, 3), 0, Trigger::Rescaled(ranged(0, 5)));
    assert_eq!(ceiling, "scaled-to-zero () 0/20");
}

#[test]
fn row_11_a_suspend_drains_everything_and_frees_the_commitment_at_once() {
    for state in [State::Provisioning, State::Serving, State::ScaledToZero, State::Failed] {
        let suspended = step(&standing(state, fixed(2), 2), Trigger::Suspend);
        assert_eq!(shown(suspended), "suspended () 0/0");
        assert_eq!(suspended.unwrap().drain_secs, 120);
    }
    assert_eq!(after(State::Suspended, fixed(2), 0, Trigger::Suspend), "suspended () 0/0");
    assert_eq!(State::Suspended.admission(), Admission::Held);
    assert_eq!(after(State::Suspended, fixed(2), 0, Trigger::Request { wake: 1 }), "suspended () 0/0");
}

#[test]
fn rows_12_and_13_a_resume_starts_like_a_create_and_the_ledger_decides_about_its_commitment() {
    let resumed = after(State::Suspended, ranged(0, 3), 0, Trigger::Resume(ranged(0, 3)));
    assert_eq!(resumed, "provisioning (resumed) 1/12");
    let smaller = after(State::Suspended, fixed(3), 0, Trigger::Resume(fixed(2)));
    assert_eq!(smaller, "provisioning (resumed) 2/8");
    assert_eq!(after(State::Serving, fixed(2), 2, Trigger::Resume(fixed(2))), "serving () 2/8");
    assert_eq!(after(State::ScaledToZero, ranged(0, 2), 0, Trigger::Resume(ranged(0, 2))), "scaled-to-zero () 0/8");
    assert_eq!(after(State::Serving, fixed(2), 2, Trigger::Resume(fixed(3))), "serving () 3/12");
}

#[test]
fn row_14_a_suspended_endpoint_may_be_rescaled_without_a_commitment() {
    let rescaled = step(&standing(State::Suspended, fixed(2), 0), Trigger::Rescaled(fixed(3)));
    assert_eq!(shown(rescaled), "suspended () 0/0");
    assert_eq!(rescaled.unwrap().scaling, fixed(3));
}

#[test]
fn row_15_a_failed_endpoint_is_retried_by_resume_and_by_scaling() {
    assert_eq!(after(State::Failed, fixed(2), 0, Trigger::Resume(fixed(2))), "provisioning (retry) 2/8");
    assert_eq!(after(State::Failed, fixed(2), 0, Trigger::Rescaled(fixed(1))), "provisioning (retry) 1/4");
}

#[test]
fn row_16_a_delete_frees_the_commitment_at_once() {
    for state in State::ALL {
        let deleted = step(&standing(state, fixed(2), 2), Trigger::Delete).unwrap();
        assert_eq!((deleted.to, deleted.committed), (Next::State(State::Deleting), 0), "{state}");
        assert_eq!(deleted.drain_secs, 120);
    }
    assert_eq!(State::Deleting.admission(), Admission::Unknown);
}

#[test]
fn row_17_it_is_gone_once_its_last_hold_is_released() {
    assert_eq!(after(State::Deleting, fixed(2), 0, Trigger::LastHoldReleased), "gone () 0/0");
    assert_eq!(after(State::Suspended, fixed(2), 0, Trigger::LastHoldReleased), "suspended () 0/0");
}

#[test]
fn row_18_commands_on_a_deleting_endpoint_are_rejected() {
    for trigger in [Trigger::Rescaled(fixed(1)), Trigger::Suspend, Trigger::Resume(fixed(1))] {
        assert_eq!(after(State::Deleting, fixed(2), 0, trigger), "rejected: deleting");
    }
}

#[test]
fn row_19_a_restart_of_the_control_plane_changes_nothing() {
    for state in State::ALL {
        let standing = StateInput { reason: StateReason::Degraded, ..standing(state, fixed(2), 2) };
        let found = step(&standing, Trigger::Found).unwrap();
        assert_eq!((found.to, found.reason, found.desired), (Next::State(state), standing.reason, 2));
    }
}

#[test]
fn states_and_reasons_parse_from_their_text() {
    for state in State::ALL {
        assert_eq!(State::parse(state.as_str()), Some(state));
    }
    let failures = FailureReason::ALL.into_iter().map(StateReason::Failure);
    for reason in StateReason::WITHOUT_FAILURES.into_iter().chain(failures) {
        assert_eq!(StateReason::parse(reason.as_str()), Some(reason));
        assert_eq!(reason.message().is_empty(), reason == StateReason::Plain);
    }
    assert_eq!(StateReason::parse("surprise"), None);
}
