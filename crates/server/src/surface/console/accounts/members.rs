//! `/api/organizations/{id}/members` and `/api/workspaces/{id}/members`: users and their roles.

use crate::surface::console::error::{self, ConsoleError};
use crate::surface::console::extract::query::flag;
use crate::surface::console::extract::{
    Admin, Id, List, Member, PageRequest, Params, Payload, WorkspaceAdmin, WorkspaceCaller,
};
use axum::Json;
use control::members::KeysOfMember;
use control::{CommandError, members, users, workspaces};
use domain::UserId;
use domain::user::Role;
use http::StatusCode;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use view::{MemberView, RoleView};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewRole {
    #[schema(value_type = RoleView)]
    pub role: Role,
}

/// The members of an organization.
#[utoipa::path(get, path = "/api/organizations/{organizationId}/members", tag = "people", params(PageRequest),
    responses((status = 200, body = List<MemberView>)))]
pub(crate) async fn list(member: Member, page: PageRequest) -> Result<Json<List<MemberView>>, ConsoleError> {
    let found = members::list(member.store(), &member.organization, page.to_page()).await?;
    Ok(Json(List::new(found, &page, |one| one.user.to_string(), MemberView::from)))
}

/// Give a member another role.
#[utoipa::path(patch, path = "/api/organizations/{organizationId}/members/{userId}", tag = "people",
    request_body = NewRole,
    responses((status = 204), (status = 409, description = "`last_admin`", body = error::ErrorBody)))]
pub(crate) async fn set_role(
    Admin(member): Admin,
    Id(id): Id<UserId>,
    Payload(body): Payload<NewRole>,
) -> Result<StatusCode, ConsoleError> {
    members::set_role(member.command(), &member.organization, &id, body.role).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(crate) struct Removal {
    /// Whether the keys that the member created in the organization are revoked, too; by default they keep working.
    #[param(required = false, nullable = false, value_type = Option<bool>)]
    revoke_keys: Option<String>,
}

impl Removal {
    pub(crate) fn keys_of_member(&self) -> Result<KeysOfMember, ConsoleError> {
        Ok(if flag("revokeKeys", &self.revoke_keys)? { KeysOfMember::Revoke } else { KeysOfMember::Keep })
    }
}

/// End a membership in the organization and in its workspaces.
#[utoipa::path(delete, path = "/api/organizations/{organizationId}/members/{userId}", tag = "people", params(Removal),
    responses((status = 204), (status = 409, description = "`last_admin`", body = error::ErrorBody)))]
pub(crate) async fn remove(
    Admin(member): Admin,
    Id(id): Id<UserId>,
    Params(removal): Params<Removal>,
) -> Result<StatusCode, ConsoleError> {
    let keys = removal.keys_of_member()?;
    members::remove(member.command(), &member.organization, &id, keys).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The users added to a workspace; administrators of the organization belong to all.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/members", tag = "people", params(PageRequest),
    responses((status = 200, body = List<MemberView>)))]
pub(crate) async fn list_of_workspace(
    caller: WorkspaceCaller,
    page: PageRequest,
) -> Result<Json<List<MemberView>>, ConsoleError> {
    let found = members::list_of_workspace(caller.store(), &caller.workspace, page.to_page()).await?;
    Ok(Json(List::new(found, &page, |one| one.user.to_string(), MemberView::from)))
}

/// Add a member of the organization to a workspace.
#[utoipa::path(put, path = "/api/workspaces/{workspaceId}/members/{userId}", tag = "people",
    responses((status = 204)))]
pub(crate) async fn add_to_workspace(
    WorkspaceAdmin(caller): WorkspaceAdmin,
    Id(id): Id<UserId>,
) -> Result<StatusCode, ConsoleError> {
    let store = caller.store();
    let is_member = users::show(store, &id).await?.role_in(&caller.workspace.organization).is_some();
    if !is_member {
        return Err(CommandError::Missing { noun: "member", id: id.to_string() }.into());
    }
    workspaces::add_member(caller.command(), &caller.workspace.id, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Remove a user from a workspace.
#[utoipa::path(delete, path = "/api/workspaces/{workspaceId}/members/{userId}", tag = "people",
    responses((status = 204)))]
pub(crate) async fn remove_from_workspace(
    WorkspaceAdmin(caller): WorkspaceAdmin,
    Id(id): Id<UserId>,
) -> Result<StatusCode, ConsoleError> {
    workspaces::remove_member(caller.command(), &caller.workspace.id, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
