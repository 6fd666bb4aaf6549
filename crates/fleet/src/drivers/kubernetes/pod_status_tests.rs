use super::*;
use serde_json::{Value, json};

const NOW: &str = "2026-01-05T10:10:00Z";

#[expect(clippy::needless_pass_by_value, reason = "tests pass literals")]
fn pod(metadata: Value, status: Value) -> Pod {
    let mut pod =
        json!({"metadata": {"name": "rep-1"}, "spec": {"nodeName": "node-1", "containers": []}, "status": status});
    pod["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    serde_json::from_value(pod).unwrap()
}

fn scheduled() -> Value {
    json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-05T10:00:00Z"})
}

fn waiting(reason: &str) -> Value {
    let state = json!({"waiting": {"reason": reason, "message": format!("about {reason}")}});
    json!({"phase": "Pending", "conditions": [scheduled()], "containerStatuses": [container("engine", &state)]})
}

fn container(name: &str, state: &Value) -> Value {
    json!({"name": name, "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state})
}

fn ended(code: i32, reason: &str) -> Value {
    let times = ("2026-01-05T10:00:05Z", "2026-01-05T10:07:00Z");
    let end = json!({"terminated": {"exitCode": code, "reason": reason, "startedAt": times.0, "finishedAt": times.1}});
    json!({"phase": "Failed", "conditions": [scheduled()], "containerStatuses": [container("engine", &end)]})
}

fn observe_on(pod: &Pod, node: NodeHealth) -> Observation {
    observe(pod, node, true, Timestamp::parse(NOW).unwrap())
}

fn observe_status(status: Value) -> Observation {
    observe_on(&pod(json!({}), status), NodeHealth::Healthy)
}

fn class(observation: &Observation) -> FailureClass {
    match observation {
        Observation::Exited(Exit { failure: Some(failure), .. }) => failure.class,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_pod_without_a_node_is_launching_and_the_scheduler_explains_why() {
    let condition =
        json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"});
    let mut unplaced = pod(json!({}), json!({"phase": "Pending", "conditions": [condition]}));
    unplaced.spec.as_mut().unwrap().node_name = None;
    assert_eq!(observe_on(&unplaced, NodeHealth::Healthy), Observation::Launching);
    assert_eq!(unschedulable(&unplaced).as_deref(), Some("0/3 nodes"));
    unplaced.metadata.deletion_timestamp = serde_json::from_value(json!(NOW)).unwrap();
    assert_eq!(
        observe_on(&unplaced, NodeHealth::Healthy),
        Observation::Lost { last_seen: None },
        "no kubelet will end it"
    );
}

#[test]
fn an_image_that_cannot_be_pulled_is_missing_after_a_while() {
    for reason in ["ImagePullBackOff", "ErrImagePull", "InvalidImageName"] {
        assert_eq!(class(&observe_status(waiting(reason))), FailureClass::ImageMissing);
    }
    assert_eq!(class(&observe_status(waiting("CreateContainerConfigError"))), FailureClass::EngineRejectedConfig);
    let waiting_pod = pod(json!({}), waiting("ErrImagePull"));
    let soon = observe(&waiting_pod, NodeHealth::Healthy, false, Timestamp::parse(NOW).unwrap());
    assert!(matches!(soon, Observation::Running(_)), "{soon:?}");
    assert!(
        matches!(observe_status(waiting("ContainerCreating")), Observation::Running(_)),
        "a long pull is not a failure"
    );
}

#[test]
fn exits_have_a_time_and_a_class() {
    let Observation::Exited(exit) = observe_status(ended(137, "OOMKilled")) else { panic!() };
    assert_eq!((exit.at, exit.code, exit.signal), (Timestamp::parse("2026-01-05T10:07:00Z").unwrap(), None, Some(9)));
    assert_eq!(exit.failure.unwrap().class, FailureClass::OutOfMemory);
    assert_eq!(class(&observe_status(ended(1, "Error"))), FailureClass::Crash);
    assert_eq!(class(&observe_status(ended(128, "StartError"))), FailureClass::ImageMissing);
    let mut evicted = ended(137, "Error");
    (evicted["reason"], evicted["message"]) = (json!("Evicted"), json!("The node was low on memory"));
    assert_eq!(class(&observe_status(evicted)), FailureClass::NodeLost);
}

#[test]
fn the_log_names_causes_that_the_status_does_not() {
    let class_with_log = |status: Value, log: &str| {
        let pod = pod(json!({}), status);
        let Observation::Exited(exit) = observe_on(&pod, NodeHealth::Healthy) else { panic!() };
        with_log(&pod, &exit, log).unwrap().class
    };
    assert_eq!(class_with_log(ended(1, "Error"), "there are no weights at /models/x"), FailureClass::WeightsMissing);
    assert_eq!(
        class_with_log(ended(1, "Error"), "torch.OutOfMemoryError: CUDA out of memory"),
        FailureClass::OutOfMemory
    );
    let mut served = ended(1, "Error");
    let ready = json!({"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-05T10:07:01Z"});
    served["conditions"].as_array_mut().unwrap().push(ready);
    assert_eq!(
        class_with_log(served, "there are no weights at /models/x"),
        FailureClass::Crash,
        "it had weights when it served"
    );
    let init = json!({"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": "2026-01-05T10:01:00Z"}});
    let fetching =
        json!({"phase": "Failed", "conditions": [scheduled()], "initContainerStatuses": [container("weights", &init)]});
    assert_eq!(class_with_log(fetching.clone(), "connection refused"), FailureClass::WeightsMissing);
    assert_eq!(class_with_log(fetching, "403 Client Error"), FailureClass::WeightsUnauthorized);
}

#[test]
fn replicas_of_an_unresponsive_node_are_unreachable_and_those_of_a_lost_one_are_lost() {
    let running = || pod(json!({}), json!({"phase": "Running", "conditions": [scheduled()]}));
    assert_eq!(observe_on(&running(), NodeHealth::Unresponsive), Observation::Unreachable);
    assert_eq!(observe_on(&running(), NodeHealth::Lost), Observation::Lost { last_seen: None });
    let over = pod(json!({}), ended(0, "Completed"));
    assert!(matches!(observe_on(&over, NodeHealth::Lost), Observation::Exited(_)), "it ended before the node was lost");
}

#[test]
fn a_pod_that_is_removed_before_its_engine_ran_has_ended() {
    let leaving = |grace: i64, annotations: Value| json!({"deletionTimestamp": NOW, "deletionGracePeriodSeconds": grace, "annotations": annotations});
    let ours = || json!({STOPPED_ANNOTATION: "true"});
    let waits = || waiting("ImagePullBackOff");
    let asked = observe_on(&pod(leaving(40, ours()), waiting("ContainerCreating")), NodeHealth::Healthy);
    assert!(matches!(asked, Observation::Running(_)), "its grace period is not over: {asked:?}");
    let Observation::Exited(exit) = observe_on(&pod(leaving(0, ours()), waits()), NodeHealth::Healthy) else {
        panic!()
    };
    assert_eq!((exit.at, exit.failure), (Timestamp::parse(NOW).unwrap(), None));
    assert_eq!(class(&observe_on(&pod(leaving(0, json!({})), waits()), NodeHealth::Healthy)), FailureClass::NodeLost);
    let mut fetching = waiting("PodInitializing");
    fetching["initContainerStatuses"] = json!([container("weights", &json!({"running": {"startedAt": NOW}}))]);
    let forced = observe_on(&pod(leaving(0, ours()), fetching), NodeHealth::Healthy);
    assert!(matches!(forced, Observation::Running(_)), "a container still runs: {forced:?}");
}

#[test]
fn a_pod_deleted_by_others_is_leaving_and_not_at_fault() {
    let leaving = |annotations: Value| json!({"deletionTimestamp": "2026-01-05T10:09:00Z", "annotations": annotations});
    let status = || json!({"phase": "Running", "conditions": [scheduled(), {"type": "Ready", "status": "True"}]});
    let by_others = pod(leaving(json!({})), status());
    assert!(!is_ready(&by_others), "no new calls");
    assert!(matches!(observe_on(&by_others, NodeHealth::Healthy), Observation::Running(running) if running.leaving));
    assert_eq!(
        class(&observe_on(&pod(leaving(json!({})), ended(137, "Error")), NodeHealth::Healthy)),
        FailureClass::NodeLost
    );
    let ours = json!({STOPPED_ANNOTATION: "true", DRAINING_ANNOTATION: "2026-01-05T10:08:00Z"});
    let by_us = pod(leaving(ours.clone()), status());
    let Observation::Running(running) = observe_on(&by_us, NodeHealth::Healthy) else { panic!() };
    assert_eq!((running.leaving, running.draining_since), (false, Timestamp::parse("2026-01-05T10:08:00Z").ok()));
    let Observation::Exited(exit) = observe_on(&pod(leaving(ours), ended(0, "Completed")), NodeHealth::Healthy) else {
        panic!()
    };
    assert_eq!(exit.failure, None);
}
