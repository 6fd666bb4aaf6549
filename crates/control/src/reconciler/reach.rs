//! The nodes whose replicas the driver can observe.

use parking_lot::RwLock;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Node ids, at first this node's alone. Clones share the set.
#[derive(Debug, Clone)]
pub struct Reach(Arc<RwLock<BTreeSet<String>>>);

impl Reach {
    /// The reach of a driver that observes the processes of one machine.
    pub fn of_node(node: &str) -> Self {
        Self(Arc::new(RwLock::new(BTreeSet::from([node.to_owned()]))))
    }

    /// Replaces the set by the nodes on this machine.
    pub fn set(&self, nodes: BTreeSet<String>) {
        *self.0.write() = nodes;
    }

    pub fn covers(&self, node: &str) -> bool {
        self.0.read().contains(node)
    }
}
