//! Aliases of workspaces.

use crate::change::Change;
use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::alias::AliasName;
use domain::{ModelRef, Timestamp, WorkspaceId};
use sqlx::any::AnyRow;

/// The aliases of a workspace with their targets, by name.
pub async fn list(store: &Store, workspace: &WorkspaceId) -> Result<Vec<(AliasName, ModelRef)>, StoreError> {
    let query = sqlx::query("SELECT name, model FROM workspace_aliases WHERE workspace_id = $1 ORDER BY name");
    store.rows(query.bind(workspace.as_str())).await?.iter().map(alias).collect()
}

/// The same within a transaction.
pub async fn list_in(tx: &mut Tx, workspace: &WorkspaceId) -> Result<Vec<(AliasName, ModelRef)>, StoreError> {
    let query = sqlx::query("SELECT name, model FROM workspace_aliases WHERE workspace_id = $1 ORDER BY name");
    tx.rows(query.bind(workspace.as_str())).await?.iter().map(alias).collect()
}

/// Creates or changes an alias. The workspace must be locked.
pub async fn put(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    name: &AliasName,
    model: &ModelRef,
    now: Timestamp,
) -> Result<(), StoreError> {
    let query = sqlx::query(
        "INSERT INTO workspace_aliases (workspace_id, name, model) VALUES ($1, $2, $3) \
         ON CONFLICT (workspace_id, name) DO UPDATE SET model = excluded.model",
    );
    tx.execute(query.bind(workspace.as_str()).bind(name.as_str()).bind(model.to_string())).await?;
    tx.announce(Change::Workspace(workspace.clone()), now);
    Ok(())
}

/// Deletes an alias. Idempotent.
pub async fn delete(tx: &mut Tx, workspace: &WorkspaceId, name: &AliasName, now: Timestamp) -> Result<(), StoreError> {
    let query = sqlx::query("DELETE FROM workspace_aliases WHERE workspace_id = $1 AND name = $2");
    tx.execute(query.bind(workspace.as_str()).bind(name.as_str())).await?;
    tx.announce(Change::Workspace(workspace.clone()), now);
    Ok(())
}

fn alias(found: &AnyRow) -> Result<(AliasName, ModelRef), StoreError> {
    Ok((
        row::parsed(found, "name", |text| AliasName::parse(text).ok())?,
        row::parsed(found, "model", |text| ModelRef::parse(text).ok())?,
    ))
}
