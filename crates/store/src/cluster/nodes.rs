//! Nodes that use this store, with the hash of the catalogue they serve.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::page::Page;
use crate::row;
use domain::Timestamp;
use sqlx::any::AnyRow;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub id: String,
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
    /// The [hash](domain::Catalogue::hash) of the catalogue it serves.
    pub catalogue_hash: String,
}

/// Writes a heartbeat.
pub async fn record(tx: &mut Tx, node: &Node) -> Result<(), StoreError> {
    let upsert = sqlx::query(
        "INSERT INTO nodes (id, started_at, seen_at, catalogue_hash) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (id) DO UPDATE SET started_at = excluded.started_at, seen_at = excluded.seen_at, \
         catalogue_hash = excluded.catalogue_hash",
    )
    .bind(node.id.as_str())
    .bind(node.started_at.millis())
    .bind(node.seen_at.millis())
    .bind(node.catalogue_hash.as_str());
    tx.execute(upsert).await.map(drop)
}

pub async fn list(store: &Store, page: Page<'_>) -> Result<Vec<Node>, StoreError> {
    let query =
        sqlx::query("SELECT id, started_at, seen_at, catalogue_hash FROM nodes WHERE id > $1 ORDER BY id LIMIT $2");
    store.rows(query.bind(page.cursor()).bind(page.limit())).await?.iter().map(node).collect()
}

/// Writes what a node reports about itself, as JSON. The node must have written a heartbeat.
pub async fn report(tx: &mut Tx, id: &str, report: &str) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE nodes SET report = $2 WHERE id = $1").bind(id).bind(report);
    tx.execute_one(update, "node", id).await
}

/// A node, and its last report as JSON; `None` for nodes of older versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedNode {
    pub node: Node,
    pub report: Option<String>,
}

/// All nodes with their reports, at most as many as a page has.
pub async fn list_reported(store: &Store) -> Result<Vec<ReportedNode>, StoreError> {
    let query = sqlx::query("SELECT id, started_at, seen_at, catalogue_hash, report FROM nodes ORDER BY id LIMIT $1");
    let found = store.rows(query.bind(Page::default().limit())).await?;
    let reported = |found: &AnyRow| {
        let report = row::text(found, "report")?;
        Ok(ReportedNode { node: node(found)?, report: (!report.is_empty()).then_some(report) })
    };
    found.iter().map(reported).collect()
}

/// The nodes seen since `since` that serve another catalogue than the one with `hash`.
pub async fn differing_catalogues(store: &Store, hash: &str, since: Timestamp) -> Result<Vec<Node>, StoreError> {
    let query = sqlx::query(
        "SELECT id, started_at, seen_at, catalogue_hash FROM nodes WHERE seen_at >= $1 AND catalogue_hash <> $2 \
         ORDER BY id LIMIT $3",
    );
    let query = query.bind(since.millis()).bind(hash).bind(Page::default().limit());
    store.rows(query).await?.iter().map(node).collect()
}

/// The number of nodes seen since `since`.
pub async fn count_alive(store: &Store, since: Timestamp) -> Result<u64, StoreError> {
    let query = sqlx::query("SELECT COUNT(*) AS alive FROM nodes WHERE seen_at >= $1").bind(since.millis());
    store.row(query).await?.map_or(Ok(0), |found| row::count(&found, "alive"))
}

/// Removes a node that will not come back.
pub async fn forget(tx: &mut Tx, id: &str) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM nodes WHERE id = $1").bind(id);
    tx.execute_one(delete, "node", id).await
}

fn node(found: &AnyRow) -> Result<Node, StoreError> {
    Ok(Node {
        id: row::text(found, "id")?,
        started_at: row::moment(found, "started_at")?,
        seen_at: row::moment(found, "seen_at")?,
        catalogue_hash: row::text(found, "catalogue_hash")?,
    })
}
