//! How the nodes of the cluster are, as far as replicas on them care.

use super::mirror::Mirror;
use super::sight::NodeSight;
use k8s_openapi::api::core::v1::Node;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(super) struct Nodes {
    pub(super) mirror: Arc<Mirror<Node>>,
    lost_after: Duration,
    /// Since when each silent node is silent, by our own clock: those of a cluster may differ.
    silent: Mutex<HashMap<String, Instant>>,
}

impl Nodes {
    pub(super) fn new(mirror: Arc<Mirror<Node>>, lost_after: Duration) -> Self {
        Self { mirror, lost_after, silent: Mutex::default() }
    }

    /// Where nobody may look at nodes, every node is taken to be well.
    pub(super) fn sight(&self, name: &str, now: Instant) -> NodeSight {
        if !self.mirror.is_synced() {
            return NodeSight::Well;
        }
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        if self.mirror.get(name).is_some_and(|node| is_ready(&node)) {
            silent.remove(name);
            return NodeSight::Well;
        }
        let since = *silent.entry(name.to_owned()).or_insert(now);
        if now.duration_since(since) >= self.lost_after { NodeSight::Lost } else { NodeSight::Silent }
    }
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| &status.conditions).flatten();
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}
