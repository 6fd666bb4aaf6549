//! Lists of endpoints.

use super::read::{endpoint, select};
use super::shape;
use crate::db::{Query, Store};
use crate::error::StoreError;
use crate::listing::{Listing, Order, SortBy, SortColumn, SortExpression};
use crate::page::Page;
use crate::row;
use domain::endpoint::{Shape, State};
use domain::{Endpoint, EndpointId, EndpointName, ModelId, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

/// More labels than an endpoint can have match nothing.
const MAX_LABELS: usize = 32;

/// Selects endpoints.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filter<'a> {
    pub state: Option<State>,
    pub model: Option<&'a ModelId>,
    /// Labels that an endpoint must all have.
    pub labels: &'a [(String, String)],
    /// A part of the name or of the model; everything if empty.
    pub search: &'a str,
    /// Newest first if absent.
    pub order: Option<Order<EndpointColumn>>,
    /// The last endpoint of the previous page.
    pub before: Option<&'a EndpointId>,
}

/// What endpoints can be sorted by. Those that were never called come before all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointColumn {
    Name,
    State,
    Model,
    CommittedGpus,
    LastRequest,
    Created,
}

impl SortBy for EndpointColumn {
    const ALL: &'static [Self] =
        &[Self::Name, Self::State, Self::Model, Self::CommittedGpus, Self::LastRequest, Self::Created];

    fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::State => "state",
            Self::Model => "model",
            Self::CommittedGpus => "committedGpus",
            Self::LastRequest => "lastRequestAt",
            Self::Created => "createdAt",
        }
    }
}

impl SortColumn for EndpointColumn {
    const TABLE: &'static str = "endpoints e";
    const ID: &'static str = "e.id";
    const FOUND: &'static str = "LOWER(e.name) LIKE $search OR LOWER(e.model) LIKE $search";

    fn expression(self) -> SortExpression {
        match self {
            Self::Name => SortExpression::Text("e.name"),
            Self::State => SortExpression::Text("e.state"),
            Self::Model => SortExpression::Text("e.model"),
            Self::CommittedGpus => SortExpression::Number("e.committed_gpus"),
            Self::LastRequest => SortExpression::Number("COALESCE(e.last_request_at, 0)"),
            Self::Created => SortExpression::Number("e.created_at"),
        }
    }
}

const NEWEST_FIRST: Order<EndpointColumn> = Order { by: EndpointColumn::Created, descending: true };

const LISTED: &str =
    "WHERE e.workspace_id = $1 AND e.deleted_at IS NULL AND ($2 = '' OR e.state = $2) AND ($3 = '' OR e.model = $3) ";

/// The endpoints of a workspace.
pub async fn list(
    store: &Store,
    workspace: &WorkspaceId,
    filter: Filter<'_>,
    limit: u32,
) -> Result<Vec<Endpoint>, StoreError> {
    if filter.labels.len() > MAX_LABELS {
        return Ok(Vec::new());
    }
    let page = Page::after(filter.before.map_or("", EndpointId::as_str), limit);
    let order = Some(filter.order.unwrap_or(NEWEST_FIRST));
    // The row of a deleted endpoint stays, so its value can be read from it.
    let listing = Listing { page, search: filter.search, order, after: None };
    let text = format!("{}{LISTED}{}AND {}", select!(""), with_labels(&filter, 7), listing.clauses(4));
    let query = listing.bind(bind(sqlx::query(AssertSqlSafe(text)), workspace, &filter));
    let query = bind_labels(query, &filter);
    store.rows(query).await?.iter().map(endpoint).collect()
}

/// The number of endpoints that [`list`] has on all its pages.
pub async fn count(store: &Store, workspace: &WorkspaceId, filter: Filter<'_>) -> Result<u64, StoreError> {
    if filter.labels.len() > MAX_LABELS {
        return Ok(0);
    }
    let listing = Listing::<EndpointColumn> { search: filter.search, ..Page::default().into() };
    let found = Listing::<EndpointColumn>::found(4);
    let text = format!("SELECT COUNT(*) AS counted FROM endpoints e {LISTED}{}AND {found}", with_labels(&filter, 5));
    let query = bind(sqlx::query(AssertSqlSafe(text)), workspace, &filter).bind(listing.pattern());
    store.count(bind_labels(query, &filter), "counted").await
}

/// A condition for each label, whose parameters begin at `first`.
fn with_labels(filter: &Filter<'_>, first: usize) -> String {
    let condition = |number| {
        let (name, value) = (first + number * 2, first + 1 + number * 2);
        format!(
            "AND EXISTS (SELECT 1 FROM endpoint_labels l WHERE l.endpoint_id = e.id AND l.name = ${name} \
             AND l.value = ${value}) "
        )
    };
    (0..filter.labels.len()).map(condition).collect()
}

/// Binds the first three parameters.
fn bind<'q>(query: Query<'q>, workspace: &'q WorkspaceId, filter: &Filter<'q>) -> Query<'q> {
    query
        .bind(workspace.as_str())
        .bind(filter.state.map_or("", State::as_str))
        .bind(filter.model.map_or("", ModelId::as_str))
}

fn bind_labels<'q>(query: Query<'q>, filter: &Filter<'q>) -> Query<'q> {
    filter.labels.iter().fold(query, |query, (name, value)| query.bind(name.as_str()).bind(value.as_str()))
}

/// All endpoints that are not deleted.
pub async fn list_all(store: &Store) -> Result<Vec<Endpoint>, StoreError> {
    let query = sqlx::query(select!("WHERE e.deleted_at IS NULL ORDER BY e.id"));
    store.rows(query).await?.iter().map(endpoint).collect()
}

/// At most `limit` failed endpoints of all workspaces, those that failed last first.
pub async fn list_failed(store: &Store, limit: u32) -> Result<Vec<Endpoint>, StoreError> {
    let query =
        sqlx::query(select!("WHERE e.state = $1 AND e.deleted_at IS NULL ORDER BY e.state_since DESC, e.id LIMIT $2"));
    let query = query.bind(State::Failed.as_str()).bind(i64::from(limit));
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
