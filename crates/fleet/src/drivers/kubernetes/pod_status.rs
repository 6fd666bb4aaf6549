//! The state of a replica, as a pure function of its Pod's status, with all failure classes.

use super::pod::{DRAINING_ANNOTATION, ENGINE_CONTAINER, STOPPED_ANNOTATION, WEIGHTS_CONTAINER};
use crate::drivers::{Exit, Observation, Running};
use crate::engine::failure::{self, ExitRecord, Failure, FailureClass, Reached};
use domain::Timestamp;
use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, ContainerStatus, Pod, PodCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// Exit codes above this encode the signal that ended a process.
const SIGNAL_BASE: i32 = 128;
/// Reasons of a container that waits for its image.
const IMAGE_REASONS: [&str; 6] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
];
/// Reasons of a container that refers to a missing object.
const CONFIG_REASONS: [&str; 2] = ["CreateContainerConfigError", "CreateContainerError"];

/// Health of a Pod's node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeHealth {
    Healthy,
    /// Does not respond, and may come back.
    Unresponsive,
    Lost,
}

/// The state of the replica at `now`. An image that cannot be pulled and is overdue is a failure.
pub(super) fn observe(pod: &Pod, node: NodeHealth, is_image_overdue: bool, now: Timestamp) -> Observation {
    if node_of(pod).is_none() && !has_ended(pod) {
        // A Pod that was never scheduled has no kubelet that could end it.
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
    if is_image_overdue && let Some(failure) = stuck(pod) {
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

/// Whether it is ready and not terminating.
pub(super) fn is_ready(pod: &Pod) -> bool {
    condition(pod, "Ready").is_some_and(|ready| ready.status == "True") && !is_leaving(pod)
}

pub(super) fn is_leaving(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// Whether the gateway itself deleted it.
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
    timestamp(scheduled.last_transition_time.as_ref())
}

/// The scheduler's message about a Pod that it cannot place.
pub(super) fn unschedulable(pod: &Pod) -> Option<String> {
    let scheduled = condition(pod, "PodScheduled").filter(|scheduled| scheduled.status == "False")?;
    Some(scheduled.message.clone().or_else(|| scheduled.reason.clone()).unwrap_or_default())
}

/// Short reason why a Pod is not ready.
pub(super) fn why_not_ready(pod: &Pod) -> String {
    let waits = statuses(pod).find_map(|status| state(status)?.waiting.as_ref()?.reason.clone());
    waits.unwrap_or_else(|| if is_leaving(pod) { "its Pod is terminating" } else { "its Pod is not ready" }.to_owned())
}

/// The container whose log explains a failure.
pub(super) fn relevant_container(pod: &Pod) -> &'static str {
    let failed = |status: &ContainerStatus| terminated(status).is_some_and(|end| end.exit_code != 0);
    if init_statuses(pod).any(failed) { WEIGHTS_CONTAINER } else { ENGINE_CONTAINER }
}

/// The termination message of that container; empty while it runs.
pub(super) fn termination_message(pod: &Pod) -> &str {
    let container = relevant_container(pod);
    let end = statuses(pod).find(|status| status.name == container).and_then(terminated);
    end.and_then(|end| end.message.as_deref()).unwrap_or_default()
}

/// The failure, refined by the log: a crash may have a cause that the log names.
pub(super) fn with_log(pod: &Pod, exit: &Exit, log: &str) -> Option<Failure> {
    let failure = exit.failure.clone()?;
    let in_weights = failure.class == FailureClass::WeightsMissing;
    if failure.class != FailureClass::Crash && !in_weights {
        return Some(failure);
    }
    let record = ExitRecord { code: exit.code, signal: exit.signal, time: exit.at, asked: false, error: None };
    let classified = failure::classify(&record, reached(pod), log)?;
    match classified.class {
        FailureClass::WeightsUnauthorized => Some(classified),
        _ if in_weights => Some(Failure { class: FailureClass::WeightsMissing, ..classified }),
        _ => Some(classified),
    }
}

fn exit(pod: &Pod, now: Timestamp) -> Option<Exit> {
    if !has_ended(pod) && !was_removed(pod) {
        return None;
    }
    let end = init_statuses(pod)
        .filter_map(terminated)
        .find(|end| end.exit_code != 0)
        .or_else(|| engine(pod).and_then(terminated))
        .or_else(|| init_statuses(pod).filter_map(terminated).last());
    let at = end.and_then(|end| timestamp(end.finished_at.as_ref())).unwrap_or(now);
    let signal =
        end.and_then(|end| end.signal.or_else(|| (end.exit_code > SIGNAL_BASE).then(|| end.exit_code - SIGNAL_BASE)));
    Some(Exit {
        started_at: end.and_then(|end| timestamp(end.started_at.as_ref())),
        at,
        code: end.map(|end| end.exit_code).filter(|_| signal.is_none()),
        signal,
        failure: failure_of(pod, end),
    })
}

/// `None` if the gateway stopped it.
fn failure_of(pod: &Pod, end: Option<&ContainerStateTerminated>) -> Option<Failure> {
    if is_stopped(pod) {
        return None;
    }
    let failed = |class, message: String| Some(Failure { class, message });
    let status = pod.status.as_ref();
    // Set by the kubelet: evicted, no GPUs after all, node shut down.
    if let Some(reason) = status.and_then(|status| status.reason.as_deref()) {
        let message = status.and_then(|status| status.message.as_deref()).unwrap_or(reason);
        return failed(FailureClass::NodeLost, message.to_owned());
    }
    if is_leaving(pod) {
        return failed(FailureClass::NodeLost, "the Pod was deleted by someone other than the gateway".to_owned());
    }
    let Some(end) = end else { return failed(FailureClass::Crash, "the Pod ended without a status".to_owned()) };
    let reason = end.reason.clone().unwrap_or_default();
    if reason == "OOMKilled" {
        return failed(FailureClass::OutOfMemory, "the container exceeded its memory limit".to_owned());
    }
    let message = end.message.clone().unwrap_or_else(|| format!("exited with code {}", end.exit_code));
    if relevant_container(pod) == WEIGHTS_CONTAINER {
        return failed(FailureClass::WeightsMissing, format!("the weights could not be downloaded: {message}"));
    }
    match reason.as_str() {
        // The image has no such program.
        "ContainerCannotRun" | "StartError" => failed(FailureClass::ImageMissing, message),
        _ => failed(FailureClass::Crash, message),
    }
}

/// Since when the Pod needs its next image, by the cluster's clock. The engine's image is pulled only after the weights are
/// downloaded, which may take long.
pub(super) fn image_needed_since(pod: &Pod) -> Option<Timestamp> {
    let downloaded = init_statuses(pod).filter_map(|status| timestamp(terminated(status)?.finished_at.as_ref())).max();
    Some(scheduled_at(pod)?.max(downloaded.unwrap_or_default()))
}

/// The failure of a Pod that waits for an image or object that does not come.
fn stuck(pod: &Pod) -> Option<Failure> {
    statuses(pod).find_map(|status| {
        let waiting = state(status)?.waiting.as_ref()?;
        let reason = waiting.reason.as_deref()?;
        let class = match reason {
            _ if IMAGE_REASONS.contains(&reason) => FailureClass::ImageMissing,
            _ if CONFIG_REASONS.contains(&reason) => FailureClass::EngineRejectedConfig,
            _ => return None,
        };
        Some(Failure { class, message: waiting.message.clone().unwrap_or_else(|| reason.to_owned()) })
    })
}

/// A container that became ready after it started has served.
fn reached(pod: &Pod) -> Reached {
    let started = engine(pod).and_then(terminated).and_then(|end| timestamp(end.started_at.as_ref()));
    let changed = condition(pod, "Ready").and_then(|ready| timestamp(ready.last_transition_time.as_ref()));
    match (started, changed) {
        (Some(started), Some(changed)) if changed > started => Reached::Ready,
        _ => Reached::Start,
    }
}

pub(super) fn has_ended(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// Whether its kubelet removed it before the engine ever ran. Kubelets before 1.27 leave such a Pod in the phase `Pending`,
/// and only delete it without a grace period while no container runs.
fn was_removed(pod: &Pod) -> bool {
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
    timestamp(pod.metadata.creation_timestamp.as_ref())
}

fn timestamp(time: Option<&Time>) -> Option<Timestamp> {
    time.map(|time| Timestamp::from_millis(time.0.as_millisecond()))
}

#[cfg(test)]
#[path = "pod_status_tests.rs"]
mod tests;
