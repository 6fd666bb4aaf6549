//! Commands on organizations.

use crate::command::{AuditedChange, Command};
use crate::command_error::CommandError;
use crate::{entropy, snapshot};
use domain::workspace::check_name;
use domain::workspace_edit::LimitChange;
use domain::{Organization, OrganizationId};
use store::organizations::{self, CountedOrganization};
use store::{Page, Store};

/// Creates an organization.
pub async fn create(command: Command<'_>, name: &str) -> Result<Organization, CommandError> {
    let name = check_name(name)?.to_owned();
    let id = OrganizationId::new(command.now, entropy::for_id());
    let new = Organization { id, name, max_workspaces: None, created_at: command.now };
    let mut tx = command.store.begin().await?;
    organizations::insert(&mut tx, &new).await?;
    let change =
        AuditedChange::new("organization.create", Some(&new.id), new.id.as_str()).after(snapshot::organization(&new));
    command.record(&mut tx, change).await?;
    tx.commit().await?;
    Ok(new)
}

/// All organizations.
pub async fn list(store: &Store, page: Page<'_>) -> Result<Vec<Organization>, CommandError> {
    Ok(organizations::list(store, page).await?)
}

/// An organization by its id.
pub async fn show(store: &Store, id: &OrganizationId) -> Result<Organization, CommandError> {
    organizations::by_id(store, id).await?.ok_or_else(|| CommandError::missing("organization", id.as_str()))
}

/// All organizations, with the numbers of their workspaces and members.
pub async fn list_counted(store: &Store, page: Page<'_>) -> Result<Vec<CountedOrganization>, CommandError> {
    Ok(organizations::list_counted(store, page).await?)
}

/// [`show`], with the numbers of workspaces and members.
pub async fn show_counted(store: &Store, id: &OrganizationId) -> Result<CountedOrganization, CommandError> {
    let found = organizations::counted_by_id(store, id).await?;
    found.ok_or_else(|| CommandError::missing("organization", id.as_str()))
}

/// Renames an organization.
pub async fn rename(command: Command<'_>, id: &OrganizationId, name: &str) -> Result<Organization, CommandError> {
    set(command, id, Edit { name: Some(name), ..Edit::default() }).await
}

/// The members to change.
#[derive(Debug, Clone, Copy, Default)]
pub struct Edit<'a> {
    /// `None` keeps it.
    pub name: Option<&'a str>,
    /// Only the operator changes it.
    pub max_workspaces: LimitChange,
}

/// Changes an organization.
pub async fn set(command: Command<'_>, id: &OrganizationId, edit: Edit<'_>) -> Result<Organization, CommandError> {
    let name = edit.name.map(check_name).transpose()?;
    let mut tx = command.store.begin().await?;
    let current = organizations::lock(&mut tx, id).await?;
    let max_workspaces = match edit.max_workspaces {
        LimitChange::Keep => current.max_workspaces,
        LimitChange::Follow => None,
        LimitChange::Set(limit) => Some(limit),
    };
    let name = name.unwrap_or(&current.name).to_owned();
    let changed = Organization { name, max_workspaces, ..current.clone() };
    organizations::update(&mut tx, &changed, command.now).await?;
    let action = if edit.max_workspaces == LimitChange::Keep { "organization.rename" } else { "organization.set" };
    let change = AuditedChange::new(action, Some(id), id.as_str())
        .before(snapshot::organization(&current))
        .after(snapshot::organization(&changed));
    command.record(&mut tx, change).await?;
    tx.commit().await?;
    Ok(changed)
}

/// Deletes an organization. Fails while it has workspaces.
pub async fn delete(command: Command<'_>, id: &OrganizationId) -> Result<(), CommandError> {
    let mut tx = command.store.begin().await?;
    let current = organizations::lock(&mut tx, id).await?;
    organizations::delete(&mut tx, id, command.now).await?;
    let change =
        AuditedChange::new("organization.delete", Some(id), id.as_str()).before(snapshot::organization(&current));
    command.record(&mut tx, change).await?;
    Ok(tx.commit().await?)
}
