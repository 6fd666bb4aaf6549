//! The ends of Pods' logs, from their kubelets.
//!
//! Rounds of the reconciler wait for them, so the timeout is short; if a log cannot be read, the last known one is shown.

use super::api::requests::Requests;
use super::{KubernetesDriver, PodLog, pod, pod_status};
use crate::drivers::ReplicaName;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::LogParams;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(3);
/// Pause before the log of a Pod is requested again after a failure.
const RETRY_PAUSE: Duration = Duration::from_secs(30);
const LINES: i64 = 200;
/// Lines may have any length, so the response is bounded too.
const MAX_RESPONSE_BYTES: i64 = 4 << 20;
/// Bytes that are shown, and that are kept of a running Pod's log.
const TAIL_BYTES: usize = 4 << 10;
/// Bytes that are kept of an ended Pod's log: the cause may be some lines before the end.
const FINAL_BYTES: usize = 256 << 10;
/// Pods whose logs are cached, by their uid.
const MAX_CACHED: usize = 256;

/// Lines of a log that the operator reads; fewer if they are long.
const OPERATOR_LINES: i64 = 50_000;
/// Requests for one log, each for fewer lines than the one before.
const OPERATOR_ATTEMPTS: usize = 4;
const OPERATOR_TIMEOUT: Duration = Duration::from_secs(10);

impl KubernetesDriver {
    /// The Pods of this installation, of replicas and of pools.
    pub fn list_logs(&self) -> Vec<PodLog> {
        let log_of = |pod: &Arc<Pod>| {
            let replica = pod.metadata.labels.as_ref()?.get(pod::REPLICA_LABEL)?;
            Some(PodLog {
                replica: ReplicaName::parse(replica).ok()?,
                node: pod_status::node_of(pod).map(ToOwned::to_owned),
                model: pod_status::annotation(pod, pod::MODEL_ANNOTATION).map(ToOwned::to_owned),
            })
        };
        let mut found: Vec<PodLog> = self.shared.mirror.all().iter().filter_map(log_of).collect();
        found.sort_by(|one, other| one.replica.cmp(&other.replica));
        found
    }

    /// The end of a Pod's log, at most `max_bytes`; `None` if there is no Pod, or its kubelet does not respond.
    pub async fn read_log(&self, replica: &ReplicaName, max_bytes: u64) -> Option<String> {
        let pod = self.pod(replica)?;
        self.shared.logs.whole(&pod, usize::try_from(max_bytes).unwrap_or(usize::MAX)).await
    }
}

pub(super) struct Logs {
    pods: Api<Pod>,
    requests: Arc<Requests>,
    cache: Mutex<HashMap<String, CachedLog>>,
}

#[derive(Clone, Default)]
struct CachedLog {
    text: String,
    failure: Option<ReadFailure>,
    /// Read after the Pod's end, so it does not change any more.
    is_final: bool,
}

#[derive(Clone, Copy)]
struct ReadFailure {
    at: Instant,
    /// Whether the Pod had ended. A container that is being created has no log yet, which must not delay the read after
    /// its end.
    had_ended: bool,
}

impl Logs {
    pub(super) fn new(pods: Api<Pod>, requests: Arc<Requests>) -> Self {
        Self { pods, requests, cache: Mutex::default() }
    }

    /// The end of the log of a Pod that may still run.
    pub(super) async fn tail(&self, pod: &Pod) -> String {
        end_of(self.read(pod, false).await, TAIL_BYTES)
    }

    /// The end of the log of a Pod that has ended. Read once, then cached.
    pub(super) async fn last(&self, pod: &Pod) -> String {
        self.read(pod, true).await
    }

    /// As much of the end of a log as its kubelet returns, not cached.
    ///
    /// A kubelet returns the first bytes of the last lines: of 50,000 lines with 200 bytes each, 4 MiB are the oldest ones,
    /// and what happens now is missing. A response that was cut is therefore requested again with fewer lines.
    async fn whole(&self, pod: &Pod, max_bytes: usize) -> Option<String> {
        let container = Some(pod_status::relevant_container(pod).to_owned());
        let name = pod.metadata.name.as_deref()?;
        let (mut lines, mut text) = (OPERATOR_LINES, String::new());
        for _ in 0..OPERATOR_ATTEMPTS {
            let (tail_lines, limit_bytes) = (Some(lines), Some(MAX_RESPONSE_BYTES));
            let params = LogParams { container: container.clone(), tail_lines, limit_bytes, ..LogParams::default() };
            let read = self.requests.send_to_kubelet(OPERATOR_TIMEOUT, self.pods.logs(name, &params)).await;
            text = read.inspect_err(|why| tracing::debug!(pod = name, %why, "cannot read the log of a Pod")).ok()?;
            match fewer_lines(&text) {
                Some(fewer) if fewer < lines => lines = fewer,
                Some(_) | None => break,
            }
        }
        Some(end_of(text, max_bytes))
    }

    async fn read(&self, pod: &Pod, has_ended: bool) -> String {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let cached = self.cache.lock().get(&uid).cloned().unwrap_or_default();
        let is_recent = |failure: ReadFailure| failure.had_ended == has_ended && failure.at.elapsed() < RETRY_PAUSE;
        if cached.is_final || cached.failure.is_some_and(is_recent) {
            return cached.text;
        }
        let container = Some(pod_status::relevant_container(pod).to_owned());
        let (tail_lines, limit_bytes) = (Some(LINES), Some(MAX_RESPONSE_BYTES));
        let params = LogParams { container, tail_lines, limit_bytes, ..LogParams::default() };
        let name = pod.metadata.name.clone().unwrap_or_default();
        let kept = if has_ended { FINAL_BYTES } else { TAIL_BYTES };
        let log = match self.requests.send_to_kubelet(TIMEOUT, self.pods.logs(&name, &params)).await {
            Ok(text) => CachedLog { text: end_of(text, kept), failure: None, is_final: has_ended },
            Err(why) => {
                tracing::debug!(pod = name, %why, "cannot read the log of a Pod");
                let text = with_status_message(cached.text, pod_status::termination_message(pod));
                let failure = Some(ReadFailure { at: Instant::now(), had_ended: has_ended });
                CachedLog { text, failure, is_final: false }
            }
        };
        self.put(uid, log.clone());
        log.text
    }

    fn put(&self, uid: String, log: CachedLog) {
        let mut cache = self.cache.lock();
        if cache.len() >= MAX_CACHED && !cache.contains_key(&uid) {
            // Any entry will do: the log of a Pod that still exists is read again.
            let evicted = cache.keys().next().cloned();
            evicted.and_then(|evicted| cache.remove(&evicted));
        }
        cache.insert(uid, log);
    }
}

/// The known part of a log, with the last lines that the Pod's status has.
fn with_status_message(mut text: String, message: &str) -> String {
    if !text.contains(message) {
        text.push('\n');
        text.push_str(message);
    }
    text
}

/// How many lines of this length the limit has room for, if it has cut the response. With a margin, as lines differ.
fn fewer_lines(text: &str) -> Option<i64> {
    if i64::try_from(text.len()).is_ok_and(|length| length < MAX_RESPONSE_BYTES) {
        return None;
    }
    let shown = i64::try_from(text.lines().count()).unwrap_or(OPERATOR_LINES);
    Some((shown / 2).max(1))
}

fn end_of(mut text: String, max_bytes: usize) -> String {
    if text.len() > max_bytes {
        text.drain(..text.ceil_char_boundary(text.len() - max_bytes));
        text.shrink_to_fit();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_cannot_be_read_ends_with_the_message_in_the_status() {
        let text = with_status_message("loading".into(), "no such file");
        assert_eq!(text, "loading\nno such file");
        assert_eq!(with_status_message(text.clone(), "no such file"), text, "not added again");
        assert_eq!(with_status_message(text.clone(), ""), text, "it ended without a message");
    }

    #[test]
    fn a_response_that_was_cut_is_requested_with_fewer_lines() {
        assert_eq!(fewer_lines("short\n"), None);
        let limit = usize::try_from(MAX_RESPONSE_BYTES).unwrap();
        let cut = format!("{}\n", "x".repeat(1_023)).repeat(limit / 1_024);
        assert_eq!((cut.len(), fewer_lines(&cut)), (limit, Some(2_048)));
        assert_eq!(fewer_lines(&"x".repeat(limit)), Some(1), "one line is longer than the limit");
    }

    #[test]
    fn a_long_log_is_cut_between_characters() {
        assert_eq!(end_of("short".into(), 16), "short");
        assert_eq!(end_of("the weights are äway".into(), 4), "way", "half a character is dropped");
        assert_eq!(end_of("x".repeat(FINAL_BYTES + 1), FINAL_BYTES).len(), FINAL_BYTES);
    }
}
