//! Commands on organizations.

use crate::author::{AuditedChange, Author};
use crate::command_error::CommandError;
use crate::{entropy, snapshot};
use domain::workspace::check_name;
use domain::{Organization, OrganizationId, Timestamp};
use store::organizations::{self, CountedOrganization};
use store::{Page, Store};

/// Creates an organization.
pub async fn create(store: &Store, author: &Author, name: &str, now: Timestamp) -> Result<Organization, CommandError> {
    let name = check_name(name)?.to_owned();
    let new = Organization { id: OrganizationId::new(now, entropy::for_id()), name, created_at: now };
    let mut tx = store.begin().await?;
    organizations::insert(&mut tx, &new).await?;
    let change =
        AuditedChange::new("organization.create", Some(&new.id), new.id.as_str()).after(snapshot::organization(&new));
    author.record(&mut tx, change, now).await?;
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
pub async fn rename(
    store: &Store,
    author: &Author,
    id: &OrganizationId,
    name: &str,
    now: Timestamp,
) -> Result<Organization, CommandError> {
    let name = check_name(name)?;
    let mut tx = store.begin().await?;
    let current = organizations::lock(&mut tx, id).await?;
    let renamed = organizations::rename(&mut tx, id, name, now).await?;
    let change = AuditedChange::new("organization.rename", Some(id), id.as_str())
        .before(snapshot::organization(&current))
        .after(snapshot::organization(&renamed));
    author.record(&mut tx, change, now).await?;
    tx.commit().await?;
    Ok(renamed)
}

/// Deletes an organization. Fails while it has workspaces.
pub async fn delete(store: &Store, author: &Author, id: &OrganizationId, now: Timestamp) -> Result<(), CommandError> {
    let mut tx = store.begin().await?;
    let current = organizations::lock(&mut tx, id).await?;
    organizations::delete(&mut tx, id, now).await?;
    let change =
        AuditedChange::new("organization.delete", Some(id), id.as_str()).before(snapshot::organization(&current));
    author.record(&mut tx, change, now).await?;
    Ok(tx.commit().await?)
}
