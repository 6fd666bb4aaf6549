//! Folders in which nodes keep the files of their replicas.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;

/// A node's folder of replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaRoot {
    pub node: String,
    /// The same for all nodes that see the same processes.
    pub machine: String,
    pub path: String,
}

pub async fn record(tx: &mut Tx, root: &ReplicaRoot) -> Result<(), StoreError> {
    let upsert = sqlx::query(
        "INSERT INTO replica_roots (node, machine, path) VALUES ($1, $2, $3) \
         ON CONFLICT (node) DO UPDATE SET machine = excluded.machine, path = excluded.path",
    );
    tx.execute(upsert.bind(root.node.as_str()).bind(root.machine.as_str()).bind(root.path.as_str())).await.map(drop)
}

/// The folders on a machine.
pub async fn on_machine(store: &Store, machine: &str) -> Result<Vec<ReplicaRoot>, StoreError> {
    let query = sqlx::query("SELECT node, machine, path FROM replica_roots WHERE machine = $1 ORDER BY node");
    let found = store.rows(query.bind(machine)).await?;
    let root = |found: &sqlx::any::AnyRow| {
        Ok(ReplicaRoot {
            node: row::text(found, "node")?,
            machine: row::text(found, "machine")?,
            path: row::text(found, "path")?,
        })
    };
    found.iter().map(root).collect()
}
