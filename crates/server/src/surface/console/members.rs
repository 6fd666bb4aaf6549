//! `/api/organizations/{id}/members` and `/api/workspaces/{id}/members`: people and their roles.

use super::Console;
use super::caller::{Admin, InWorkspace, Member, WorkspaceAdmin};
use super::error::{self, Refused};
use super::list::{List, PageAsked};
use super::path::Id;
use super::payload::Payload;
use crate::view::{MemberView, RoleView};
use axum::Json;
use axum::extract::State;
use control::{CommandError, members, users, workspaces};
use domain::UserId;
use domain::user::Role;
use http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewRole {
    #[schema(value_type = RoleView)]
    role: Role,
}

/// The members of an organization.
#[utoipa::path(get, path = "/api/organizations/{organizationId}/members", tag = "people", params(PageAsked),
    responses((status = 200, body = List<MemberView>)))]
pub(super) async fn list(
    State(console): State<Console>,
    member: Member,
    asked: PageAsked,
) -> Result<Json<List<MemberView>>, Refused> {
    let found = members::list(&console.people.store, &member.organization, asked.page()).await?;
    Ok(Json(List::new(found, &asked, |one| one.user.to_string(), MemberView::from)))
}

/// Give a member another role.
#[utoipa::path(patch, path = "/api/organizations/{organizationId}/members/{userId}", tag = "people",
    request_body = NewRole,
    responses((status = 204), (status = 409, description = "`last_admin`", body = error::Error)))]
pub(super) async fn set_role(
    State(console): State<Console>,
    Admin(member): Admin,
    Id(id): Id<UserId>,
    Payload(wish): Payload<NewRole>,
) -> Result<StatusCode, Refused> {
    let (store, author, now) = (&console.people.store, member.caller.author(), member.caller.now());
    members::set_role(store, &author, &member.organization, &id, wish.role, now).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// End a membership in the organization and in its workspaces.
#[utoipa::path(delete, path = "/api/organizations/{organizationId}/members/{userId}", tag = "people",
    responses((status = 204), (status = 409, description = "`last_admin`", body = error::Error)))]
pub(super) async fn remove(
    State(console): State<Console>,
    Admin(member): Admin,
    Id(id): Id<UserId>,
) -> Result<StatusCode, Refused> {
    let (store, author, now) = (&console.people.store, member.caller.author(), member.caller.now());
    members::remove(store, &author, &member.organization, &id, now).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Those who belong to a workspace by name; administrators of the organization belong to all.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/members", tag = "people", params(PageAsked),
    responses((status = 200, body = List<MemberView>)))]
pub(super) async fn list_of_workspace(
    State(console): State<Console>,
    place: InWorkspace,
    asked: PageAsked,
) -> Result<Json<List<MemberView>>, Refused> {
    let found = members::list_of_workspace(&console.people.store, &place.workspace, asked.page()).await?;
    Ok(Json(List::new(found, &asked, |one| one.user.to_string(), MemberView::from)))
}

/// Put a member of the organization into a workspace.
#[utoipa::path(put, path = "/api/workspaces/{workspaceId}/members/{userId}", tag = "people",
    responses((status = 204)))]
pub(super) async fn add_to_workspace(
    State(console): State<Console>,
    WorkspaceAdmin(place): WorkspaceAdmin,
    Id(id): Id<UserId>,
) -> Result<StatusCode, Refused> {
    let store = &console.people.store;
    let is_member = users::show(store, &id).await?.role_in(&place.workspace.organization).is_some();
    if !is_member {
        return Err(CommandError::Missing { noun: "member", id: id.to_string() }.into());
    }
    workspaces::add_member(store, &place.author(), &place.workspace.id, &id, place.now()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Take somebody out of a workspace.
#[utoipa::path(delete, path = "/api/workspaces/{workspaceId}/members/{userId}", tag = "people",
    responses((status = 204)))]
pub(super) async fn remove_from_workspace(
    State(console): State<Console>,
    WorkspaceAdmin(place): WorkspaceAdmin,
    Id(id): Id<UserId>,
) -> Result<StatusCode, Refused> {
    workspaces::remove_member(&console.people.store, &place.author(), &place.workspace.id, &id, place.now()).await?;
    Ok(StatusCode::NO_CONTENT)
}
