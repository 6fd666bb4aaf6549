//! Whose replicas a node can look after.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

/// The nodes whose replicas the driver sees. Clones are the same.
#[derive(Debug, Clone)]
pub struct Reach(Arc<RwLock<Option<BTreeSet<String>>>>);

impl Reach {
    /// Of a driver that sees the replicas of all nodes, as in a cluster.
    pub fn everywhere() -> Self {
        Self(Arc::default())
    }

    /// Of a driver that sees the processes of one machine.
    pub fn of_node(node: &str) -> Self {
        Self(Arc::new(RwLock::new(Some(BTreeSet::from([node.to_owned()])))))
    }

    /// These are on the same machine.
    pub fn set(&self, nodes: BTreeSet<String>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(nodes);
    }

    pub fn covers(&self, node: &str) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).as_ref().is_none_or(|nodes| nodes.contains(node))
    }
}
