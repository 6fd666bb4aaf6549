//! Logs of engines on other nodes' machines. See [`store::log_requests`].

use crate::command_error::CommandError;
use crate::{entropy, node_requests};
use domain::Timestamp;
use store::log_requests::{self, LogRequest, LogResponse};
use store::{Store, StoreError};

/// Requests that are older belong to a node that was stopped while it waited.
const KEPT_MILLIS: i64 = 60_000;

/// The part of a log that is wanted.
#[derive(Debug, Clone, Copy)]
pub struct LogPart<'a> {
    pub name: &'a str,
    pub max_bytes: u64,
    /// Only lines with this text; empty for all.
    pub search: &'a str,
}

/// Reads the end of a log on the machine of `node`; `None` if it has no such log.
pub async fn fetch(
    store: &Store,
    node: &str,
    part: LogPart<'_>,
    now: Timestamp,
) -> Result<Option<String>, CommandError> {
    let request = LogRequest {
        id: format!("{:032x}", entropy::for_id()),
        name: part.name.to_owned(),
        max_bytes: part.max_bytes,
        search: part.search.to_owned(),
    };
    let mut tx = store.begin().await?;
    log_requests::ask(&mut tx, node, &request, now).await?;
    tx.commit().await?;
    let response = node_requests::wait(|| read(store, &request.id)).await;
    let mut tx = store.begin().await?;
    log_requests::remove(&mut tx, &request.id, now.plus_millis(-KEPT_MILLIS)).await?;
    tx.commit().await?;
    match response? {
        Some(LogResponse::Text(text)) => Ok(Some(text)),
        Some(LogResponse::Missing) => Ok(None),
        Some(LogResponse::Pending) | None => Err(CommandError::NodeUnresponsive { node: node.to_owned() }),
    }
}

/// `None` until the node has responded.
async fn read(store: &Store, id: &str) -> Result<Option<LogResponse>, StoreError> {
    let response = log_requests::read(store, id).await?;
    Ok((response != LogResponse::Pending).then_some(response))
}
