//! What a Pod's status means for the replica: a plain function, and the whole map of failures.

use super::pod::{DRAINING_ANNOTATION, ENGINE_CONTAINER, STOPPED_ANNOTATION, WEIGHTS_CONTAINER};
use crate::drivers::{Exit, Observation, Running};
use crate::engine::failure::{self, ExitRecord, Failure, FailureClass, Reached};
use domain::Timestamp;
use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, ContainerStatus, Pod, PodCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::time::Duration;

/// What an exit code says of a process that a signal ended.
const SIGNAL_BASE: i32 = 128;
/// Why a container waits, when its image does not come.
const NO_IMAGE: [&str; 6] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
];
/// Why a container waits, when what it refers to is not there.
const BAD_CONFIG: [&str; 2] = ["CreateContainerConfigError", "CreateContainerError"];

/// How the machine of a Pod is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeHealth {
    Healthy,
    /// Does not respond, and may come back.
    Unresponsive,
    Lost,
}

/// What the Pod's status says, at a moment. `image_pull_timeout` is how long an image may fail to come.
pub(super) fn observe(pod: &Pod, node: NodeHealth, image_pull_timeout: Duration, now: Timestamp) -> Observation {
    if node_of(pod).is_none() && !is_over(pod) {
        // One that was never placed has no kubelet that could end it.
        return if is_leaving(pod) { Observation::Lost { last_seen: None } } else { Observation::Launching };
    }
    if let Some(exit) = exit(pod, now) {
        return Observation::Exited(exit);
    }
    match node {
        NodeHealth::Lost => return Observation::Lost { last_seen: None },
        NodeHealth::Unresponsive => return Observation::Unreachable,
        NodeHealth::Healthy => {}
    }
    if let Some(failure) = stuck(pod, image_pull_timeout, now) {
        return Observation::Exited(Exit {
            started_at: None,
            at: now,
            code: None,
            signal: None,
            failure: Some(failure),
        });
    }
    Observation::Running(Running {
        pid: 0,
        started_at: scheduled_at(pod).or(created_at(pod)).unwrap_or(now),
        draining_since: draining_since(pod),
        supervised: true,
        leaving: is_leaving(pod) && !is_stopped(pod),
    })
}

pub(super) fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|name| !name.is_empty())
}

/// Whether it serves calls by its own account, and nobody has asked it to end.
pub(super) fn is_ready(pod: &Pod) -> bool {
    condition(pod, "Ready").is_some_and(|ready| ready.status == "True") && !is_leaving(pod)
}

pub(super) fn is_leaving(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// Whether it was us who asked it to end.
pub(super) fn is_stopped(pod: &Pod) -> bool {
    annotation(pod, STOPPED_ANNOTATION).is_some()
}

pub(super) fn annotation<'a>(pod: &'a Pod, name: &str) -> Option<&'a str> {
    pod.metadata.annotations.as_ref()?.get(name).map(String::as_str)
}

pub(super) fn draining_since(pod: &Pod) -> Option<Timestamp> {
    annotation(pod, DRAINING_ANNOTATION).and_then(|text| Timestamp::parse(text).ok())
}

pub(super) fn scheduled_at(pod: &Pod) -> Option<Timestamp> {
    let scheduled = condition(pod, "PodScheduled").filter(|scheduled| scheduled.status == "True")?;
    moment(scheduled.last_transition_time.as_ref())
}

/// What the scheduler says about a Pod for which it has no place.
pub(super) fn unschedulable(pod: &Pod) -> Option<String> {
    let scheduled = condition(pod, "PodScheduled").filter(|scheduled| scheduled.status == "False")?;
    Some(scheduled.message.clone().or_else(|| scheduled.reason.clone()).unwrap_or_default())
}

/// Why a Pod is not ready, in a few words.
pub(super) fn why_not_ready(pod: &Pod) -> String {
    let waits = statuses(pod).find_map(|status| state(status)?.waiting.as_ref()?.reason.clone());
    waits.unwrap_or_else(|| if is_leaving(pod) { "its Pod is leaving" } else { "its Pod is not ready" }.to_owned())
}

/// The container whose log tells about a failure.
pub(super) fn telling_container(pod: &Pod) -> &'static str {
    let failed = |status: &ContainerStatus| terminated(status).is_some_and(|end| end.exit_code != 0);
    if init_statuses(pod).any(failed) { WEIGHTS_CONTAINER } else { ENGINE_CONTAINER }
}

/// What that container said last, as far as the status tells; nothing of one that runs.
pub(super) fn last_words(pod: &Pod) -> &str {
    let container = telling_container(pod);
    let end = statuses(pod).find(|status| status.name == container).and_then(terminated);
    end.and_then(|end| end.message.as_deref()).unwrap_or_default()
}

/// The failure once the log is known: a crash may be something that the log names.
pub(super) fn with_log(pod: &Pod, exit: &Exit, log: &str) -> Option<Failure> {
    let failure = exit.failure.clone()?;
    let in_weights = failure.class == FailureClass::WeightsMissing;
    if failure.class != FailureClass::Crash && !in_weights {
        return Some(failure);
    }
    let ending = ExitRecord { code: exit.code, signal: exit.signal, time: exit.at, asked: false, error: None };
    let told = failure::classify(&ending, reached(pod), log)?;
    match told.class {
        FailureClass::WeightsUnauthorized => Some(told),
        _ if in_weights => Some(Failure { class: FailureClass::WeightsMissing, ..told }),
        _ => Some(told),
    }
}

fn exit(pod: &Pod, now: Timestamp) -> Option<Exit> {
    if !is_over(pod) && !was_let_go(pod) {
        return None;
    }
    let end = init_statuses(pod)
        .filter_map(terminated)
        .find(|end| end.exit_code != 0)
        .or_else(|| engine(pod).and_then(terminated))
        .or_else(|| init_statuses(pod).filter_map(terminated).last());
    let at = end.and_then(|end| moment(end.finished_at.as_ref())).unwrap_or(now);
    let signal =
        end.and_then(|end| end.signal.or_else(|| (end.exit_code > SIGNAL_BASE).then(|| end.exit_code - SIGNAL_BASE)));
    Some(Exit {
        started_at: end.and_then(|end| moment(end.started_at.as_ref())),
        at,
        code: end.map(|end| end.exit_code).filter(|_| signal.is_none()),
        signal,
        failure: failure_of(pod, end),
    })
}

/// Nothing, if it ended well because it was asked to.
fn failure_of(pod: &Pod, end: Option<&ContainerStateTerminated>) -> Option<Failure> {
    if is_stopped(pod) {
        return None;
    }
    let failed = |class, message: String| Some(Failure { class, message });
    let status = pod.status.as_ref();
    // The kubelet's own words: evicted, out of GPUs after all, the node shut down.
    if let Some(reason) = status.and_then(|status| status.reason.as_deref()) {
        let message = status.and_then(|status| status.message.as_deref()).unwrap_or(reason);
        return failed(FailureClass::NodeLost, message.to_owned());
    }
    if is_leaving(pod) {
        return failed(FailureClass::NodeLost, "somebody else has ended the Pod".to_owned());
    }
    let Some(end) = end else { return failed(FailureClass::Crash, "the Pod ended without a word".to_owned()) };
    let reason = end.reason.clone().unwrap_or_default();
    if reason == "OOMKilled" {
        return failed(FailureClass::OutOfMemory, "the container used more memory than it may".to_owned());
    }
    let message = end.message.clone().unwrap_or_else(|| format!("exited with code {}", end.exit_code));
    if telling_container(pod) == WEIGHTS_CONTAINER {
        return failed(FailureClass::WeightsMissing, format!("the weights could not be fetched: {message}"));
    }
    match reason.as_str() {
        // The image has no such program.
        "ContainerCannotRun" | "StartError" => failed(FailureClass::ImageMissing, message),
        _ => failed(FailureClass::Crash, message),
    }
}

/// A Pod that waits for something that does not come.
fn stuck(pod: &Pod, patience: Duration, now: Timestamp) -> Option<Failure> {
    // The engine's image is asked for when the weights are there, and that may take long.
    let fetched = init_statuses(pod).filter_map(|status| moment(terminated(status)?.finished_at.as_ref())).max();
    let since = scheduled_at(pod)?.max(fetched.unwrap_or_default());
    if u128::from(now.millis_since(since)) < patience.as_millis() {
        return None;
    }
    statuses(pod).find_map(|status| {
        let waiting = state(status)?.waiting.as_ref()?;
        let reason = waiting.reason.as_deref()?;
        let class = match reason {
            _ if NO_IMAGE.contains(&reason) => FailureClass::ImageMissing,
            _ if BAD_CONFIG.contains(&reason) => FailureClass::EngineRejectedConfig,
            _ => return None,
        };
        Some(Failure { class, message: waiting.message.clone().unwrap_or_else(|| reason.to_owned()) })
    })
}

/// A container that has served has become ready after it started.
fn reached(pod: &Pod) -> Reached {
    let started = engine(pod).and_then(terminated).and_then(|end| moment(end.started_at.as_ref()));
    let turned = condition(pod, "Ready").and_then(|ready| moment(ready.last_transition_time.as_ref()));
    match (started, turned) {
        (Some(started), Some(turned)) if turned > started => Reached::Ready,
        _ => Reached::Start,
    }
}

fn is_over(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// Whether its kubelet has let go of it before the engine ever ran. Kubelets before 1.27 leave such a Pod in the phase
/// `Pending`: that they delete it without grace, and that no container runs, is all they say.
fn was_let_go(pod: &Pod) -> bool {
    let without_grace = is_leaving(pod) && pod.metadata.deletion_grace_period_seconds == Some(0);
    without_grace && !statuses(pod).any(|status| state(status).is_some_and(|state| state.running.is_some()))
}

fn condition<'a>(pod: &'a Pod, kind: &str) -> Option<&'a PodCondition> {
    pod.status.as_ref()?.conditions.as_ref()?.iter().find(|condition| condition.type_ == kind)
}

fn engine(pod: &Pod) -> Option<&ContainerStatus> {
    let all = pod.status.as_ref()?.container_statuses.as_ref()?;
    all.iter().find(|status| status.name == ENGINE_CONTAINER)
}

fn init_statuses(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    pod.status.iter().flat_map(|status| &status.init_container_statuses).flatten()
}

fn statuses(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    let engines = pod.status.iter().flat_map(|status| &status.container_statuses).flatten();
    init_statuses(pod).chain(engines)
}

fn state(status: &ContainerStatus) -> Option<&ContainerState> {
    status.state.as_ref()
}

fn terminated(status: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    state(status)?.terminated.as_ref()
}

fn created_at(pod: &Pod) -> Option<Timestamp> {
    moment(pod.metadata.creation_timestamp.as_ref())
}

fn moment(time: Option<&Time>) -> Option<Timestamp> {
    time.map(|time| Timestamp::from_millis(time.0.as_millisecond()))
}

#[cfg(test)]
#[path = "pod_status_tests.rs"]
mod tests;
