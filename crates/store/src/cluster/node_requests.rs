//! Requests of one node to another. Nodes do not call each other, so a request and its response pass through the store.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::Timestamp;
use sqlx::any::AnyRow;

/// Requests that a node responds to at once; further ones wait for its next round.
const MAX_AT_ONCE: i64 = 8;

/// What one node wants of another. What the texts mean is up to the nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRequest {
    /// Random.
    pub id: String,
    pub kind: String,
    pub request: String,
}

/// Writes a request to `node`.
pub async fn ask(tx: &mut Tx, node: &str, request: &NodeRequest, now: Timestamp) -> Result<(), StoreError> {
    let insert =
        sqlx::query("INSERT INTO node_requests (id, node, kind, request, requested_at) VALUES ($1, $2, $3, $4, $5)")
            .bind(request.id.as_str())
            .bind(node)
            .bind(request.kind.as_str())
            .bind(request.request.as_str())
            .bind(now.millis());
    tx.execute(insert).await.map(drop)
}

/// The oldest requests of a kind since `since` that `node` has not responded to. Older ones are no longer waited for.
pub async fn list_open(
    store: &Store,
    node: &str,
    kind: &str,
    since: Timestamp,
) -> Result<Vec<NodeRequest>, StoreError> {
    let query = sqlx::query(
        "SELECT id, kind, request FROM node_requests \
         WHERE node = $1 AND kind = $2 AND requested_at >= $3 AND response IS NULL ORDER BY requested_at, id LIMIT $4",
    );
    let query = query.bind(node).bind(kind).bind(since.millis()).bind(MAX_AT_ONCE);
    store.rows(query).await?.iter().map(request).collect()
}

/// Responds to a request. One that was removed meanwhile is not an error.
pub async fn respond(tx: &mut Tx, id: &str, response: &str) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE node_requests SET response = $2 WHERE id = $1");
    tx.execute(update.bind(id).bind(response)).await.map(drop)
}

/// The response to a request; `None` until its node has responded, or if the request is gone: a restart of the store may
/// have removed it.
pub async fn read(store: &Store, id: &str) -> Result<Option<String>, StoreError> {
    let query = sqlx::query("SELECT response FROM node_requests WHERE id = $1").bind(id);
    match store.row(query).await? {
        Some(found) => row::optional_text(&found, "response"),
        None => Ok(None),
    }
}

/// Removes a request. Idempotent.
pub async fn remove(tx: &mut Tx, id: &str) -> Result<(), StoreError> {
    tx.execute(sqlx::query("DELETE FROM node_requests WHERE id = $1").bind(id)).await.map(drop)
}

fn request(found: &AnyRow) -> Result<NodeRequest, StoreError> {
    Ok(NodeRequest {
        id: row::text(found, "id")?,
        kind: row::text(found, "kind")?,
        request: row::text(found, "request")?,
    })
}
