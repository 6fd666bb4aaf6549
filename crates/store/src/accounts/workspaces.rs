//! Workspaces and their members.

use crate::change::Change;
use crate::db::{Store, Tx};
use crate::error::{Conflict, StoreError};
use crate::page::Page;
use crate::values::{chunks, places};
use crate::{audit, end_users, endpoints, organizations, row, users};
use domain::end_user::EndUserSettings;
use domain::limits::OwnPerMinute;
use domain::workspace::OwnLimits;
use domain::{NanoUsd, OrganizationId, QueueWeight, ResponseRetention, Timestamp, UserId, Workspace, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::collections::HashMap;

/// The action of a deletion in the audit log.
pub const DELETED: &str = "workspace.delete";

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT w.id, w.organization_id, w.name, w.requests_per_minute, w.tokens_per_minute, w.monthly_tokens, \
             w.max_api_keys, w.lowered_requests_per_minute, w.lowered_tokens_per_minute, w.lowered_monthly_tokens, \
             w.lowered_max_api_keys, w.monthly_usd, w.own_monthly_usd, w.on_budget, w.end_users, w.response_retention_days, \
             w.queue_weight, w.version, w.created_at, COALESCE(o.monthly_usd, o.own_monthly_usd) AS shared_monthly_usd, \
             o.requests_per_minute AS shared_requests_per_minute, o.tokens_per_minute AS shared_tokens_per_minute \
             FROM workspaces w LEFT JOIN organizations o ON o.id = w.organization_id ",
            $rest
        )
    };
}

pub async fn by_id(store: &Store, id: &WorkspaceId) -> Result<Option<Workspace>, StoreError> {
    let query = sqlx::query(select!("WHERE w.id = $1")).bind(id.as_str());
    store.row(query).await?.as_ref().map(workspace).transpose()
}

/// The workspaces of one organization.
pub async fn list(store: &Store, organization: &OrganizationId, page: Page<'_>) -> Result<Vec<Workspace>, StoreError> {
    let query = sqlx::query(select!("WHERE w.organization_id = $1 AND w.id > $2 ORDER BY w.id LIMIT $3"))
        .bind(organization.as_str())
        .bind(page.cursor())
        .bind(page.limit());
    store.rows(query).await?.iter().map(workspace).collect()
}

/// The workspaces of all organizations.
pub async fn list_all(store: &Store, page: Page<'_>) -> Result<Vec<Workspace>, StoreError> {
    let query = sqlx::query(select!("WHERE w.id > $1 ORDER BY w.id LIMIT $2")).bind(page.cursor()).bind(page.limit());
    store.rows(query).await?.iter().map(workspace).collect()
}

/// The workspaces of one organization that the user was added to explicitly. Administrators have access to all others,
/// too.
pub async fn list_joined(
    store: &Store,
    organization: &OrganizationId,
    user: &UserId,
    page: Page<'_>,
) -> Result<Vec<Workspace>, StoreError> {
    let query = sqlx::query(select!(
        "JOIN workspace_members m ON m.workspace_id = w.id \
         WHERE m.user_id = $1 AND w.organization_id = $2 AND w.id > $3 ORDER BY w.id LIMIT $4"
    ))
    .bind(user.as_str())
    .bind(organization.as_str())
    .bind(page.cursor())
    .bind(page.limit());
    store.rows(query).await?.iter().map(workspace).collect()
}

/// The names of a workspace and of its organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceNames {
    pub workspace: String,
    pub organization_id: OrganizationId,
    pub organization: String,
}

/// The names of those of these workspaces that exist.
pub async fn names(store: &Store, ids: &[WorkspaceId]) -> Result<HashMap<WorkspaceId, WorkspaceNames>, StoreError> {
    let mut all = HashMap::with_capacity(ids.len());
    for chunk in chunks(ids) {
        let text = format!(
            "SELECT w.id, w.name, w.organization_id, o.name AS organization FROM workspaces w \
             JOIN organizations o ON o.id = w.organization_id WHERE w.id IN ({})",
            places(1, chunk.len())
        );
        let query = chunk.iter().fold(sqlx::query(AssertSqlSafe(text)), |query, id| query.bind(id.as_str()));
        for found in store.rows(query).await? {
            let names = WorkspaceNames {
                workspace: row::text(&found, "name")?,
                organization_id: row::parsed(&found, "organization_id", |text| OrganizationId::parse(text).ok())?,
                organization: row::text(&found, "organization")?,
            };
            all.insert(row::parsed(&found, "id", |text| WorkspaceId::parse(text).ok())?, names);
        }
    }
    Ok(all)
}

/// Whether the user was added to the workspace explicitly.
pub async fn has_member(store: &Store, id: &WorkspaceId, user: &UserId) -> Result<bool, StoreError> {
    let query = sqlx::query("SELECT user_id FROM workspace_members WHERE workspace_id = $1 AND user_id = $2");
    Ok(store.row(query.bind(id.as_str()).bind(user.as_str())).await?.is_some())
}

/// Writes a new workspace unless its organization has `limit` already. Those that were deleted since `deleted_since` count,
/// too. The organization must be locked, so that of two concurrent transactions the second sees the workspace of the first.
pub async fn insert_within(
    tx: &mut Tx,
    new: &Workspace,
    limit: u64,
    deleted_since: Timestamp,
) -> Result<(), StoreError> {
    let existing = count_of(tx, &new.organization).await?;
    let deleted = audit::count_since(tx, &new.organization, DELETED, deleted_since).await?;
    if existing + deleted >= limit {
        return Err(Conflict::WorkspaceLimitReached { limit, existing, deleted }.into());
    }
    insert(tx, new).await
}

/// The workspaces of an organization.
pub async fn count_of(tx: &mut Tx, organization: &OrganizationId) -> Result<u64, StoreError> {
    let count = sqlx::query("SELECT COUNT(*) AS workspaces FROM workspaces WHERE organization_id = $1");
    tx.count(count.bind(organization.as_str()), "workspaces").await
}

pub async fn insert(tx: &mut Tx, new: &Workspace) -> Result<(), StoreError> {
    organizations::lock(tx, &new.organization).await?;
    let insert = sqlx::query(
        "INSERT INTO workspaces (id, organization_id, name, requests_per_minute, tokens_per_minute, monthly_tokens, \
         max_api_keys, version, created_at, monthly_usd, own_monthly_usd, on_budget, queue_weight) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    )
    .bind(new.id.as_str())
    .bind(new.organization.as_str())
    .bind(new.name.as_str())
    .bind(row::to_optional_number(new.own.requests_per_minute))
    .bind(row::to_optional_number(new.own.tokens_per_minute))
    .bind(row::to_optional_number(new.own.monthly_tokens))
    .bind(row::to_optional_number(new.own.max_api_keys))
    .bind(row::to_number(new.version))
    .bind(new.created_at.millis())
    .bind(new.monthly_usd.operator.map(NanoUsd::nanos))
    .bind(new.monthly_usd.administrators.map(NanoUsd::nanos))
    .bind(row::from_on_budget(new.on_budget))
    .bind(i64::from(new.weight.get()));
    tx.execute(insert).await?;
    tx.announce(Change::Workspace(new.id.clone()), new.created_at);
    Ok(())
}

/// All workspaces of an organization, in the order in which transactions lock them.
pub async fn all_of(tx: &mut Tx, organization: &OrganizationId) -> Result<Vec<Workspace>, StoreError> {
    let query = sqlx::query(select!("WHERE w.organization_id = $1 ORDER BY w.id")).bind(organization.as_str());
    tx.rows(query).await?.iter().map(workspace).collect()
}

/// Announces a change of all workspaces of an organization, because limits that they share have changed.
pub async fn announce_all(tx: &mut Tx, organization: &OrganizationId, now: Timestamp) -> Result<(), StoreError> {
    for workspace in all_of(tx, organization).await? {
        tx.announce(Change::Workspace(workspace.id), now);
    }
    Ok(())
}

/// Reads a workspace and locks it until the end of the transaction.
pub async fn lock(tx: &mut Tx, id: &WorkspaceId) -> Result<Workspace, StoreError> {
    let touch = sqlx::query("UPDATE workspaces SET name = name WHERE id = $1").bind(id.as_str());
    if tx.execute(touch).await? == 0 {
        return Err(missing(id));
    }
    let query = sqlx::query(select!("WHERE w.id = $1")).bind(id.as_str());
    workspace(&tx.row(query).await?.ok_or_else(|| missing(id))?)
}

/// Writes name, limits and settings if the workspace still has the version that was read, and increments the version.
pub async fn update(tx: &mut Tx, edited: Workspace, now: Timestamp) -> Result<Workspace, StoreError> {
    let current = lock(tx, &edited.id).await?;
    if current.version != edited.version {
        return Err(Conflict::VersionConflict { current: Box::new(current) }.into());
    }
    let changed = Workspace { version: current.version + 1, ..edited };
    let update = sqlx::query(
        "UPDATE workspaces SET name = $2, requests_per_minute = $3, tokens_per_minute = $4, monthly_tokens = $5, \
         max_api_keys = $6, lowered_requests_per_minute = $7, lowered_tokens_per_minute = $8, \
         lowered_monthly_tokens = $9, lowered_max_api_keys = $10, response_retention_days = $11, \
         version = $12, monthly_usd = $13, own_monthly_usd = $14, on_budget = $15, end_users = $16, queue_weight = $17 WHERE id = $1",
    )
    .bind(changed.id.as_str())
    .bind(changed.name.as_str())
    .bind(row::to_optional_number(changed.own.requests_per_minute))
    .bind(row::to_optional_number(changed.own.tokens_per_minute))
    .bind(row::to_optional_number(changed.own.monthly_tokens))
    .bind(row::to_optional_number(changed.own.max_api_keys))
    .bind(row::to_optional_number(changed.lowered.requests_per_minute))
    .bind(row::to_optional_number(changed.lowered.tokens_per_minute))
    .bind(row::to_optional_number(changed.lowered.monthly_tokens))
    .bind(row::to_optional_number(changed.lowered.max_api_keys))
    .bind(changed.response_retention.map(|retention| i64::from(retention.days())))
    .bind(row::to_number(changed.version))
    .bind(changed.monthly_usd.operator.map(NanoUsd::nanos))
    .bind(changed.monthly_usd.administrators.map(NanoUsd::nanos))
    .bind(row::from_on_budget(changed.on_budget))
    .bind(end_users_text(&changed.end_users))
    .bind(i64::from(changed.weight.get()));
    tx.execute(update).await?;
    tx.announce(Change::Workspace(changed.id.clone()), now);
    Ok(changed)
}

/// Removes a workspace with its inactive keys and its memberships. Fails if it has active keys or endpoints. Usage stays.
pub async fn delete(tx: &mut Tx, id: &WorkspaceId, now: Timestamp) -> Result<(), StoreError> {
    lock(tx, id).await?;
    let count = sqlx::query(
        "SELECT COUNT(*) AS active_keys FROM api_keys WHERE workspace_id = $1 AND revoked_at IS NULL \
         AND disabled_at IS NULL AND (expires_at IS NULL OR expires_at > $2)",
    );
    let active_keys = tx.count(count.bind(id.as_str()).bind(now.millis()), "active_keys").await?;
    if active_keys > 0 {
        return Err(Conflict::WorkspaceInUse { active_keys }.into());
    }
    let endpoints = endpoints::count_of(tx, id).await?;
    if endpoints > 0 {
        return Err(Conflict::WorkspaceHasEndpoints { endpoints }.into());
    }
    for text in ["DELETE FROM workspaces WHERE id = $1", "DELETE FROM end_users WHERE workspace_id = $1"] {
        tx.execute(sqlx::query(text).bind(id.as_str())).await?;
    }
    tx.announce(Change::Workspace(id.clone()), now);
    Ok(())
}

/// Adds the user to the workspace. Idempotent.
pub async fn add_member(tx: &mut Tx, id: &WorkspaceId, user: &UserId, now: Timestamp) -> Result<(), StoreError> {
    lock(tx, id).await?;
    users::lock(tx, user).await?;
    let insert =
        sqlx::query("INSERT INTO workspace_members (workspace_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING");
    tx.execute(insert.bind(id.as_str()).bind(user.as_str())).await?;
    tx.announce(Change::User(user.clone()), now);
    Ok(())
}

/// Ends a membership. Idempotent.
pub async fn remove_member(tx: &mut Tx, id: &WorkspaceId, user: &UserId, now: Timestamp) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM workspace_members WHERE workspace_id = $1 AND user_id = $2");
    tx.execute(delete.bind(id.as_str()).bind(user.as_str())).await?;
    tx.announce(Change::User(user.clone()), now);
    Ok(())
}

fn missing(id: &WorkspaceId) -> StoreError {
    StoreError::missing("workspace", id.as_str())
}

fn workspace(found: &AnyRow) -> Result<Workspace, StoreError> {
    Ok(Workspace {
        id: row::parsed(found, "id", |text| WorkspaceId::parse(text).ok())?,
        organization: row::parsed(found, "organization_id", |text| OrganizationId::parse(text).ok())?,
        name: row::text(found, "name")?,
        own: OwnLimits {
            requests_per_minute: row::optional_count(found, "requests_per_minute")?,
            tokens_per_minute: row::optional_count(found, "tokens_per_minute")?,
            monthly_tokens: row::optional_count(found, "monthly_tokens")?,
            max_api_keys: row::optional_count(found, "max_api_keys")?,
        },
        lowered: OwnLimits {
            requests_per_minute: row::optional_count(found, "lowered_requests_per_minute")?,
            tokens_per_minute: row::optional_count(found, "lowered_tokens_per_minute")?,
            monthly_tokens: row::optional_count(found, "lowered_monthly_tokens")?,
            max_api_keys: row::optional_count(found, "lowered_max_api_keys")?,
        },
        monthly_usd: row::monthly_budget(found)?,
        on_budget: row::on_budget(found)?,
        end_users: end_users::settings(found)?,
        organization_has_budget: row::optional_number(found, "shared_monthly_usd")?.is_some(),
        organization_per_minute: OwnPerMinute {
            requests: row::optional_count(found, "shared_requests_per_minute")?,
            tokens: row::optional_count(found, "shared_tokens_per_minute")?,
        },
        response_retention: retention(found)?,
        weight: QueueWeight::new(row::count(found, "queue_weight")?).map_err(|_| row::corrupt("queue_weight"))?,
        version: row::count(found, "version")?,
        created_at: row::moment(found, "created_at")?,
    })
}

/// `NULL` for the default.
fn end_users_text(settings: &EndUserSettings) -> Option<String> {
    let is_default = *settings == EndUserSettings::default();
    (!is_default).then(|| serde_json::to_string(settings).expect("has only text keys"))
}

/// How long the responses of a workspace are stored, from its column `response_retention_days`.
pub(crate) fn retention(found: &AnyRow) -> Result<Option<ResponseRetention>, StoreError> {
    let days = row::optional_count(found, "response_retention_days")?;
    days.map(ResponseRetention::from_days).transpose().map_err(|_| row::corrupt("response_retention_days"))
}
