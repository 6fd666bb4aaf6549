//! Idempotency keys with the stored response, written by the transaction that makes the change.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::{Timestamp, WorkspaceId};

const KEPT_MILLIS: i64 = 24 * 3_600_000;

/// An idempotency key and the request it was sent with.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub workspace: &'a WorkspaceId,
    pub key: &'a str,
    /// A digest of method, path and body.
    pub fingerprint: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The key is unused, and locked by this transaction.
    New,
    /// The same request has a stored response.
    Completed { outcome: String, response: String },
    /// The key was used for another request.
    Reused,
}

/// Claims the key. Of two concurrent requests, the second one waits for the first.
pub async fn claim(tx: &mut Tx, request: Request<'_>, now: Timestamp) -> Result<Claim, StoreError> {
    let expired = sqlx::query("DELETE FROM idempotency_keys WHERE workspace_id = $1 AND key = $2 AND created_at <= $3")
        .bind(request.workspace.as_str())
        .bind(request.key)
        .bind(now.millis() - KEPT_MILLIS);
    tx.execute(expired).await?;
    let insert = sqlx::query(
        "INSERT INTO idempotency_keys (workspace_id, key, fingerprint, outcome, response, created_at) \
         VALUES ($1, $2, $3, '', '', $4) ON CONFLICT DO NOTHING",
    )
    .bind(request.workspace.as_str())
    .bind(request.key)
    .bind(request.fingerprint)
    .bind(now.millis());
    let inserted = tx
        .execute(insert)
        .await
        .map_err(|error| if error.is_lock_timeout() { StoreError::IdempotencyInProgress } else { error })?;
    if inserted == 1 {
        return Ok(Claim::New);
    }
    let query =
        sqlx::query("SELECT fingerprint, outcome, response FROM idempotency_keys WHERE workspace_id = $1 AND key = $2");
    let found = tx.row(query.bind(request.workspace.as_str()).bind(request.key)).await?;
    let found = found.ok_or(StoreError::IdempotencyInProgress)?;
    if row::text(&found, "fingerprint")? != request.fingerprint {
        return Ok(Claim::Reused);
    }
    Ok(Claim::Completed { outcome: row::text(&found, "outcome")?, response: row::text(&found, "response")? })
}

/// Stores the response, in the transaction of the change.
pub async fn complete(tx: &mut Tx, request: Request<'_>, outcome: &str, response: &str) -> Result<(), StoreError> {
    let update =
        sqlx::query("UPDATE idempotency_keys SET outcome = $3, response = $4 WHERE workspace_id = $1 AND key = $2")
            .bind(request.workspace.as_str())
            .bind(request.key)
            .bind(outcome)
            .bind(response);
    tx.execute(update).await.map(drop)
}

/// Deletes keys older than a day.
pub async fn prune(store: &Store, now: Timestamp) -> Result<u64, StoreError> {
    let delete = sqlx::query("DELETE FROM idempotency_keys WHERE created_at <= $1").bind(now.millis() - KEPT_MILLIS);
    store.execute(delete).await
}
