//! Authorization of sessions: which organization and workspaces a user may access.
//!
//! A session has one selected organization. Records of other organizations do not exist for it, even if the user is a
//! member there too; switching is one call.

use crate::command_error::CommandError;
use crate::sessions::ActiveSession;
use domain::user::Role;
use domain::{OrganizationId, User, Workspace, WorkspaceId};
use store::{Page, Store, workspaces};

/// The selected organization and the user's role there. Fails if the membership has ended since.
pub fn organization(signed: &ActiveSession) -> Result<(&OrganizationId, Role), CommandError> {
    let chosen = signed.session.organization.as_ref().ok_or(CommandError::NoOrganizationContext)?;
    let role = signed.user.effective_role_in(chosen).ok_or(CommandError::NoOrganizationContext)?;
    Ok((chosen, role))
}

/// A workspace of the organization, if the user may access it.
pub async fn workspace(
    store: &Store,
    user: &User,
    organization: &OrganizationId,
    id: &WorkspaceId,
) -> Result<Workspace, CommandError> {
    let found = workspaces::by_id(store, id).await?.filter(|found| found.organization == *organization);
    let found = found.ok_or_else(|| CommandError::missing("workspace", id.as_str()))?;
    if belongs(store, user, &found).await? { Ok(found) } else { Err(CommandError::NotAMember) }
}

/// The workspaces of the organization that the user may access.
pub async fn workspaces(
    store: &Store,
    user: &User,
    organization: &OrganizationId,
    page: Page<'_>,
) -> Result<Vec<Workspace>, CommandError> {
    match user.effective_role_in(organization) {
        Some(Role::Admin) => Ok(workspaces::list(store, organization, page).await?),
        Some(Role::Member) => Ok(workspaces::list_joined(store, organization, &user.id, page).await?),
        None => Ok(Vec::new()),
    }
}

/// Administrators of the organization count as members of every workspace.
async fn belongs(store: &Store, user: &User, workspace: &Workspace) -> Result<bool, CommandError> {
    match user.effective_role_in(&workspace.organization) {
        Some(Role::Admin) => Ok(true),
        Some(Role::Member) => Ok(workspaces::has_member(store, &workspace.id, &user.id).await?),
        None => Ok(false),
    }
}
