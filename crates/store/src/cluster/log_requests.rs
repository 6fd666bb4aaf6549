//! Requests for logs of engines on other nodes' machines. Nodes do not call each other, so a request and its response pass
//! through the store.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::Timestamp;
use sqlx::any::AnyRow;

/// Requests that a node answers at once; further ones wait for its next round.
const MAX_AT_ONCE: i64 = 8;

/// The part of a log that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRequest {
    /// Random.
    pub id: String,
    /// The name of the log.
    pub name: String,
    /// How much of the end of the log is read.
    pub max_bytes: u64,
    /// Only lines with this text; empty for all.
    pub search: String,
}

/// The state of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogResponse {
    Pending,
    /// The node has no such log.
    Missing,
    Text(String),
}

/// Writes a request to `node`.
pub async fn ask(tx: &mut Tx, node: &str, request: &LogRequest, now: Timestamp) -> Result<(), StoreError> {
    let insert = sqlx::query(
        "INSERT INTO log_requests (id, node, name, max_bytes, search, requested_at) VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(request.id.as_str())
    .bind(node)
    .bind(request.name.as_str())
    .bind(row::to_number(request.max_bytes))
    .bind(request.search.as_str())
    .bind(now.millis());
    tx.execute(insert).await.map(drop)
}

/// The oldest requests that `node` has not answered.
pub async fn list_open(store: &Store, node: &str) -> Result<Vec<LogRequest>, StoreError> {
    let query = sqlx::query(
        "SELECT id, name, max_bytes, search FROM log_requests WHERE node = $1 AND responded_at IS NULL \
         ORDER BY requested_at LIMIT $2",
    );
    store.rows(query.bind(node).bind(MAX_AT_ONCE)).await?.iter().map(request).collect()
}

/// Answers a request; `None` if there is no such log. A request that was removed meanwhile is not an error.
pub async fn respond(tx: &mut Tx, id: &str, text: Option<&str>, now: Timestamp) -> Result<(), StoreError> {
    // PostgreSQL does not store this character.
    let text = text.map(|text| text.replace('\0', "\u{fffd}"));
    let update = sqlx::query("UPDATE log_requests SET responded_at = $2, content = $3 WHERE id = $1");
    tx.execute(update.bind(id).bind(now.millis()).bind(text)).await.map(drop)
}

/// The state of a request. One that is gone counts as pending: a restart of the store may have removed it.
pub async fn read(store: &Store, id: &str) -> Result<LogResponse, StoreError> {
    let query = sqlx::query("SELECT responded_at, content FROM log_requests WHERE id = $1").bind(id);
    let Some(found) = store.row(query).await? else { return Ok(LogResponse::Pending) };
    if row::optional_moment(&found, "responded_at")?.is_none() {
        return Ok(LogResponse::Pending);
    }
    Ok(row::optional_text(&found, "content")?.map_or(LogResponse::Missing, LogResponse::Text))
}

/// Removes a request, and all that are older than `before`, whose nodes were stopped while they waited. Idempotent.
pub async fn remove(tx: &mut Tx, id: &str, before: Timestamp) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM log_requests WHERE id = $1 OR requested_at < $2");
    tx.execute(delete.bind(id).bind(before.millis())).await.map(drop)
}

fn request(found: &AnyRow) -> Result<LogRequest, StoreError> {
    Ok(LogRequest {
        id: row::text(found, "id")?,
        name: row::text(found, "name")?,
        max_bytes: row::count(found, "max_bytes")?,
        search: row::text(found, "search")?,
    })
}
