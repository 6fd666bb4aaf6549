//! Commands on the members of an organization.

use crate::command::{AuditedChange, Command};
use crate::command_error::CommandError;
use crate::keys::{self, DisabledKeys};
use crate::snapshot;
use domain::user::{Membership, Role};
use domain::{OrganizationId, UserId, Workspace};
use store::users::{self, Member};
use store::{Page, Store, StoreError, api_keys};

/// The members of an organization.
pub async fn list(store: &Store, organization: &OrganizationId, page: Page<'_>) -> Result<Vec<Member>, CommandError> {
    Ok(users::list_members(store, organization, page).await?)
}

/// The explicit members of a workspace, without administrators of the organization.
pub async fn list_of_workspace(
    store: &Store,
    workspace: &Workspace,
    page: Page<'_>,
) -> Result<Vec<Member>, CommandError> {
    Ok(users::list_of_workspace(store, workspace, page).await?)
}

/// Changes the role of a member. The last administrator cannot be demoted.
pub async fn set_role(
    command: Command<'_>,
    organization: &OrganizationId,
    id: &UserId,
    role: Role,
) -> Result<(), CommandError> {
    let mut tx = command.store.begin().await?;
    let current = users::lock_role(&mut tx, id, organization).await?;
    if (current, role) == (Role::Admin, Role::Member) {
        users::check_other_admin(&mut tx, id, organization).await?;
    }
    let membership = Membership { organization_id: organization.clone(), role, proven: false };
    users::join(&mut tx, id, &membership, command.now).await?;
    let change = AuditedChange::new("member.set-role", Some(organization), id.as_str())
        .before(snapshot::role(current))
        .after(snapshot::role(role));
    command.record(&mut tx, change).await?;
    Ok(tx.commit().await?)
}

/// Adds a user to the organization, or changes the role of a member. The last administrator cannot be demoted.
pub async fn put(
    command: Command<'_>,
    organization: &OrganizationId,
    id: &UserId,
    role: Role,
) -> Result<(), CommandError> {
    let mut tx = command.store.begin().await?;
    let current = match users::lock_role(&mut tx, id, organization).await {
        Ok(role) => Some(role),
        Err(StoreError::Missing { noun: "member", .. }) => None,
        Err(error) => return Err(error.into()),
    };
    if (current, role) == (Some(Role::Admin), Role::Member) {
        users::check_other_admin(&mut tx, id, organization).await?;
    }
    // The operator knows whom it adds.
    let membership = Membership { organization_id: organization.clone(), role, proven: true };
    users::join(&mut tx, id, &membership, command.now).await?;
    let action = if current.is_some() { "member.set-role" } else { "member.add" };
    let mut change = AuditedChange::new(action, Some(organization), id.as_str()).after(snapshot::role(role));
    if let Some(current) = current {
        change = change.before(snapshot::role(current));
    }
    command.record(&mut tx, change).await?;
    Ok(tx.commit().await?)
}

/// Whether the keys that a removed member created keep working.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeysOfMember {
    Keep,
    Revoke,
}

/// Removes a member from the organization and its workspaces. The last administrator cannot be removed.
pub async fn remove(
    command: Command<'_>,
    organization: &OrganizationId,
    id: &UserId,
    keys_of_member: KeysOfMember,
) -> Result<(), CommandError> {
    let mut tx = command.store.begin().await?;
    let current = users::lock_role(&mut tx, id, organization).await?;
    if current == Role::Admin {
        users::check_other_admin(&mut tx, id, organization).await?;
    }
    users::leave(&mut tx, id, organization, command.now).await?;
    if keys_of_member == KeysOfMember::Revoke {
        let ids = api_keys::unrevoked_of(&mut tx, organization, id).await?;
        keys::revoke_in(command, &mut tx, organization, ids.into_iter().collect(), DisabledKeys::Revoke).await?;
    }
    let change = AuditedChange::new("member.remove", Some(organization), id.as_str()).before(snapshot::role(current));
    command.record(&mut tx, change).await?;
    Ok(tx.commit().await?)
}
