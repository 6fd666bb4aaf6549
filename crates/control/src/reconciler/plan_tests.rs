//! Tables of replicas and endpoints with the actions that follow.

use super::*;
use domain::autoscaler::PrefillQueue;
use domain::endpoint::labels::Labels;
use domain::endpoint::replica::Status;
use domain::endpoint::scaling::{Scaling, ScalingPatch};
use domain::endpoint::state::StateReason;
use domain::endpoint::{EndpointName, Generation, Shape};
use domain::endpoint_load::{LoadReport, ReplicaCalls};
use domain::model::{EngineKind, Flavor, Launch, Modality};
use domain::{EndpointId, GpuType, ModelId, OrganizationId, WorkspaceId};
use fleet::drivers::{Exit, Running};
use fleet::engine::Failure;

const NOW: Timestamp = Timestamp::from_millis(10_000_000);

fn replica(intent: Intent, state: ReplicaState) -> Replica {
    numbered(1, intent, state)
}

fn numbered(number: u128, intent: Intent, state: ReplicaState) -> Replica {
    let mut replica = Replica::new(id(number), EndpointId::new(NOW, 1), NOW).restored(state);
    (replica.intent, replica.started_at) = (intent, Some(NOW));
    (replica.node, replica.address) = (Some("node_1".into()), Some("127.0.0.1:1".into()));
    replica
}

fn id(number: u128) -> ReplicaId {
    ReplicaId::new(NOW, number)
}

fn running() -> Observation {
    Observation::Running(Running { pid: 1, started_at: NOW, draining_since: None, supervised: true, leaving: false })
}

fn leaving() -> Observation {
    let Observation::Running(running) = running() else { unreachable!() };
    Observation::Running(Running { leaving: true, ..running })
}

fn exited(failure: Option<FailureClass>) -> Observation {
    let failure = failure.map(|class| Failure { class, message: "why".into() });
    Observation::Exited(Exit { started_at: None, at: Timestamp::from_millis(7), code: Some(1), signal: None, failure })
}

#[test]
fn every_replica_has_a_next_action() {
    use ReplicaAction::{Drain, End, Probe, Retire, Start, Stop, Wait};
    use ReplicaState::{Bound, Draining, Pending, Ready, Starting};
    let end = |failure: Option<(FailureClass, &str)>| End {
        at: Some(Timestamp::from_millis(7)),
        failure: failure.map(|(class, why)| (class, why.to_owned())),
    };
    for (intent, state, observation, expected) in [
        (Intent::Run, Pending, None, Wait),
        (Intent::Remove, Pending, None, End { at: Some(NOW), failure: None }),
        (Intent::Run, Bound, None, Start),
        (Intent::Run, Bound, Some(Observation::Lost { last_seen: None }), Start),
        (Intent::Remove, Bound, None, End { at: None, failure: None }),
        (Intent::Run, Bound, Some(running()), Probe),
        (Intent::Run, Starting, Some(Observation::Launching), Wait),
        (Intent::Run, Ready, Some(Observation::Unreachable), Wait),
        (Intent::Run, Ready, Some(leaving()), Retire),
        (Intent::Remove, Draining, Some(leaving()), Drain),
        (Intent::Remove, Draining, Some(Observation::Unreachable), Wait),
        (Intent::Run, Ready, Some(exited(Some(FailureClass::NodeLost))), end(Some((FailureClass::NodeLost, "why")))),
        (Intent::Run, Starting, Some(running()), Probe),
        (
            Intent::Run,
            Ready,
            Some(exited(Some(FailureClass::OutOfMemory))),
            end(Some((FailureClass::OutOfMemory, "why"))),
        ),
        (
            Intent::Run,
            Starting,
            Some(exited(Some(FailureClass::PortTaken))),
            end(Some((FailureClass::PortTaken, "why"))),
        ),
        (Intent::Remove, Draining, Some(running()), Drain),
        (Intent::Remove, Starting, Some(running()), Stop),
        (Intent::Remove, Draining, Some(exited(None)), end(None)),
        (Intent::Remove, Draining, Some(exited(Some(FailureClass::Crash))), end(None)),
    ] {
        let found = next_action(&replica(intent, state), observation.as_ref(), NOW);
        assert_eq!(found, expected, "{intent:?} {state:?} {observation:?}");
    }
}

#[test]
fn a_replica_without_an_exit_record_was_lost_when_it_was_last_seen() {
    let lost_at = |observation: Option<&Observation>| match next_action(
        &replica(Intent::Run, ReplicaState::Ready),
        observation,
        NOW,
    ) {
        ReplicaAction::End { at, failure: Some((FailureClass::NodeLost, _)) } => at,
        other => panic!("{other:?}"),
    };
    let last_seen = Some(Timestamp::from_millis(5));
    assert_eq!(lost_at(Some(&Observation::Lost { last_seen })), last_seen);
    assert_eq!(lost_at(None), None);
}

#[test]
fn a_start_that_takes_too_long_is_stopped_and_a_slow_response_later_is_not() {
    let later = NOW.plus_millis(1_800_000);
    let mut starting = replica(Intent::Run, ReplicaState::Starting);
    assert_eq!(next_action(&starting, Some(&running()), later), ReplicaAction::Stop);
    starting.ready_at = Some(NOW);
    assert_eq!(next_action(&starting, Some(&running()), later), ReplicaAction::Probe);
}

#[test]
fn the_end_of_a_stopped_replica_has_the_reason_of_the_stop() {
    let ended = |replica: &Replica, at| {
        let exit = Exit { started_at: None, at, code: Some(0), signal: None, failure: None };
        match next_action(replica, Some(&Observation::Exited(exit)), at) {
            ReplicaAction::End { failure: Some((class, why)), .. } => (class, why),
            other => panic!("{other:?}"),
        }
    };
    let mut replica = replica(Intent::Run, ReplicaState::Starting);
    let (class, why) = ended(&replica, NOW.plus_millis(1_800_000));
    assert_eq!((class, why.contains("half an hour")), (FailureClass::StartTimeout, true));
    replica.ready_at = Some(NOW);
    let (class, why) = ended(&replica, NOW.plus_millis(1_800_000));
    assert_eq!((class, why.contains("from outside")), (FailureClass::Crash, true));
    replica.last_error = Some("it hangs".into());
    assert_eq!(ended(&replica, NOW), (FailureClass::Crash, "it hangs".to_owned()));
}

fn endpoint(state: State, desired: u32) -> Endpoint {
    let flavor = Flavor {
        precision: "fp8".into(),
        launch: Launch::Argv(Vec::new()),
        ..Flavor::plain("1x", GpuType::parse("nvidia/h100").unwrap(), EngineKind::ForebayEngine)
    };
    let max = ScalingPatch { max: Some(9), ..ScalingPatch::default() };
    Endpoint {
        id: EndpointId::new(NOW, 1),
        organization: OrganizationId::new(NOW, 1),
        workspace: WorkspaceId::new(NOW, 1),
        name: EndpointName::parse("chat").unwrap(),
        model: ModelId::parse("acme/tiny").unwrap(),
        shape: Shape { flavor, modality: Modality::Chat, context_length: 4_096 },
        scaling: Scaling::create(&max, None).unwrap(),
        state,
        reason: StateReason::Plain,
        message: String::new(),
        state_since: NOW,
        started_at: NOW,
        status: Status { desired, ..Status::default() },
        committed_gpus: 9,
        last_request_at: None,
        labels: Labels::new(),
        created_by: String::new(),
        created_at: NOW,
        updated_at: NOW,
        generation: Generation(1),
    }
}

fn crash(seconds_ago: i64) -> failure::Exit {
    failure::Exit { at: NOW.plus_millis(-seconds_ago * 1_000), class: FailureClass::Crash, has_served: false }
}

#[test]
fn the_plan_of_an_endpoint_follows_from_its_replicas_and_failures() {
    use EndpointAction::{Add, Apply, Drain, GiveUp, PlacePending};
    use Intent::{Remove, Run};
    use ReplicaState::{Draining, Pending, Ready, Starting};
    type Case<'a> = (&'a str, State, u32, &'a [(Intent, ReplicaState)], &'a [i64], Vec<EndpointAction>);
    let cases: [Case<'_>; 16] = [
        ("a new endpoint", State::Provisioning, 2, &[], &[], vec![Add(2), PlacePending]),
        ("a pending replica", State::Provisioning, 1, &[(Run, Pending)], &[], vec![PlacePending]),
        ("a starting replica", State::Provisioning, 1, &[(Run, Starting)], &[], vec![]),
        (
            "the first ready one",
            State::Provisioning,
            2,
            &[(Run, Ready), (Run, Starting)],
            &[],
            vec![Apply(Trigger::Ready)],
        ),
        ("all ready", State::Serving, 1, &[(Run, Ready)], &[], vec![Apply(Trigger::Ready)]),
        ("scaled up", State::Serving, 2, &[(Run, Ready)], &[], vec![Add(1), PlacePending]),
        (
            "scaled down",
            State::Serving,
            1,
            &[(Run, Ready), (Run, Starting)],
            &[],
            vec![Apply(Trigger::Ready), Drain(vec![id(2)])],
        ),
        (
            "one of two crashed",
            State::Serving,
            2,
            &[(Run, Ready)],
            &[20],
            vec![Apply(Trigger::ReplicaLost { ready: 1 }), Add(1), PlacePending],
        ),
        (
            "and its backoff runs",
            State::Serving,
            2,
            &[(Run, Ready)],
            &[5],
            vec![Apply(Trigger::ReplicaLost { ready: 1 })],
        ),
        ("the last one is lost", State::Serving, 1, &[], &[5], vec![Apply(Trigger::ReplicaLost { ready: 0 })]),
        ("a crash loop", State::Provisioning, 1, &[], &[9, 8, 7, 6, 5], vec![GiveUp(FailureReason::CrashLoop)]),
        ("but one is ready", State::Provisioning, 2, &[(Run, Ready)], &[9, 8, 7, 6, 5], vec![Apply(Trigger::Ready)]),
        ("suspended", State::Suspended, 0, &[(Run, Ready), (Run, Pending)], &[], vec![Drain(vec![id(2), id(1)])]),
        ("suspended and drained", State::Suspended, 0, &[(Remove, Draining)], &[], vec![]),
        ("deleting", State::Deleting, 0, &[(Remove, Draining)], &[], vec![]),
        ("deleted", State::Deleting, 0, &[], &[], vec![Apply(Trigger::LastHoldReleased)]),
    ];
    for (name, state, desired, replicas, crashes, expected) in cases {
        let endpoint = endpoint(state, desired);
        let replicas: Vec<_> =
            (1..).zip(replicas).map(|(number, (intent, state))| numbered(number, *intent, *state)).collect();
        let exits: Vec<_> = crashes.iter().map(|seconds| crash(*seconds)).collect();
        let found = plan(&endpoint, &replicas, Loads::new(&[], NOW), &exits, NOW);
        assert_eq!(found, expected, "{name}");
        let without_history = plan(&endpoint, &replicas, Loads::new(&[], NOW), &[], NOW);
        assert!(needs_history(&endpoint, &replicas) || found == without_history, "{name}: history is not loaded");
    }
}

#[test]
fn the_least_busy_replica_is_drained() {
    let replicas = [1, 2].map(|number| numbered(number, Intent::Run, ReplicaState::Ready));
    let prefill = PrefillQueue::default();
    let calls = |number, in_flight| ReplicaCalls { replica: id(number), routed: true, in_flight, prefill };
    let report = LoadReport {
        node: "node_1".into(),
        endpoint: EndpointId::new(NOW, 1),
        at: NOW,
        load: 0,
        open_calls: 4,
        last_call_at: None,
        replicas: vec![calls(1, 1), calls(2, 3)],
    };
    let reports = [report];
    let found = plan(&endpoint(State::Suspended, 1), &replicas, Loads::new(&reports, NOW), &[], NOW);
    assert_eq!(found, [EndpointAction::Drain(vec![id(1)])]);
}

#[test]
fn only_as_many_draining_replicas_are_kept_as_are_missing() {
    let draining = |number, millis_left| {
        let mut replica = numbered(number, Intent::Remove, ReplicaState::Draining);
        replica.drain_until = Some(NOW.plus_millis(millis_left));
        replica
    };
    let replicas = [numbered(1, Intent::Run, ReplicaState::Ready), draining(2, 0), draining(3, 1), draining(4, 1)];
    for (desired, kept) in [(1, vec![]), (2, vec![id(3)]), (3, vec![id(3), id(4)]), (9, vec![id(3), id(4)])] {
        assert_eq!(to_keep(&endpoint(State::Serving, desired), &replicas, NOW), kept, "{desired}");
    }
}
