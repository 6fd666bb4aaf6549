//! How long Pods have been waiting for their images, by our own clock: those of a cluster may differ.

use super::pod_status;
use domain::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The wait of each Pod, by name: which one it is, by the cluster's clock, and when we first saw it.
#[derive(Debug, Default)]
pub(super) struct ImageWaits(Mutex<HashMap<String, (Timestamp, Instant)>>);

impl ImageWaits {
    /// How long the Pod has been waiting for the image that it needs next, as far as this process saw it.
    pub(super) fn waited(&self, pod: &Pod, now: Instant) -> Duration {
        let (Some(name), Some(began)) = (&pod.metadata.name, pod_status::image_needed_since(pod)) else {
            return Duration::ZERO;
        };
        let mut waits = self.0.lock();
        let wait = waits.entry(name.clone()).or_insert((began, now));
        if wait.0 != began {
            *wait = (began, now);
        }
        now.duration_since(wait.1)
    }

    /// Forgets Pods that do not exist any more.
    pub(super) fn retain(&self, exists: impl Fn(&str) -> bool) {
        self.0.lock().retain(|name, _| exists(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(weights_finished_at: Option<&str>) -> Pod {
        let end = weights_finished_at.map(|at| json!({"terminated": {"exitCode": 0, "finishedAt": at}}));
        let weights = json!({"name": "weights", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
            "state": end.unwrap_or_else(|| json!({}))});
        let scheduled = json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-05T10:00:00Z"});
        let status = json!({"conditions": [scheduled], "initContainerStatuses": [weights]});
        serde_json::from_value(json!({"metadata": {"name": "rep-1"}, "status": status})).unwrap()
    }

    #[test]
    fn a_wait_begins_when_it_is_first_seen_and_again_after_the_weights() {
        let (waits, start) = (ImageWaits::default(), Instant::now());
        let waited = |pod: &Pod, seconds| waits.waited(pod, start + Duration::from_secs(seconds)).as_secs();
        assert_eq!([waited(&pod(None), 0), waited(&pod(None), 60)], [0, 60]);
        let fetched = pod(Some("2026-01-05T10:05:00Z"));
        assert_eq!([waited(&fetched, 70), waited(&fetched, 100)], [0, 30]);
        waits.retain(|_| false);
        assert_eq!(waited(&fetched, 200), 0);
    }
}
