//! Rows of calls that no replica saw.

use crate::db::Tx;
use crate::error::StoreError;
use crate::row;
use crate::values::{insert_text, pieces};
use domain::usage::Actor;
use domain::{RequestId, Timestamp, WorkspaceId};
use sqlx::AssertSqlSafe;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub request: RequestId,
    pub workspace: WorkspaceId,
    pub actor: Actor,
    /// Empty where the call named no model of ours.
    pub model: String,
    pub status: u16,
    pub code: String,
    pub started_at: Timestamp,
    pub duration_micros: u64,
    pub held_micros: Option<u64>,
}

const COLUMNS: &str =
    "request_id, workspace_id, key_id, user_id, model, status, code, started_at, duration_micros, held_micros";

/// Writes calls that were refused; saying it twice changes nothing.
pub async fn insert_refused(tx: &mut Tx, calls: &[Refused]) -> Result<(), StoreError> {
    for piece in pieces(calls) {
        let text = insert_text(tx.engine(), "refused_calls", COLUMNS, piece.len());
        let text = AssertSqlSafe(text + " ON CONFLICT (request_id) DO NOTHING");
        let mut insert = sqlx::query(text);
        for call in piece {
            let (key, user) = match &call.actor {
                Actor::Key(key) => (Some(key.as_str()), None),
                Actor::User(user) => (None, Some(user.as_str())),
            };
            insert = insert
                .bind(call.request.as_str())
                .bind(call.workspace.as_str())
                .bind(key)
                .bind(user)
                .bind(call.model.as_str())
                .bind(i64::from(call.status))
                .bind(call.code.as_str())
                .bind(call.started_at.millis())
                .bind(row::to_number(call.duration_micros))
                .bind(row::to_optional_number(call.held_micros));
        }
        tx.execute(insert).await?;
    }
    Ok(())
}
