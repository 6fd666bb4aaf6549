//! Commands on organizations.

use crate::author::Author;
use crate::entropy;
use crate::refusal::Refusal;
use domain::workspace::check_name;
use domain::{Organization, OrganizationId, Timestamp};
use store::{Page, Store, organizations};

pub async fn create(store: &Store, author: &Author, name: &str, now: Timestamp) -> Result<Organization, Refusal> {
    let name = check_name(name)?.to_owned();
    let new = Organization { id: OrganizationId::new(now, entropy::for_id()), name, created_at: now };
    let mut tx = store.begin().await?;
    organizations::insert(&mut tx, &new).await?;
    author.did(&mut tx, "organization.create", Some(&new.id), new.id.as_str(), new.name.as_str(), now).await?;
    tx.commit().await?;
    Ok(new)
}

pub async fn list(store: &Store, page: Page<'_>) -> Result<Vec<Organization>, Refusal> {
    Ok(organizations::list(store, page).await?)
}

pub async fn show(store: &Store, id: &OrganizationId) -> Result<Organization, Refusal> {
    organizations::by_id(store, id).await?.ok_or_else(|| Refusal::missing("organization", id.as_str()))
}

pub async fn rename(
    store: &Store,
    author: &Author,
    id: &OrganizationId,
    name: &str,
    now: Timestamp,
) -> Result<Organization, Refusal> {
    let name = check_name(name)?;
    let mut tx = store.begin().await?;
    let renamed = organizations::rename(&mut tx, id, name, now).await?;
    author.did(&mut tx, "organization.rename", Some(id), id.as_str(), name, now).await?;
    tx.commit().await?;
    Ok(renamed)
}

/// Refused while the organization still has workspaces.
pub async fn delete(store: &Store, author: &Author, id: &OrganizationId, now: Timestamp) -> Result<(), Refusal> {
    let mut tx = store.begin().await?;
    organizations::delete(&mut tx, id, now).await?;
    author.did(&mut tx, "organization.delete", Some(id), id.as_str(), "", now).await?;
    Ok(tx.commit().await?)
}
