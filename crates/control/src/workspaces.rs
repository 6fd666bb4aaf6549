//! Commands on workspaces.

use crate::author::Author;
use crate::entropy;
use crate::refusal::Refusal;
use domain::workspace::{OwnLimits, check_name};
use domain::{OrganizationId, Timestamp, UserId, Workspace, WorkspaceId};
use store::{Page, Store, workspaces};

/// What to change; what is absent stays. A `version` that is no longer the present one is refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct Edit<'a> {
    pub name: Option<&'a str>,
    pub own: Option<OwnLimits>,
    pub version: Option<u64>,
}

/// A user who creates a workspace belongs to it.
pub async fn create(
    store: &Store,
    author: &Author,
    organization: &OrganizationId,
    name: &str,
    own: OwnLimits,
    now: Timestamp,
) -> Result<Workspace, Refusal> {
    let new = Workspace {
        id: WorkspaceId::new(now, entropy::for_id()),
        organization: organization.clone(),
        name: check_name(name)?.to_owned(),
        own,
        version: 1,
        created_at: now,
    };
    let mut tx = store.begin().await?;
    workspaces::insert(&mut tx, &new).await?;
    if let Some(user) = author.user() {
        workspaces::add_member(&mut tx, &new.id, user, now).await?;
    }
    author.did(&mut tx, "workspace.create", Some(organization), new.id.as_str(), new.name.as_str(), now).await?;
    tx.commit().await?;
    Ok(new)
}

/// The workspaces of one organization.
pub async fn list(store: &Store, organization: &OrganizationId, page: Page<'_>) -> Result<Vec<Workspace>, Refusal> {
    Ok(workspaces::list(store, organization, page).await?)
}

/// The workspaces of all organizations.
pub async fn list_all(store: &Store, page: Page<'_>) -> Result<Vec<Workspace>, Refusal> {
    Ok(workspaces::list_all(store, page).await?)
}

pub async fn show(store: &Store, id: &WorkspaceId) -> Result<Workspace, Refusal> {
    workspaces::by_id(store, id).await?.ok_or_else(|| Refusal::missing("workspace", id.as_str()))
}

pub async fn set(
    store: &Store,
    author: &Author,
    id: &WorkspaceId,
    edit: Edit<'_>,
    now: Timestamp,
) -> Result<Workspace, Refusal> {
    let name = edit.name.map(check_name).transpose()?;
    let mut tx = store.begin().await?;
    let current = workspaces::lock(&mut tx, id).await?;
    let version = edit.version.unwrap_or(current.version);
    let own = edit.own.unwrap_or(current.own);
    let changed = workspaces::update(&mut tx, id, version, name.unwrap_or(&current.name), &own, now).await?;
    let detail = difference(&current, &changed);
    author.did(&mut tx, "workspace.set", Some(&current.organization), id.as_str(), detail, now).await?;
    tx.commit().await?;
    Ok(changed)
}

/// Refused while the workspace has active keys.
pub async fn delete(store: &Store, author: &Author, id: &WorkspaceId, now: Timestamp) -> Result<(), Refusal> {
    let mut tx = store.begin().await?;
    let current = workspaces::lock(&mut tx, id).await?;
    workspaces::delete(&mut tx, id, now).await?;
    author.did(&mut tx, "workspace.delete", Some(&current.organization), id.as_str(), current.name, now).await?;
    Ok(tx.commit().await?)
}

pub async fn add_member(
    store: &Store,
    author: &Author,
    id: &WorkspaceId,
    user: &UserId,
    now: Timestamp,
) -> Result<(), Refusal> {
    let mut tx = store.begin().await?;
    let workspace = workspaces::lock(&mut tx, id).await?;
    workspaces::add_member(&mut tx, id, user, now).await?;
    author.did(&mut tx, "workspace.add-member", Some(&workspace.organization), id.as_str(), user.as_str(), now).await?;
    Ok(tx.commit().await?)
}

pub async fn remove_member(
    store: &Store,
    author: &Author,
    id: &WorkspaceId,
    user: &UserId,
    now: Timestamp,
) -> Result<(), Refusal> {
    let mut tx = store.begin().await?;
    let workspace = workspaces::lock(&mut tx, id).await?;
    workspaces::remove_member(&mut tx, id, user, now).await?;
    let organization = Some(&workspace.organization);
    author.did(&mut tx, "workspace.remove-member", organization, id.as_str(), user.as_str(), now).await?;
    Ok(tx.commit().await?)
}

/// What changed, for the audit log: `name: A → B, maxApiKeys: default → 5`.
fn difference(before: &Workspace, after: &Workspace) -> String {
    let limit = |value: Option<u64>| value.map_or_else(|| "default".to_owned(), |value| value.to_string());
    let parts = [
        ("name", before.name.clone(), after.name.clone()),
        ("requestsPerMinute", limit(before.own.requests_per_minute), limit(after.own.requests_per_minute)),
        ("tokensPerMinute", limit(before.own.tokens_per_minute), limit(after.own.tokens_per_minute)),
        ("monthlyTokens", limit(before.own.monthly_tokens), limit(after.own.monthly_tokens)),
        ("maxApiKeys", limit(before.own.max_api_keys), limit(after.own.max_api_keys)),
    ];
    let changed = parts.iter().filter(|(_, old, new)| old != new);
    changed.map(|(what, old, new)| format!("{what}: {old} → {new}")).collect::<Vec<_>>().join(", ")
}
