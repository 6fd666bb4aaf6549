//! Commands on nodes.

use crate::author::{AuditedChange, Author};
use crate::command_error::CommandError;
use domain::Timestamp;
use store::nodes::{self, Node};
use store::{Page, Store, endpoint_loads, quota};

/// Lists the nodes.
pub async fn list(store: &Store, page: Page<'_>) -> Result<Vec<Node>, CommandError> {
    Ok(nodes::list(store, page).await?)
}

/// Removes a node that will not come back. Its unreported quota leases are released, and its calls no longer count.
pub async fn forget(store: &Store, author: &Author, id: &str, now: Timestamp) -> Result<(), CommandError> {
    let mut tx = store.begin().await?;
    nodes::forget(&mut tx, id).await?;
    quota::forget_node(&mut tx, id).await?;
    endpoint_loads::leave(&mut tx, id).await?;
    author.record(&mut tx, AuditedChange::new("node.forget", None, id), now).await?;
    Ok(tx.commit().await?)
}
