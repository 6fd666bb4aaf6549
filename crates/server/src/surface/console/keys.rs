//! `/api/workspaces/{id}/keys` and `/api/organizations/{id}/keys`.

use crate::surface::console::error::{self, ConsoleError};
use crate::surface::console::extract::query::{flag, non_empty};
use crate::surface::console::extract::{
    Admin, Id, List, PageRequest, Params, Payload, WorkspaceAdmin, WorkspaceCaller, bounds,
};
use crate::view::{KeyView, OrganizationKeyView};
use axum::Json;
use control::CommandError;
use control::keys::{self, KeyChange, KeyRequest};
use domain::{KeyId, Timestamp, UserId};
use http::StatusCode;
use serde::Deserialize;
use store::api_keys::CreatedBy;
use utoipa::{IntoParams, ToSchema};

/// The most keys that one request revokes: they are changed in one transaction.
const MAX_REVOKED: usize = 500;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct NewKey {
    #[schema(min_length = 1, max_length = 100)]
    name: String,
    /// When the key stops working; never if absent.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    #[schema(minimum = 1, maximum = 1_000_000_000_000_000_u64)]
    requests_per_minute: Option<u64>,
    #[schema(minimum = 1, maximum = 1_000_000_000_000_000_u64)]
    tokens_per_minute: Option<u64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Rotation {
    /// How long the old secret keeps working; not at all if absent.
    #[serde(default)]
    #[schema(maximum = 604_800)]
    overlap_seconds: u64,
}

/// Selects keys by their creator.
#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct CreatorQuery {
    /// Only keys that this user created.
    #[param(required = false, nullable = false)]
    created_by: Option<String>,
    /// Only keys of users who have no access to the organization any more.
    #[param(required = false, nullable = false, value_type = Option<bool>)]
    removed_members: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Revocation {
    #[schema(min_items = 1, max_items = 500)]
    key_ids: Vec<String>,
}

/// The keys of all workspaces of an organization, oldest first.
#[utoipa::path(get, path = "/api/organizations/{organizationId}/keys", tag = "keys",
    params(PageRequest, CreatorQuery), responses((status = 200, body = List<OrganizationKeyView>)))]
pub(super) async fn list_of_organization(
    Admin(member): Admin,
    page: PageRequest,
    Params(query): Params<CreatorQuery>,
) -> Result<Json<List<OrganizationKeyView>>, ConsoleError> {
    let only_removed = flag("removedMembers", &query.removed_members)?;
    let user = non_empty(&query.created_by).map(UserId::parse).transpose();
    let user = user.map_err(|_| ConsoleError::invalid("createdBy", "not the id of a user"))?;
    let created_by = match &user {
        Some(_) if only_removed => {
            return Err(ConsoleError::invalid("removedMembers", "cannot be combined with `createdBy`"));
        }
        Some(user) => CreatedBy::User(user),
        None if only_removed => CreatedBy::RemovedMembers,
        None => CreatedBy::Anyone,
    };
    let found = keys::list_of_organization(member.store(), &member.organization, created_by, page.to_page()).await?;
    Ok(Json(List::new(found, &page, |one| one.key.id.to_string(), |one| OrganizationKeyView::new(one, member.now()))))
}

/// Revoke many keys of the organization together, disabled ones too: all or none. Idempotent.
#[utoipa::path(post, path = "/api/organizations/{organizationId}/keys/revoke", tag = "keys",
    request_body = Revocation, responses((status = 204)))]
pub(super) async fn revoke_many(
    Admin(member): Admin,
    Payload(body): Payload<Revocation>,
) -> Result<StatusCode, ConsoleError> {
    if !(1..=MAX_REVOKED).contains(&body.key_ids.len()) {
        return Err(ConsoleError::invalid("keyIds", "1 to 500 keys can be revoked together"));
    }
    let ids = body.key_ids.iter().map(|id| KeyId::parse(id)).collect::<Result<_, _>>()?;
    keys::revoke_many(member.command(), &member.organization, ids).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The keys of a workspace in any state, oldest first.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/keys", tag = "keys", params(PageRequest),
    responses((status = 200, body = List<KeyView>)))]
pub(super) async fn list(caller: WorkspaceCaller, page: PageRequest) -> Result<Json<List<KeyView>>, ConsoleError> {
    let found = keys::list(caller.store(), &caller.workspace.id, page.to_page()).await?;
    Ok(Json(List::new(found, &page, |key| key.id.to_string(), |key| KeyView::new(key, caller.now()))))
}

/// Create a key; its text is in this response only.
#[utoipa::path(post, path = "/api/workspaces/{workspaceId}/keys", tag = "keys", request_body = NewKey,
    responses((status = 201, body = KeyView),
        (status = 409, description = "`key_limit_reached`, with `limit`", body = error::ErrorBody)))]
pub(super) async fn create(
    caller: WorkspaceCaller,
    Payload(new): Payload<NewKey>,
) -> Result<(StatusCode, Json<KeyView>), ConsoleError> {
    let limit = |field, value: Option<u64>| value.map(|value| bounds::count(field, value)).transpose();
    let request = KeyRequest {
        name: &new.name,
        expires_at: new.expires_at,
        requests_per_minute: limit("requestsPerMinute", new.requests_per_minute)?,
        tokens_per_minute: limit("tokensPerMinute", new.tokens_per_minute)?,
    };
    let created = keys::create(caller.command(), &caller.workspace.id, request, &caller.context.defaults).await?;
    Ok((StatusCode::CREATED, Json(KeyView::once(created, caller.now()))))
}

/// Revoke a key. Idempotent. Members may revoke their own.
#[utoipa::path(delete, path = "/api/workspaces/{workspaceId}/keys/{keyId}", tag = "keys",
    responses((status = 204), (status = 409, description = "`key_disabled`", body = error::ErrorBody)))]
pub(super) async fn revoke(caller: WorkspaceCaller, Id(id): Id<KeyId>) -> Result<StatusCode, ConsoleError> {
    check_owner(&caller, &id).await?;
    change(&caller, &id, KeyChange::Revoke).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Replace the segment and secret of a key. Members may rotate their own.
#[utoipa::path(post, path = "/api/workspaces/{workspaceId}/keys/{keyId}/rotate", tag = "keys",
    request_body = Option<Rotation>,
    responses((status = 200, body = KeyView),
        (status = 409, description = "`key_revoked`, `key_disabled` or `key_expired`", body = error::ErrorBody)))]
pub(super) async fn rotate(
    caller: WorkspaceCaller,
    Id(id): Id<KeyId>,
    Payload(rotation): Payload<Rotation>,
) -> Result<Json<KeyView>, ConsoleError> {
    check_owner(&caller, &id).await?;
    let rotated = keys::rotate(caller.command(), &caller.workspace.id, &id, rotation.overlap_seconds).await?;
    Ok(Json(KeyView::once(rotated, caller.now())))
}

/// Disable a key until it is enabled again.
#[utoipa::path(post, path = "/api/workspaces/{workspaceId}/keys/{keyId}/disable", tag = "keys",
    responses((status = 200, body = KeyView),
        (status = 409, description = "`key_revoked` or `key_expired`", body = error::ErrorBody)))]
pub(super) async fn disable(
    WorkspaceAdmin(caller): WorkspaceAdmin,
    Id(id): Id<KeyId>,
    Payload(EmptyBody {}): Payload<EmptyBody>,
) -> Result<Json<KeyView>, ConsoleError> {
    Ok(Json(change(&caller, &id, KeyChange::Disable).await?))
}

/// Enable a disabled key.
#[utoipa::path(post, path = "/api/workspaces/{workspaceId}/keys/{keyId}/enable", tag = "keys",
    responses((status = 200, body = KeyView),
        (status = 409, description = "`key_revoked` or `key_expired`", body = error::ErrorBody)))]
pub(super) async fn enable(
    WorkspaceAdmin(caller): WorkspaceAdmin,
    Id(id): Id<KeyId>,
    Payload(EmptyBody {}): Payload<EmptyBody>,
) -> Result<Json<KeyView>, ConsoleError> {
    Ok(Json(change(&caller, &id, KeyChange::Enable).await?))
}

/// The body of an action: empty.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EmptyBody {}

async fn change(caller: &WorkspaceCaller, id: &KeyId, change: KeyChange) -> Result<KeyView, ConsoleError> {
    let key = keys::change(caller.command(), &caller.workspace.id, id, change).await?;
    Ok(KeyView::new(key, caller.now()))
}

/// Only its creator and administrators may revoke or rotate a key of the workspace.
async fn check_owner(caller: &WorkspaceCaller, id: &KeyId) -> Result<(), ConsoleError> {
    let key = keys::show(caller.store(), id).await?;
    if key.workspace != caller.workspace.id {
        return Err(CommandError::Missing { noun: "key", id: key.id.to_string() }.into());
    }
    caller.owns_or_administers(key.created_by.as_ref())
}
