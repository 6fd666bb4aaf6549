//! Who uses the most, over all workspaces.

use super::amounts::{Amounts, COLUMNS};
use super::query::parts;
use crate::db::Store;
use crate::error::StoreError;
use crate::row;
use crate::values::{chunks, places};
use domain::model_ref::DEDICATED;
use domain::span::Piece;
use domain::usage::Totals;
use domain::{Day, OrganizationId, WorkspaceId, named_enum};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

/// Most rows of a result.
pub const MAX_READ: usize = 10_000;

named_enum! {
    /// What usage is added up by.
    pub enum ConsumerKind {
        Organization = "organization",
        Model = "model",
        Endpoint = "endpoint",
        Key = "key",
    }
}

/// The usage of an organization, of a model of the catalogue, of an endpoint, or of a key or user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer {
    /// `None` for a model.
    pub organization: Option<(OrganizationId, String)>,
    /// The workspace of an endpoint or a key, with its name.
    pub workspace: Option<(WorkspaceId, String)>,
    /// The id of a model or an endpoint; empty otherwise.
    pub model: String,
    /// The id of a key or a user; empty otherwise.
    pub actor: String,
    /// The name of the key, or the address of the user; empty if it does not exist any more.
    pub actor_name: String,
    pub totals: Totals,
    /// The last day with usage.
    pub last_day: Day,
}

/// The usage of existing workspaces in the pieces, the most tokens first.
pub async fn read(store: &Store, kind: ConsumerKind, pieces: &[Piece]) -> Result<Vec<Consumer>, StoreError> {
    read_some(store, kind, pieces, &[]).await
}

/// [`read`], of the workspaces of these organizations, in any order.
pub async fn read_of(
    store: &Store,
    kind: ConsumerKind,
    organizations: &[&OrganizationId],
    pieces: &[Piece],
) -> Result<Vec<Consumer>, StoreError> {
    let mut consumers = Vec::new();
    for chunk in chunks(organizations) {
        consumers.extend(read_some(store, kind, pieces, chunk).await?);
    }
    Ok(consumers)
}

/// The consumers of these organizations, or of all if the list is empty.
async fn read_some(
    store: &Store,
    kind: ConsumerKind,
    pieces: &[Piece],
    organizations: &[&OrganizationId],
) -> Result<Vec<Consumer>, StoreError> {
    if pieces.is_empty() {
        return Ok(Vec::new());
    }
    let text = text(kind, pieces, organizations.len());
    let mut query = sqlx::query(AssertSqlSafe(text)).bind(format!("{DEDICATED}/%"));
    for piece in pieces {
        query = query.bind(piece.span.from.millis()).bind(piece.span.to.millis());
    }
    query = organizations.iter().fold(query, |query, id| query.bind(id.as_str()));
    let mut consumers = Vec::new();
    for found in store.rows(query).await? {
        consumers.extend(consumer(kind, &found)?);
    }
    Ok(consumers)
}

/// `None` without usage.
fn consumer(kind: ConsumerKind, found: &AnyRow) -> Result<Option<Consumer>, StoreError> {
    let amounts = Amounts::read(found)?;
    if amounts.is_zero() {
        return Ok(None);
    }
    let text = |column: &str| row::text(found, column);
    let organization = row::parsed(found, "organization", |id| OrganizationId::parse(id).ok())?;
    let workspace = row::parsed(found, "workspace", |id| WorkspaceId::parse(id).ok())?;
    let organization = (kind != ConsumerKind::Model).then_some((organization, text("organization_name")?));
    let workspace =
        matches!(kind, ConsumerKind::Endpoint | ConsumerKind::Key).then_some((workspace, text("workspace_name")?));
    Ok(Some(Consumer {
        organization,
        workspace,
        model: text("model")?,
        actor: text("actor")?,
        actor_name: text("actor_name")?,
        totals: amounts.totals()?,
        last_day: Day::of(row::moment(found, "last_day")?),
    }))
}

/// Ids and names are the same in all rows of a group, or not read.
fn text(kind: ConsumerKind, pieces: &[Piece], organizations: usize) -> String {
    let (groups, condition) = match kind {
        ConsumerKind::Organization => ("w.organization_id", "1 = 1"),
        ConsumerKind::Model => ("p.model", "p.model NOT LIKE $1"),
        ConsumerKind::Endpoint => ("p.workspace_id, p.model", "p.model LIKE $1"),
        ConsumerKind::Key => ("p.workspace_id, p.actor", "1 = 1"),
    };
    let workspaces = match organizations {
        0 => String::new(),
        some => format!(" WHERE organization_id IN ({})", places(pieces.len() * 2 + 2, some)),
    };
    let sums = COLUMNS.map(|column| format!("CAST(COALESCE(SUM(p.{column}), 0) AS BIGINT) AS {column}")).join(", ");
    format!(
        "SELECT MIN(w.organization_id) AS organization, MIN(o.name) AS organization_name, MIN(w.id) AS workspace, \
         MIN(w.name) AS workspace_name, MIN(p.model) AS model, MIN(p.actor) AS actor, \
         COALESCE(MIN(k.name), MIN(u.email), '') AS actor_name, MAX(p.day) AS last_day, {sums} \
         FROM ({parts}) AS p JOIN workspaces w ON w.id = p.workspace_id JOIN organizations o ON o.id = w.organization_id \
         LEFT JOIN api_keys k ON k.id = p.actor LEFT JOIN users u ON u.id = p.actor \
         WHERE $1 <> '' AND {condition} GROUP BY {groups} \
         ORDER BY SUM(p.prompt_tokens) + SUM(p.completion_tokens) DESC LIMIT {MAX_READ}",
        parts = parts(pieces, &format!("workspace_id IN (SELECT id FROM workspaces{workspaces})")),
    )
}
