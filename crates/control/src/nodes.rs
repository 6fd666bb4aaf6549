//! Commands on nodes.

use crate::command::{AuditedChange, Command};
use crate::command_error::CommandError;
use store::holds::{self, HeldGpu};
use store::nodes::{self, Node, ReportedNode};
use store::{Page, Store, endpoint_loads, leader, leases};

/// Lists the nodes.
pub async fn list(store: &Store, page: Page<'_>) -> Result<Vec<Node>, CommandError> {
    Ok(nodes::list(store, page).await?)
}

/// All nodes with their reports, and the id of the node that leads.
pub async fn list_reported(store: &Store) -> Result<(Vec<ReportedNode>, String), CommandError> {
    Ok((nodes::list_reported(store).await?, leader::read(store).await?.holder))
}

/// Every GPU that a replica holds now.
pub async fn held_gpus(store: &Store) -> Result<Vec<HeldGpu>, CommandError> {
    Ok(holds::list_held_gpus(store).await?)
}

/// Removes a node that will not come back. Its unreported quota leases are released, and its calls no longer count.
pub async fn forget(command: Command<'_>, id: &str) -> Result<(), CommandError> {
    let mut tx = command.store.begin().await?;
    nodes::forget(&mut tx, id).await?;
    leases::forget_node(&mut tx, id).await?;
    endpoint_loads::leave(&mut tx, id).await?;
    command.record(&mut tx, AuditedChange::new("node.forget", None, id)).await?;
    Ok(tx.commit().await?)
}
