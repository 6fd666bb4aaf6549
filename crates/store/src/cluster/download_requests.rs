//! Requests of operators to change downloads on other nodes' machines. Nodes do not call each other, so a request and its
//! outcome pass through the store.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::{DownloadId, Timestamp, UserId};
use sqlx::any::AnyRow;

/// Requests that a node answers at once; further ones wait for its next round.
const MAX_AT_ONCE: i64 = 8;

/// A change that an operator wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadRequest {
    /// Random.
    pub id: String,
    pub download: DownloadId,
    pub change: String,
    pub user: UserId,
    /// The address of the operator's request.
    pub address: String,
}

/// Writes a request to `node`.
pub async fn ask(tx: &mut Tx, node: &str, request: &DownloadRequest, now: Timestamp) -> Result<(), StoreError> {
    let insert = sqlx::query(
        "INSERT INTO download_requests (id, node, download, change, user_id, address, requested_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(request.id.as_str())
    .bind(node)
    .bind(request.download.as_str())
    .bind(request.change.as_str())
    .bind(request.user.as_str())
    .bind(request.address.as_str())
    .bind(now.millis());
    tx.execute(insert).await.map(drop)
}

/// The oldest requests since `since` that `node` has not answered. Older ones are no longer waited for.
pub async fn list_open(store: &Store, node: &str, since: Timestamp) -> Result<Vec<DownloadRequest>, StoreError> {
    let query = sqlx::query(
        "SELECT id, download, change, user_id, address FROM download_requests \
         WHERE node = $1 AND requested_at >= $2 AND outcome IS NULL ORDER BY requested_at LIMIT $3",
    );
    let query = query.bind(node).bind(since.millis()).bind(MAX_AT_ONCE);
    store.rows(query).await?.iter().map(request).collect()
}

/// Answers a request. One that was removed meanwhile is not an error.
pub async fn respond(tx: &mut Tx, id: &str, outcome: &str) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE download_requests SET outcome = $2 WHERE id = $1");
    tx.execute(update.bind(id).bind(outcome)).await.map(drop)
}

/// The outcome of a request; `None` until its node has responded.
pub async fn read(store: &Store, id: &str) -> Result<Option<String>, StoreError> {
    let query = sqlx::query("SELECT outcome FROM download_requests WHERE id = $1").bind(id);
    match store.row(query).await? {
        Some(found) => row::optional_text(&found, "outcome"),
        None => Ok(None),
    }
}

/// Removes a request. Idempotent.
pub async fn remove(tx: &mut Tx, id: &str) -> Result<(), StoreError> {
    tx.execute(sqlx::query("DELETE FROM download_requests WHERE id = $1").bind(id)).await.map(drop)
}

fn request(found: &AnyRow) -> Result<DownloadRequest, StoreError> {
    Ok(DownloadRequest {
        id: row::text(found, "id")?,
        download: row::parsed(found, "download", |text| DownloadId::parse(text).ok())?,
        change: row::text(found, "change")?,
        user: row::parsed(found, "user_id", |text| UserId::parse(text).ok())?,
        address: row::text(found, "address")?,
    })
}
