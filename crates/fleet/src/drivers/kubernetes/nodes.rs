//! How the nodes of the cluster are, as far as replicas on them care.

use super::api::mirror::Mirror;
use super::api::requests::Requests;
use super::pod_status::NodeHealth;
use k8s_openapi::api::core::v1::Node;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(super) struct Nodes {
    pub(super) mirror: Arc<Mirror<Node>>,
    lost_after: Duration,
    requests: Arc<Requests>,
    /// Since when each silent node is silent, by our own clock: those of a cluster may differ.
    silent: Mutex<HashMap<String, Instant>>,
}

impl Nodes {
    pub(super) fn new(mirror: Arc<Mirror<Node>>, lost_after: Duration, requests: Arc<Requests>) -> Self {
        Self { mirror, lost_after, requests, silent: Mutex::default() }
    }

    /// Where nobody may look at nodes, every node is taken to be well. While the server is away nobody can say whether a
    /// silent node has come back: none is given up then, and each has its time again afterwards.
    pub(super) fn health(&self, name: &str, now: Instant) -> NodeHealth {
        if !self.mirror.is_synced() {
            return NodeHealth::Healthy;
        }
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        if self.mirror.get(name).is_some_and(|node| is_ready(&node)) {
            silent.remove(name);
            return NodeHealth::Healthy;
        }
        if self.mirror.is_stale() || self.requests.is_away() {
            silent.clear();
            return NodeHealth::Unresponsive;
        }
        let since = *silent.entry(name.to_owned()).or_insert(now);
        if now.duration_since(since) >= self.lost_after { NodeHealth::Lost } else { NodeHealth::Unresponsive }
    }
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| &status.conditions).flatten();
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn node(ready: &str) -> Node {
        let conditions = json!([{"type": "Ready", "status": ready}]);
        serde_json::from_value(json!({"metadata": {"name": "n"}, "status": {"conditions": conditions}})).unwrap()
    }

    #[test]
    fn a_silent_node_is_lost_after_a_while_but_not_while_nobody_can_say() {
        let mirror = Arc::new(Mirror::new(Arc::default()));
        let lost_after = Duration::from_secs(30);
        let nodes = Nodes::new(Arc::clone(&mirror), lost_after, Arc::default());
        let start = Instant::now();
        let see = |seconds| nodes.health("n", start + Duration::from_secs(seconds));
        mirror.replace([node("Unknown")]);
        assert_eq!((see(0), see(29)), (NodeHealth::Unresponsive, NodeHealth::Unresponsive));
        mirror.set_stale(true);
        assert_eq!(see(31), NodeHealth::Unresponsive, "it may have come back unheard");
        mirror.set_stale(false);
        assert_eq!((see(40), see(69), see(70)), (NodeHealth::Unresponsive, NodeHealth::Unresponsive, NodeHealth::Lost));
        mirror.replace([node("True")]);
        assert_eq!(see(71), NodeHealth::Healthy);
        mirror.replace([node("False")]);
        assert_eq!(
            (see(72), see(101), see(102)),
            (NodeHealth::Unresponsive, NodeHealth::Unresponsive, NodeHealth::Lost)
        );
    }
}
