//! Events of endpoints. Appended with the change, read newest first, kept for 90 days.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::endpoint::State;
use domain::endpoint::event::{Actor, Event, EventType};
use domain::endpoint::state::StateReason;
use domain::{EndpointId, EventId, ReplicaId, Span, Timestamp, WorkspaceId};
use sqlx::any::AnyRow;

pub const KEPT_MILLIS: i64 = 90 * 24 * 3_600_000;
const MAX_LISTED: u32 = 1_000;

pub async fn append(tx: &mut Tx, event: &Event) -> Result<(), StoreError> {
    let insert = sqlx::query(
        "INSERT INTO endpoint_events (id, endpoint_id, type, at, actor_kind, actor_id, from_state, to_state, reason, \
         message, replica_id, data) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    )
    .bind(event.id.as_str())
    .bind(event.endpoint.as_str())
    .bind(event.kind.as_str())
    .bind(event.at.millis())
    .bind(event.actor.kind())
    .bind(event.actor.id())
    .bind(event.from.map(State::as_str))
    .bind(event.to.map(State::as_str))
    .bind(event.reason.as_str())
    .bind(event.message.as_str())
    .bind(event.replica.as_ref().map(ReplicaId::as_str))
    .bind(event.data.as_str());
    tx.execute(insert).await.map(drop)
}

/// Selects events.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filter<'a> {
    pub since: Option<Timestamp>,
    pub kind: Option<EventType>,
    /// The last event of the previous page.
    pub before: Option<(Timestamp, &'a EventId)>,
}

/// The newest events first.
pub async fn list(
    store: &Store,
    endpoint: &EndpointId,
    filter: Filter<'_>,
    limit: u32,
) -> Result<Vec<Event>, StoreError> {
    let (before_at, before_id) = filter.before.map_or((i64::MAX, ""), |(at, id)| (at.millis(), id.as_str()));
    let query = sqlx::query(
        "SELECT id, endpoint_id, type, at, actor_kind, actor_id, from_state, to_state, reason, message, replica_id, \
         data FROM endpoint_events WHERE endpoint_id = $1 AND at >= $2 AND ($3 = '' OR type = $3) \
         AND (at < $4 OR (at = $4 AND id < $5)) ORDER BY at DESC, id DESC LIMIT $6",
    )
    .bind(endpoint.as_str())
    .bind(filter.since.map_or(0, Timestamp::millis))
    .bind(filter.kind.map_or("", EventType::as_str))
    .bind(before_at)
    .bind(before_id)
    .bind(i64::from(limit.clamp(1, MAX_LISTED)));
    store.rows(query).await?.iter().map(event).collect()
}

/// When the endpoints of a workspace were woken, with their names. The duration is not reported.
pub async fn cold_starts(
    store: &Store,
    workspace: &WorkspaceId,
    span: Span,
    most: usize,
) -> Result<Vec<(Timestamp, String)>, StoreError> {
    let query = sqlx::query(
        "SELECT e.at, p.name FROM endpoints p JOIN endpoint_events e ON e.endpoint_id = p.id \
         WHERE p.workspace_id = $1 AND e.at >= $2 AND e.at < $3 AND e.type = $4 AND e.reason = $5 ORDER BY e.at LIMIT $6",
    )
    .bind(workspace.as_str())
    .bind(span.from.millis())
    .bind(span.to.millis())
    .bind(EventType::StateChanged.as_str())
    .bind(StateReason::ColdStart.as_str())
    .bind(i64::try_from(most).unwrap_or(i64::MAX));
    let found = store.rows(query).await?;
    found.iter().map(|found| Ok((row::moment(found, "at")?, row::text(found, "name")?))).collect()
}

/// Deletes events older than 90 days.
pub async fn prune(store: &Store, now: Timestamp) -> Result<u64, StoreError> {
    let delete = sqlx::query("DELETE FROM endpoint_events WHERE at < $1").bind(now.millis() - KEPT_MILLIS);
    store.execute(delete).await
}

fn event(found: &AnyRow) -> Result<Event, StoreError> {
    let (kind, id) = (row::text(found, "actor_kind")?, row::text(found, "actor_id")?);
    Ok(Event {
        id: row::parsed(found, "id", |text| EventId::parse(text).ok())?,
        endpoint: row::parsed(found, "endpoint_id", |text| EndpointId::parse(text).ok())?,
        kind: row::parsed(found, "type", EventType::parse)?,
        at: row::moment(found, "at")?,
        actor: Actor::parse(&kind, &id).ok_or_else(|| row::corrupt("actor_id"))?,
        from: row::optional_parsed(found, "from_state", State::parse)?,
        to: row::optional_parsed(found, "to_state", State::parse)?,
        reason: row::text(found, "reason")?,
        message: row::text(found, "message")?,
        replica: row::optional_parsed(found, "replica_id", |text| ReplicaId::parse(text).ok())?,
        data: row::text(found, "data")?,
    })
}
