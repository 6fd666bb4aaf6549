//! The ends of Pods' logs, as the kubelets tell them.
//!
//! Rounds of the reconciler wait for them, so they may not take long; while nobody tells, what was told last is shown.

use super::api::requests::Requests;
use super::pod_status;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::LogParams;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(3);
/// A Pod whose log could not be had is left alone for so long.
const TRY_AGAIN: Duration = Duration::from_secs(30);
const LINES: i64 = 200;
/// Lines may have any length; a kubelet tells no more of them than so.
const MOST_TOLD: i64 = 4 << 20;
/// The end of a log that is shown, and that which is kept of a Pod that runs.
const TAIL: usize = 4 << 10;
/// What is kept of a Pod that has ended: its cause may lie some lines before the end.
const LAST_WORDS: usize = 256 << 10;
/// Pods whose logs are remembered; their ids tell them apart.
const MOST_PODS: usize = 256;

pub(super) struct Logs {
    pods: Api<Pod>,
    requests: Arc<Requests>,
    known: Mutex<HashMap<String, Known>>,
}

#[derive(Clone, Default)]
struct Known {
    text: String,
    failed: Option<Failed>,
    /// It was read after the end: there is nothing more to come.
    is_last: bool,
}

#[derive(Clone, Copy)]
struct Failed {
    at: Instant,
    /// A container that is only being made has no log yet: that it had none says nothing about what it said last.
    was_over: bool,
}

impl Logs {
    pub(super) fn new(pods: Api<Pod>, requests: Arc<Requests>) -> Self {
        Self { pods, requests, known: Mutex::default() }
    }

    /// The end of the log of a Pod that may still run.
    pub(super) async fn tail(&self, pod: &Pod) -> String {
        end_of(self.ask(pod, false).await, TAIL)
    }

    /// What a Pod that has ended said last, asked for once.
    pub(super) async fn last(&self, pod: &Pod) -> String {
        self.ask(pod, true).await
    }

    async fn ask(&self, pod: &Pod, is_over: bool) -> String {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let known = self.get(&uid);
        let left_alone = |failed: Failed| failed.was_over == is_over && failed.at.elapsed() < TRY_AGAIN;
        if known.is_last || known.failed.is_some_and(left_alone) {
            return known.text;
        }
        let container = Some(pod_status::telling_container(pod).to_owned());
        let (tail_lines, limit_bytes) = (Some(LINES), Some(MOST_TOLD));
        let params = LogParams { container, tail_lines, limit_bytes, ..LogParams::default() };
        let name = pod.metadata.name.clone().unwrap_or_default();
        let kept = if is_over { LAST_WORDS } else { TAIL };
        let now = match self.requests.ask_kubelet(PATIENCE, self.pods.logs(&name, &params)).await {
            Ok(text) => Known { text: end_of(text, kept), failed: None, is_last: is_over },
            Err(why) => {
                tracing::debug!(pod = name, %why, "the log of a Pod cannot be had");
                let text = with_last_words(known.text, pod_status::last_words(pod));
                Known { text, failed: Some(Failed { at: Instant::now(), was_over: is_over }), is_last: false }
            }
        };
        self.put(uid, now.clone());
        now.text
    }

    fn get(&self, uid: &str) -> Known {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(uid).cloned().unwrap_or_default()
    }

    fn put(&self, uid: String, now: Known) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_PODS && !known.contains_key(&uid) {
            // Whoever is still there is asked again.
            let somebody = known.keys().next().cloned();
            somebody.and_then(|somebody| known.remove(&somebody));
        }
        known.insert(uid, now);
    }
}

/// What is known of a log, and the few last lines of it that the Pod's status has.
fn with_last_words(mut text: String, said: &str) -> String {
    if !text.contains(said) {
        text.push('\n');
        text.push_str(said);
    }
    text
}

fn end_of(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.drain(..text.ceil_char_boundary(text.len() - most));
        text.shrink_to_fit();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_cannot_be_had_ends_with_the_words_in_the_status() {
        let known = with_last_words("loading".into(), "no such file");
        assert_eq!(known, "loading\nno such file");
        assert_eq!(with_last_words(known.clone(), "no such file"), known, "once is enough");
        assert_eq!(with_last_words(known.clone(), ""), known, "it ended without a word");
    }

    #[test]
    fn a_long_log_is_cut_to_its_end_between_characters() {
        assert_eq!(end_of("short".into(), 16), "short");
        assert_eq!(end_of("the weights are äway".into(), 4), "way", "half of an ä is none");
        assert_eq!(end_of("x".repeat(LAST_WORDS + 1), LAST_WORDS).len(), LAST_WORDS);
    }
}
