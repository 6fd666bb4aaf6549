//! `/api/users`: all users, for the operator.

use crate::surface::console::error::{self, ConsoleError};
use crate::surface::console::extract::{Id, List, Operator, PageRequest, Payload, Search};
use axum::Json;
use control::users::{self, Edit};
use domain::user::Role;
use domain::{OrganizationId, User, UserId, WorkspaceId};
use http::StatusCode;
use serde::Deserialize;
use store::users::UserColumn;
use utoipa::ToSchema;
use view::{RoleView, UserView};

type UserSearch = Search<UserColumn>;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct NewUser {
    email: String,
    organization_id: String,
    #[schema(value_type = RoleView)]
    role: Role,
    /// Workspaces of the organization to put the user into. Administrators belong to all; a member without one can do nothing
    /// yet.
    #[serde(default)]
    #[schema(required = false, max_items = 100)]
    workspace_ids: Vec<String>,
    #[serde(default)]
    operator: bool,
    /// Generated and shown once if absent.
    #[schema(format = Password, min_length = 8, max_length = 1024)]
    password: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UserEdit {
    /// Whether the user runs the platform.
    operator: bool,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PasswordReset {
    /// Generated and shown once if absent.
    #[schema(format = Password, min_length = 8, max_length = 1024)]
    password: Option<String>,
}

/// All users.
#[utoipa::path(get, path = "/api/users", tag = "operator", params(PageRequest, UserSearch),
    responses((status = 200, body = List<UserView>)))]
pub(crate) async fn list(
    Operator(caller): Operator,
    page: PageRequest,
    search: UserSearch,
) -> Result<Json<List<UserView>>, ConsoleError> {
    let (store, listing) = (caller.store(), search.to_listing(&page)?);
    let found = users::list(store, listing).await?;
    let total = if search.count { Some(users::count(store, listing).await?) } else { None };
    Ok(Json(List::new(found, &page, |user| search.cursor(user, &user.id), UserView::from).with_total(total)))
}

/// Create a user.
#[utoipa::path(post, path = "/api/users", tag = "operator", request_body = NewUser,
    responses((status = 201, body = UserView),
        (status = 409, description = "`email_taken`", body = error::ErrorBody)))]
pub(crate) async fn create(
    Operator(caller): Operator,
    Payload(body): Payload<NewUser>,
) -> Result<(StatusCode, Json<UserView>), ConsoleError> {
    let organization = OrganizationId::parse(&body.organization_id)?;
    let workspaces = body.workspace_ids.iter().map(|id| WorkspaceId::parse(id)).collect::<Result<Vec<_>, _>>()?;
    let new = users::NewUser {
        email: &body.email,
        password: body.password.as_deref(),
        organization: &organization,
        role: body.role,
        workspaces: &workspaces,
        operator: body.operator,
    };
    let created = users::create(caller.command(), new).await?;
    Ok((StatusCode::CREATED, Json(UserView::once(created.user, created.generated_password))))
}

/// One user.
#[utoipa::path(get, path = "/api/users/{userId}", tag = "operator", responses((status = 200, body = UserView)))]
pub(crate) async fn show(Operator(caller): Operator, Id(id): Id<UserId>) -> Result<Json<UserView>, ConsoleError> {
    Ok(Json(users::show(caller.store(), &id).await?.into()))
}

/// Change whether a user runs the platform.
#[utoipa::path(patch, path = "/api/users/{userId}", tag = "operator", request_body = UserEdit,
    responses((status = 200, body = UserView)))]
pub(crate) async fn edit(
    Operator(caller): Operator,
    Id(id): Id<UserId>,
    Payload(body): Payload<UserEdit>,
) -> Result<Json<UserView>, ConsoleError> {
    let edit = Edit { operator: Some(body.operator), ..Edit::default() };
    Ok(Json(users::set(caller.command(), &id, edit).await?.into()))
}

/// Delete a user; records that they created stay.
#[utoipa::path(delete, path = "/api/users/{userId}", tag = "operator", responses((status = 204)))]
pub(crate) async fn delete(Operator(caller): Operator, Id(id): Id<UserId>) -> Result<StatusCode, ConsoleError> {
    users::delete(caller.command(), &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Set a new password and end the sessions of the user.
#[utoipa::path(post, path = "/api/users/{userId}/reset-password", tag = "operator",
    request_body = Option<PasswordReset>, responses((status = 200, body = UserView)))]
pub(crate) async fn reset_password(
    Operator(caller): Operator,
    Id(id): Id<UserId>,
    Payload(body): Payload<PasswordReset>,
) -> Result<Json<UserView>, ConsoleError> {
    let store = caller.store();
    let user = users::show(store, &id).await?;
    let password = body.password.as_deref();
    let generated = users::reset_password(caller.command(), &user.id, password).await?;
    Ok(Json(UserView::once(User { email_proven: true, ..user }, generated)))
}
