//! Lists of endpoints, newest first.

use super::read::{endpoint, select};
use super::shape;
use crate::db::Store;
use crate::error::StoreError;
use crate::row;
use domain::endpoint::{Shape, State};
use domain::{Endpoint, EndpointId, EndpointName, ModelId, Timestamp, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const MAX_LISTED: u32 = 1_000;
/// More labels than an endpoint can have match nothing.
const MAX_LABELS: usize = 32;

/// Selects endpoints.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filter<'a> {
    pub state: Option<State>,
    pub model: Option<&'a ModelId>,
    /// Labels that an endpoint must all have.
    pub labels: &'a [(String, String)],
    /// The last endpoint of the previous page.
    pub before: Option<(Timestamp, &'a EndpointId)>,
}

const LISTED: &str = select!(
    "WHERE e.workspace_id = $1 AND e.deleted_at IS NULL AND ($2 = '' OR e.state = $2) AND ($3 = '' OR e.model = $3) \
     AND (e.created_at < $4 OR (e.created_at = $4 AND e.id < $5)) "
);

/// The endpoints of a workspace, newest first.
pub async fn list(
    store: &Store,
    workspace: &WorkspaceId,
    filter: Filter<'_>,
    limit: u32,
) -> Result<Vec<Endpoint>, StoreError> {
    if filter.labels.len() > MAX_LABELS {
        return Ok(Vec::new());
    }
    let mut text = LISTED.to_owned();
    for number in 0..filter.labels.len() {
        let (name, value) = (7 + number * 2, 8 + number * 2);
        text.push_str(&format!(
            "AND EXISTS (SELECT 1 FROM endpoint_labels l WHERE l.endpoint_id = e.id AND l.name = ${name} \
             AND l.value = ${value}) "
        ));
    }
    text.push_str("ORDER BY e.created_at DESC, e.id DESC LIMIT $6");
    let (before_at, before_id) = filter.before.map_or((i64::MAX, ""), |(at, id)| (at.millis(), id.as_str()));
    let mut query = sqlx::query(AssertSqlSafe(text))
        .bind(workspace.as_str())
        .bind(filter.state.map_or("", State::as_str))
        .bind(filter.model.map_or("", ModelId::as_str))
        .bind(before_at)
        .bind(before_id)
        .bind(i64::from(limit.clamp(1, MAX_LISTED)));
    for (name, value) in filter.labels {
        query = query.bind(name.as_str()).bind(value.as_str());
    }
    store.rows(query).await?.iter().map(endpoint).collect()
}

/// All endpoints that are not deleted.
pub async fn list_all(store: &Store) -> Result<Vec<Endpoint>, StoreError> {
    let query = sqlx::query(select!("WHERE e.deleted_at IS NULL ORDER BY e.id"));
    store.rows(query).await?.iter().map(endpoint).collect()
}

/// The shape that an endpoint was created with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredShape {
    pub name: EndpointName,
    pub model: ModelId,
    pub shape: Shape,
}

/// The shapes of all endpoints that are not deleted, by name.
pub async fn list_shapes(store: &Store) -> Result<Vec<StoredShape>, StoreError> {
    let query = sqlx::query("SELECT name, model, shape FROM endpoints WHERE deleted_at IS NULL ORDER BY name, id");
    let stored = |found: &AnyRow| {
        Ok(StoredShape {
            name: row::parsed(found, "name", |text| EndpointName::parse(text).ok())?,
            model: row::parsed(found, "model", |text| ModelId::parse(text).ok())?,
            shape: row::parsed(found, "shape", shape::read)?,
        })
    };
    store.rows(query).await?.iter().map(stored).collect()
}
