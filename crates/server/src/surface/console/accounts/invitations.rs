//! Invitations: created by administrators, sent by hand, accepted by the holder of the link.

use crate::surface::console::Console;
use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{Admin, Caller, Id, List, PageRequest, Payload, Visitor};
use crate::surface::console::sessions::current;
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use control::invitations::{self, AcceptedBy, InvitationRequest};
use domain::user::Role;
use domain::{InvitationId, OrganizationId, Timestamp, WorkspaceId};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use view::{InvitationView, RoleView};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct NewInvitation {
    email: String,
    #[schema(value_type = RoleView)]
    role: Role,
    /// Workspaces to put the new member into: at least one, unless the role is `admin`.
    #[serde(default)]
    #[schema(required = false, max_items = 100)]
    workspace_ids: Vec<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Link {
    /// The part of the link after `#`.
    token: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Acceptance {
    /// The part of the link after `#`.
    token: String,
    /// The password of the new account, or of the account that the address has. Not needed if that account is signed in.
    #[schema(format = Password)]
    password: Option<String>,
    /// Whether to create an account although the address has one that is not proven: it may be another person's.
    #[serde(default)]
    #[schema(required = false)]
    new_account: bool,
}

/// The organization and role that a link grants.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InvitationPreview {
    email: String,
    role: RoleView,
    organization_name: String,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
    /// Whether the address has an account, whose password is then required.
    account_exists: bool,
    /// Whether that account is proven to belong to the owner of the address. If not, `newAccount` creates another one.
    account_proven: bool,
}

/// The open invitations.
#[utoipa::path(get, path = "/api/organizations/{organizationId}/invitations", tag = "people", params(PageRequest),
    responses((status = 200, body = List<InvitationView>)))]
pub(crate) async fn list(Admin(member): Admin, page: PageRequest) -> Result<Json<List<InvitationView>>, ConsoleError> {
    let found = invitations::list(member.store(), &member.organization, page.to_page()).await?;
    Ok(Json(List::new(found, &page, |one| one.id.to_string(), InvitationView::from)))
}

/// Invite a user; the link is in this response only.
#[utoipa::path(post, path = "/api/organizations/{organizationId}/invitations", tag = "people",
    request_body = NewInvitation, responses((status = 201, body = InvitationView)))]
pub(crate) async fn create(
    Admin(member): Admin,
    Payload(body): Payload<NewInvitation>,
) -> Result<(StatusCode, Json<InvitationView>), ConsoleError> {
    Ok((StatusCode::CREATED, Json(invite(&member, &member.organization, &body).await?)))
}

/// Invites a user to an organization, for its administrators and for the operator.
pub(in crate::surface::console) async fn invite(
    caller: &Caller,
    organization: &OrganizationId,
    body: &NewInvitation,
) -> Result<InvitationView, ConsoleError> {
    let workspaces = body.workspace_ids.iter().map(|id| WorkspaceId::parse(id)).collect::<Result<Vec<_>, _>>()?;
    let new = InvitationRequest { email: &body.email, role: body.role, workspaces };
    let created = invitations::create(caller.command(), organization, new).await?;
    // After `#`, so that no server and no log sees it.
    let url = format!("{}/invitation#{}", caller.context.console_url, created.token);
    Ok(InvitationView::once(created.invitation, Some(url)))
}

/// Withdraw an invitation.
#[utoipa::path(delete, path = "/api/organizations/{organizationId}/invitations/{invitationId}", tag = "people",
    responses((status = 204)))]
pub(crate) async fn delete(Admin(member): Admin, Id(id): Id<InvitationId>) -> Result<StatusCode, ConsoleError> {
    invitations::delete(member.command(), &member.organization, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The organization and role that an invitation grants.
#[utoipa::path(post, path = "/api/invitations/preview", tag = "people", security(()), request_body = Link,
    responses((status = 200, body = InvitationPreview)))]
pub(crate) async fn preview(
    State(console): State<Console>,
    visitor: Visitor,
    Payload(link): Payload<Link>,
) -> Result<Json<InvitationPreview>, ConsoleError> {
    let found = invitations::preview(&console.context.store, &link.token, visitor.request.now).await?;
    Ok(Json(InvitationPreview {
        email: found.invitation.email.to_string(),
        role: found.invitation.role.into(),
        organization_name: found.organization.name,
        expires_at: found.invitation.expires_at,
        account_exists: found.account_exists,
        account_proven: found.account_proven,
    }))
}

/// Accept an invitation and be signed in.
#[utoipa::path(post, path = "/api/invitations/accept", tag = "people", security(()), request_body = Acceptance,
    responses((status = 200, body = current::SessionBody, headers(("set-cookie" = String, description = "the session")))))]
pub(crate) async fn accept(
    State(console): State<Console>,
    visitor: Visitor,
    Payload(acceptance): Payload<Acceptance>,
) -> Result<Response, ConsoleError> {
    let context = &console.context;
    let password = acceptance.password.as_deref();
    let accepted_by = if acceptance.new_account {
        AcceptedBy::NewAccount { password }
    } else {
        AcceptedBy::Account { password, signed_in: visitor.signed.as_ref() }
    };
    let command = visitor.request.session_command(context);
    let signed = invitations::accept(command, &acceptance.token, accepted_by).await?;
    current::start_session(context, &visitor, signed).await
}
