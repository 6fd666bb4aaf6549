//! Who uses the most, over all workspaces.

use super::amounts::{Amounts, COLUMNS};
use super::query::parts;
use crate::db::Store;
use crate::error::StoreError;
use crate::row;
use domain::model_ref::DEDICATED;
use domain::span::Piece;
use domain::usage::Totals;
use domain::{Day, OrganizationId, WorkspaceId, named_enum};
use sqlx::AssertSqlSafe;

/// Most rows of a result.
const MAX_READ: usize = 10_000;

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
    if pieces.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = sqlx::query(AssertSqlSafe(text(kind, pieces))).bind(format!("{DEDICATED}/%"));
    for piece in pieces {
        query = query.bind(piece.span.from.millis()).bind(piece.span.to.millis());
    }
    let mut consumers = Vec::new();
    for found in store.rows(query).await? {
        let amounts = Amounts::read(&found)?;
        if amounts.is_zero() {
            continue;
        }
        let text = |column: &str| row::text(&found, column);
        let organization = row::parsed(&found, "organization", |id| OrganizationId::parse(id).ok())?;
        let workspace = row::parsed(&found, "workspace", |id| WorkspaceId::parse(id).ok())?;
        let organization = (kind != ConsumerKind::Model).then_some((organization, text("organization_name")?));
        let workspace =
            matches!(kind, ConsumerKind::Endpoint | ConsumerKind::Key).then_some((workspace, text("workspace_name")?));
        consumers.push(Consumer {
            organization,
            workspace,
            model: text("model")?,
            actor: text("actor")?,
            actor_name: text("actor_name")?,
            totals: amounts.totals()?,
            last_day: Day::of(row::moment(&found, "last_day")?),
        });
    }
    Ok(consumers)
}

/// Ids and names are the same in all rows of a group, or not read.
fn text(kind: ConsumerKind, pieces: &[Piece]) -> String {
    let (groups, condition) = match kind {
        ConsumerKind::Organization => ("w.organization_id", "1 = 1"),
        ConsumerKind::Model => ("p.model", "p.model NOT LIKE $1"),
        ConsumerKind::Endpoint => ("p.workspace_id, p.model", "p.model LIKE $1"),
        ConsumerKind::Key => ("p.workspace_id, p.actor", "1 = 1"),
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
        parts = parts(pieces, "workspace_id IN (SELECT id FROM workspaces)"),
    )
}
