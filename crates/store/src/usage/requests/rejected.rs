//! Calls that were rejected before they reached a replica.

use crate::db::Tx;
use crate::error::StoreError;
use crate::row;
use crate::usage::event;
use crate::values::{chunks, insert_text};
use domain::usage::{Actor, CallOrigin};
use domain::{EndUserId, KeyId, ModelId, RequestId, Timestamp, UserId, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

/// A rejected call, as it is in the request log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedCall {
    pub request: RequestId,
    pub workspace: WorkspaceId,
    pub actor: Actor,
    /// `None` if the call named no known model.
    pub model: Option<ModelId>,
    pub status: u16,
    pub code: String,
    pub started_at: Timestamp,
    pub duration_micros: u64,
    pub held_micros: Option<u64>,
    pub origin: CallOrigin,
    pub end_user: Option<EndUserId>,
}

pub(super) const COLUMNS: &str = "request_id, workspace_id, key_id, user_id, model, status, code, started_at, duration_micros, \
     held_micros, surface, requested_model, end_user, class";

/// Writes rejected calls. Idempotent.
pub async fn insert_rejected(tx: &mut Tx, calls: &[RejectedCall]) -> Result<(), StoreError> {
    for chunk in chunks(calls) {
        let text = insert_text(tx.engine(), "refused_calls", COLUMNS, chunk.len());
        let text = AssertSqlSafe(text + " ON CONFLICT (request_id) DO NOTHING");
        let mut insert = sqlx::query(text);
        for call in chunk {
            let (key, user) = match &call.actor {
                Actor::Key(key) => (Some(key.as_str()), None),
                Actor::User(user) => (None, Some(user.as_str())),
            };
            insert = insert
                .bind(call.request.as_str())
                .bind(call.workspace.as_str())
                .bind(key)
                .bind(user)
                .bind(call.model.as_ref().map_or("", ModelId::as_str))
                .bind(i64::from(call.status))
                .bind(call.code.as_str())
                .bind(call.started_at.millis())
                .bind(row::to_number(call.duration_micros))
                .bind(row::to_optional_number(call.held_micros))
                .bind(event::surface_text(&call.origin))
                .bind(event::requested_text(&call.origin))
                .bind(call.end_user.as_ref().map(EndUserId::as_str))
                .bind(call.origin.class.as_str());
        }
        tx.execute(insert).await?;
    }
    Ok(())
}

pub(super) fn from_row(found: &AnyRow) -> Result<RejectedCall, StoreError> {
    let key = row::optional_parsed(found, "key_id", |text| KeyId::parse(text).ok())?.map(Actor::Key);
    let user = row::optional_parsed(found, "user_id", |text| UserId::parse(text).ok())?.map(Actor::User);
    let model = row::text(found, "model")?;
    Ok(RejectedCall {
        request: row::parsed(found, "request_id", |text| RequestId::parse(text).ok())?,
        workspace: row::parsed(found, "workspace_id", |text| WorkspaceId::parse(text).ok())?,
        actor: key.or(user).ok_or_else(|| row::corrupt("key_id"))?,
        model: if model.is_empty() { None } else { Some(ModelId::parse(&model).map_err(|_| row::corrupt("model"))?) },
        status: row::status(found)?,
        code: row::text(found, "code")?,
        started_at: row::moment(found, "started_at")?,
        duration_micros: row::count(found, "duration_micros")?,
        held_micros: row::optional_count(found, "held_micros")?,
        origin: event::read_origin(found)?,
        end_user: row::optional_parsed(found, "end_user", EndUserId::parse)?,
    })
}
