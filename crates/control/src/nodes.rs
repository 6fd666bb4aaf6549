//! Commands on nodes.

use crate::author::Author;
use crate::refusal::Refusal;
use domain::Timestamp;
use store::nodes::{self, Node};
use store::{Page, Store, quota};

pub async fn list(store: &Store, page: Page<'_>) -> Result<Vec<Node>, Refusal> {
    Ok(nodes::list(store, page).await?)
}

/// Removes a node that will not come back; what it leased and did not report is free again.
pub async fn forget(store: &Store, author: &Author, id: &str, now: Timestamp) -> Result<(), Refusal> {
    let mut tx = store.begin().await?;
    nodes::forget(&mut tx, id).await?;
    quota::forget_node(&mut tx, id).await?;
    author.did(&mut tx, "node.forget", None, id, "", now).await?;
    Ok(tx.commit().await?)
}
