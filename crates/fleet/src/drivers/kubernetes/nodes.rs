//! Health of the cluster's nodes, as far as replicas on them are concerned.

use super::api::mirror::Mirror;
use super::api::requests::Requests;
use super::pod_status::NodeHealth;
use k8s_openapi::api::core::v1::Node;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) struct Nodes {
    pub(super) mirror: Arc<Mirror<Node>>,
    lost_after: Duration,
    requests: Arc<Requests>,
    /// Since when each unready node is unready, by our own clock: those of a cluster may differ.
    unready_since: Mutex<HashMap<String, Instant>>,
}

impl Nodes {
    pub(super) fn new(mirror: Arc<Mirror<Node>>, lost_after: Duration, requests: Arc<Requests>) -> Self {
        Self { mirror, lost_after, requests, unready_since: Mutex::default() }
    }

    /// If nodes cannot be listed, every node is assumed to be healthy. During an outage of the server a node may have
    /// recovered unnoticed: none is given up then, and the time of each starts again afterwards.
    pub(super) fn health(&self, name: &str, now: Instant) -> NodeHealth {
        if !self.mirror.is_synced() {
            return NodeHealth::Healthy;
        }
        let mut unready_since = self.unready_since.lock();
        if self.mirror.get(name).is_some_and(|node| is_ready(&node)) {
            unready_since.remove(name);
            return NodeHealth::Healthy;
        }
        if self.mirror.is_stale() || self.requests.in_outage() {
            unready_since.clear();
            return NodeHealth::Unresponsive;
        }
        let since = *unready_since.entry(name.to_owned()).or_insert(now);
        if now.duration_since(since) >= self.lost_after { NodeHealth::Lost } else { NodeHealth::Unresponsive }
    }
}

pub(super) fn is_ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| &status.conditions).flatten();
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::runtime::watcher::Event;
    use serde_json::json;

    fn node(ready: &str) -> Node {
        let conditions = json!([{"type": "Ready", "status": ready}]);
        serde_json::from_value(json!({"metadata": {"name": "n"}, "status": {"conditions": conditions}})).unwrap()
    }

    fn list(mirror: &Mirror<Node>, node: Node) {
        for event in [Event::Init, Event::InitApply(node), Event::InitDone] {
            mirror.apply(&event);
        }
    }

    #[test]
    fn an_unready_node_is_lost_after_a_while_but_not_during_an_outage() {
        let mirror = Arc::new(Mirror::new(None, Arc::default()));
        let lost_after = Duration::from_secs(30);
        let nodes = Nodes::new(Arc::clone(&mirror), lost_after, Arc::default());
        let start = Instant::now();
        let health_at = |seconds| nodes.health("n", start + Duration::from_secs(seconds));
        list(&mirror, node("Unknown"));
        assert_eq!((health_at(0), health_at(29)), (NodeHealth::Unresponsive, NodeHealth::Unresponsive));
        mirror.set_stale(true);
        assert_eq!(health_at(31), NodeHealth::Unresponsive, "it may have recovered unnoticed");
        mirror.set_stale(false);
        assert_eq!(
            (health_at(40), health_at(69), health_at(70)),
            (NodeHealth::Unresponsive, NodeHealth::Unresponsive, NodeHealth::Lost)
        );
        list(&mirror, node("True"));
        assert_eq!(health_at(71), NodeHealth::Healthy);
        list(&mirror, node("False"));
        assert_eq!(
            (health_at(72), health_at(101), health_at(102)),
            (NodeHealth::Unresponsive, NodeHealth::Unresponsive, NodeHealth::Lost)
        );
    }
}
