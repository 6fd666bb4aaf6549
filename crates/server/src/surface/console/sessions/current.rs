//! `/api/session`: sign-in, sign-out, and the current organization and workspace.

use crate::credential::session_cookie;
use crate::surface::console::Console;
use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{Payload, SessionOwner, Visitor};
use crate::surface::console::sessions::browser_cookie;
use crate::surface_context::SurfaceContext;
use axum::Json;
use axum::extract::State;
use axum::response::{AppendHeaders, IntoResponse, Response};
use control::sessions::{self, ActiveSession};
use control::{access, sign_in};
use domain::{OrganizationId, WorkspaceId};
use http::{StatusCode, header};
use serde::{Deserialize, Serialize};
use store::Page;
use utoipa::ToSchema;
use view::RoleView;

/// The signed-in user, with organizations and workspaces.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Session)]
pub(crate) enum SessionBody {
    SignedIn(SignedIn),
    SignedOut(SignedOut),
}

#[derive(Serialize, ToSchema)]
pub(crate) struct SignedOut {
    #[schema(value_type = Option<bool>, example = json!(null))]
    user: (),
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SignedIn {
    user: SignedInUser,
    organizations: Vec<JoinedOrganization>,
    /// The workspaces that the user belongs to, of all organizations.
    workspaces: Vec<JoinedWorkspace>,
    current_organization_id: Option<String>,
    current_workspace_id: Option<String>,
    /// For the header `X-CSRF-Token` of every change; it stays the same as long as the session.
    csrf_token: String,
}

#[derive(Serialize, ToSchema)]
struct SignedInUser {
    id: String,
    email: String,
    /// The operator runs the platform.
    operator: bool,
}

#[derive(Serialize, ToSchema)]
struct JoinedOrganization {
    id: String,
    name: String,
    role: RoleView,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct JoinedWorkspace {
    id: String,
    organization_id: String,
    name: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Credentials {
    #[schema(example = "admin@localhost")]
    email: String,
    #[schema(format = Password)]
    password: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Context {
    #[serde(default)]
    organization_id: Option<String>,
    #[serde(default)]
    workspace_id: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct NewPassword {
    #[schema(format = Password)]
    current_password: String,
    #[schema(format = Password, min_length = 8, max_length = 1024)]
    new_password: String,
}

/// Sign in with e-mail address and password.
#[utoipa::path(post, path = "/api/session", tag = "session", security(()), request_body = Credentials,
    responses((status = 200, body = SessionBody, headers(("set-cookie" = String, description = "the session")))))]
pub(crate) async fn sign_in(
    State(console): State<Console>,
    visitor: Visitor,
    Payload(credentials): Payload<Credentials>,
) -> Result<Response, ConsoleError> {
    let context = &console.context;
    let command = visitor.request.session_command(context);
    let signed = sign_in::sign_in(command, &credentials.email, &credentials.password).await?;
    start_session(context, &visitor, signed).await
}

/// Sets the cookie of a new session and ends the session it replaces.
pub(crate) async fn start_session(
    context: &SurfaceContext,
    visitor: &Visitor,
    signed: ActiveSession,
) -> Result<Response, ConsoleError> {
    let command = visitor.request.session_command(context);
    if let Some(before) = &visitor.signed {
        // It may have ended meanwhile.
        let _ = sessions::sign_out(command, before).await;
    }
    browser_cookie::remember(command, &signed).await;
    let body = Json(SessionBody::SignedIn(describe(context, &signed).await?));
    context.throttles.learn_session(signed.token.hash());
    let cookie = session_cookie::set(&signed.token, context.lifetimes.absolute_millis / 1_000, context.is_https());
    Ok(([(header::SET_COOKIE, cookie)], body).into_response())
}

/// The signed-in user, if any.
#[utoipa::path(get, path = "/api/session", tag = "session", security((), ("session" = [])),
    responses((status = 200, body = SessionBody)))]
pub(crate) async fn show(State(console): State<Console>, visitor: Visitor) -> Result<Response, ConsoleError> {
    let context = &console.context;
    let Some(signed) = &visitor.signed else {
        return Ok(Json(SessionBody::SignedOut(SignedOut { user: () })).into_response());
    };
    let cookie = browser_cookie::set(signed, &visitor.request.origin, context.is_https());
    let cookie = AppendHeaders(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    Ok((cookie, Json(SessionBody::SignedIn(describe(context, signed).await?))).into_response())
}

/// Sign out.
#[utoipa::path(delete, path = "/api/session", tag = "session", responses((status = 204)))]
pub(crate) async fn sign_out(SessionOwner(caller): SessionOwner) -> Result<Response, ConsoleError> {
    let context = &caller.context;
    sessions::sign_out(caller.request.session_command(context), &caller.signed).await?;
    let cookie = session_cookie::clear(context.is_https());
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}

/// Set the current organization and workspace, or none.
#[utoipa::path(put, path = "/api/session/context", tag = "session", request_body = Context,
    responses((status = 200, body = SessionBody)))]
pub(crate) async fn set_context(
    SessionOwner(caller): SessionOwner,
    Payload(chosen): Payload<Context>,
) -> Result<Json<SessionBody>, ConsoleError> {
    let context = &caller.context;
    let organization = chosen.organization_id.as_deref().map(OrganizationId::parse).transpose()?;
    let workspace = chosen.workspace_id.as_deref().map(WorkspaceId::parse).transpose()?;
    let command = caller.request.session_command(context);
    let signed = sessions::set_context(command, caller.signed, organization, workspace).await?;
    Ok(Json(SessionBody::SignedIn(describe(context, &signed).await?)))
}

/// Change the user's password; all other sessions end.
#[utoipa::path(put, path = "/api/session/password", tag = "session", request_body = NewPassword,
    responses((status = 204)))]
pub(crate) async fn change_password(
    SessionOwner(caller): SessionOwner,
    Payload(body): Payload<NewPassword>,
) -> Result<StatusCode, ConsoleError> {
    let command = caller.request.session_command(&caller.context);
    sessions::change_password(command, &caller.signed, &body.current_password, &body.new_password).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Describes a session. An organization or workspace that the user has left is shown as none.
async fn describe(context: &SurfaceContext, signed: &ActiveSession) -> Result<SignedIn, ConsoleError> {
    let (store, user) = (&context.store, &signed.user);
    let current = access::organization(signed).ok().map(|(organization, _)| organization);
    let mut joined: Vec<OrganizationId> = user.memberships.iter().map(|one| one.organization_id.clone()).collect();
    // The operator may act in any organization.
    joined.extend(current.filter(|current| user.role_in(current).is_none()).cloned());
    let (mut organizations, mut workspaces) = (Vec::new(), Vec::new());
    for id in joined {
        let Some(role) = user.effective_role_in(&id) else { continue };
        let organization = control::organizations::show(store, &id).await?;
        organizations.push(JoinedOrganization { id: id.to_string(), name: organization.name, role: role.into() });
        let found = access::workspaces(store, user, &id, Page::default()).await?;
        workspaces.extend(found.into_iter().map(|workspace| JoinedWorkspace {
            id: workspace.id.to_string(),
            organization_id: workspace.organization.to_string(),
            name: workspace.name,
        }));
    }
    let chosen =
        signed.session.workspace.as_ref().filter(|chosen| workspaces.iter().any(|one| one.id == chosen.as_str()));
    Ok(SignedIn {
        user: SignedInUser { id: user.id.to_string(), email: user.email.to_string(), operator: user.operator },
        current_workspace_id: chosen.filter(|_| current.is_some()).map(|id| id.to_string()),
        current_organization_id: current.map(|id| id.to_string()),
        csrf_token: signed.token.csrf(),
        organizations,
        workspaces,
    })
}
