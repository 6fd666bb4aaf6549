//! The ends of Pods' logs, as the kubelets tell them.
//!
//! Rounds of the reconciler wait for them, so they may not take long; while nobody tells, what was told last is shown.

use super::mirror::within;
use super::sight;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::LogParams;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(3);
/// A Pod whose log could not be had is left alone for so long.
const TRY_AGAIN: Duration = Duration::from_secs(30);
const LINES: i64 = 200;
/// The end of a log that is shown.
const TAIL: usize = 4 << 10;
/// Pods whose logs are remembered; their ids tell them apart.
const MOST: usize = 4_096;

#[derive(Default)]
pub(super) struct Logs {
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
    /// The end of the log of a Pod that may still run.
    pub(super) async fn tail(&self, pods: &Api<Pod>, pod: &Pod) -> String {
        let text = self.ask(pods, pod, false).await;
        text[text.ceil_char_boundary(text.len().saturating_sub(TAIL))..].to_owned()
    }

    /// What a Pod that has ended said last, asked for once.
    pub(super) async fn last(&self, pods: &Api<Pod>, pod: &Pod) -> String {
        self.ask(pods, pod, true).await
    }

    async fn ask(&self, pods: &Api<Pod>, pod: &Pod, is_over: bool) -> String {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let known = self.get(&uid);
        let left_alone = |failed: Failed| failed.was_over == is_over && failed.at.elapsed() < TRY_AGAIN;
        if known.is_last || known.failed.is_some_and(left_alone) {
            return known.text;
        }
        let container = Some(sight::telling_container(pod).to_owned());
        let params = LogParams { container, tail_lines: Some(LINES), ..LogParams::default() };
        let name = pod.metadata.name.clone().unwrap_or_default();
        let now = match within(PATIENCE, pods.logs(&name, &params)).await {
            Ok(text) => Known { text, failed: None, is_last: is_over },
            Err(why) => {
                tracing::debug!(pod = name, why, "the log of a Pod cannot be had");
                Known { failed: Some(Failed { at: Instant::now(), was_over: is_over }), ..known }
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
        if known.len() >= MOST {
            known.clear(); // whoever is still there is asked again
        }
        known.insert(uid, now);
    }
}
