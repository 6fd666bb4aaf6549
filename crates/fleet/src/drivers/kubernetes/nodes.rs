//! How the nodes of the cluster are, as far as replicas on them care.

use super::mirror::Mirror;
use super::questions::Questions;
use super::sight::NodeSight;
use k8s_openapi::api::core::v1::Node;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(super) struct Nodes {
    pub(super) mirror: Arc<Mirror<Node>>,
    lost_after: Duration,
    questions: Arc<Questions>,
    /// Since when each silent node is silent, by our own clock: those of a cluster may differ.
    silent: Mutex<HashMap<String, Instant>>,
}

impl Nodes {
    pub(super) fn new(mirror: Arc<Mirror<Node>>, lost_after: Duration, questions: Arc<Questions>) -> Self {
        Self { mirror, lost_after, questions, silent: Mutex::default() }
    }

    /// Where nobody may look at nodes, every node is taken to be well. While the server is away nobody can say whether a
    /// silent node has come back: none is given up then, and each has its time again afterwards.
    pub(super) fn sight(&self, name: &str, now: Instant) -> NodeSight {
        if !self.mirror.is_synced() {
            return NodeSight::Well;
        }
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        if self.mirror.get(name).is_some_and(|node| is_ready(&node)) {
            silent.remove(name);
            return NodeSight::Well;
        }
        if self.mirror.is_stale() || self.questions.is_away() {
            silent.clear();
            return NodeSight::Silent;
        }
        let since = *silent.entry(name.to_owned()).or_insert(now);
        if now.duration_since(since) >= self.lost_after { NodeSight::Lost } else { NodeSight::Silent }
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
        let see = |seconds| nodes.sight("n", start + Duration::from_secs(seconds));
        mirror.replace([node("Unknown")]);
        assert_eq!((see(0), see(29)), (NodeSight::Silent, NodeSight::Silent));
        mirror.set_stale(true);
        assert_eq!(see(31), NodeSight::Silent, "it may have come back unheard");
        mirror.set_stale(false);
        assert_eq!((see(40), see(69), see(70)), (NodeSight::Silent, NodeSight::Silent, NodeSight::Lost));
        mirror.replace([node("True")]);
        assert_eq!(see(71), NodeSight::Well);
        mirror.replace([node("False")]);
        assert_eq!((see(72), see(101), see(102)), (NodeSight::Silent, NodeSight::Silent, NodeSight::Lost));
    }
}
