//! `/api/workspaces/{id}/keys` and `/api/organizations/{id}/keys`.

use crate::surface::console::accounts::workspaces::null_or_value;
use crate::surface::console::error::{self, ConsoleError};
use crate::surface::console::extract::{Admin, Id, List, Payload, WorkspaceAdmin, WorkspaceCaller, bounds};
use axum::Json;
use control::CommandError;
use control::keys::{self, DisabledKeys, KeyChange, KeyEdit, KeyRequest};
use domain::endpoint::labels::Labels;
use domain::key_restrictions::{self, RestrictionError};
use domain::{ApiKey, KeyId, KeyRestrictions, Timestamp};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use view::{BudgetView, KeyLimitsView, KeySpendingView, KeyView, budgets};

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
    #[serde(default)]
    limits: KeyLimitsView,
    /// Whether its calls name the people behind it.
    #[serde(default)]
    trusts_end_user: bool,
    /// What the key may be used for: `inference`, `endpoints:read` (dedicated endpoints) or `endpoints:write`, which includes
    /// reading; everything if absent.
    #[schema(min_items = 1, max_items = 3)]
    permissions: Option<Vec<String>>,
    /// The models that the key may call: ids, aliases, or beginnings of them followed by `*`; all if absent.
    #[schema(min_items = 1, max_items = 100)]
    allowed_models: Option<Vec<String>>,
    /// The addresses that the key may be used from, single ones or ranges such as `10.0.0.0/8`; all if absent.
    #[schema(min_items = 1, max_items = 64)]
    allowed_ips: Option<Vec<String>>,
    /// At most 16, to group usage by.
    labels: Option<Labels>,
    /// At most one per window, and one that is soft.
    #[serde(default)]
    #[schema(max_items = 6)]
    budgets: Vec<BudgetView>,
}

impl NewKey {
    fn restrictions(&self) -> Result<KeyRestrictions, RestrictionError> {
        Ok(KeyRestrictions {
            permissions: self.permissions.as_deref().map(key_restrictions::permissions).transpose()?,
            allowed_models: self.allowed_models.as_deref().map(key_restrictions::allowed_models).transpose()?,
            allowed_ips: self.allowed_ips.as_deref().map(key_restrictions::allowed_ips).transpose()?,
        })
    }
}

/// A change; absent members stay, null removes an expiry, a limit or a restriction.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct EditKey {
    #[schema(min_length = 1, max_length = 100, nullable = false)]
    name: Option<String>,
    #[serde(default, deserialize_with = "null_or_value")]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Option<Timestamp>>,
    #[serde(default, deserialize_with = "null_or_value")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 1_000_000_000_000_000_u64)]
    requests_per_minute: Option<Option<u64>>,
    #[serde(default, deserialize_with = "null_or_value")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 1_000_000_000_000_000_u64)]
    tokens_per_minute: Option<Option<u64>>,
    /// Replaces all limits by model.
    #[schema(nullable = false)]
    limits: Option<KeyLimitsView>,
    #[schema(nullable = false)]
    trusts_end_user: Option<bool>,
    #[serde(default, deserialize_with = "null_or_value")]
    #[schema(value_type = Option<Vec<String>>, min_items = 1, max_items = 3)]
    permissions: Option<Option<Vec<String>>>,
    #[serde(default, deserialize_with = "null_or_value")]
    #[schema(value_type = Option<Vec<String>>, min_items = 1, max_items = 100)]
    allowed_models: Option<Option<Vec<String>>>,
    #[serde(default, deserialize_with = "null_or_value")]
    #[schema(value_type = Option<Vec<String>>, min_items = 1, max_items = 64)]
    allowed_ips: Option<Option<Vec<String>>>,
    /// Replaces all labels.
    #[schema(nullable = false)]
    labels: Option<Labels>,
    /// Replaces all budgets.
    #[schema(nullable = false, max_items = 6)]
    budgets: Option<Vec<BudgetView>>,
}

/// Reads a member that may be absent or null.
fn edited<T>(
    member: Option<&Option<Vec<String>>>,
    read: impl FnOnce(&[String]) -> Result<T, RestrictionError>,
) -> Result<Option<Option<T>>, RestrictionError> {
    member.map(|value| value.as_deref().map(read).transpose()).transpose()
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Rotation {
    /// How long the old secret keeps working; not at all if absent.
    #[serde(default)]
    #[schema(maximum = 604_800)]
    overlap_seconds: u64,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Revocation {
    #[schema(min_items = 1, max_items = 500)]
    key_ids: Vec<String>,
    /// Whether keys that an administrator disabled are revoked, too.
    #[serde(default)]
    include_disabled: bool,
}

#[derive(Serialize, ToSchema)]
pub(super) struct RevokedKey {
    id: String,
    /// `revoked`, or `key_disabled`: it stays disabled.
    outcome: &'static str,
}

impl From<ApiKey> for RevokedKey {
    fn from(key: ApiKey) -> Self {
        let outcome = if key.revoked_at.is_some() { "revoked" } else { "key_disabled" };
        Self { id: key.id.to_string(), outcome }
    }
}

/// Revoke many keys of the organization together, and report what became of each. An unknown one fails for all. Idempotent.
#[utoipa::path(post, path = "/api/organizations/{organizationId}/keys/revoke", tag = "keys",
    request_body = Revocation, responses((status = 200, body = List<RevokedKey>)))]
pub(super) async fn revoke_many(
    Admin(member): Admin,
    Payload(body): Payload<Revocation>,
) -> Result<Json<List<RevokedKey>>, ConsoleError> {
    if !(1..=MAX_REVOKED).contains(&body.key_ids.len()) {
        return Err(ConsoleError::invalid("keyIds", "1 to 500 keys can be revoked together"));
    }
    let ids = body.key_ids.iter().map(|id| KeyId::parse(id)).collect::<Result<_, _>>()?;
    let disabled = if body.include_disabled { DisabledKeys::Revoke } else { DisabledKeys::Keep };
    let keys = keys::revoke_many(member.command(), &member.organization, ids, disabled).await?;
    Ok(Json(List::whole(keys.into_iter().map(RevokedKey::from).collect())))
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
        restrictions: new.restrictions()?,
        limits: new.limits.read()?,
        trusts_end_user: new.trusts_end_user,
        labels: key_restrictions::key_labels(new.labels.unwrap_or_default())?,
        budgets: budgets(new.budgets, caller.now())?,
    };
    let created = keys::create(caller.command(), &caller.workspace.id, request, &caller.context.defaults).await?;
    Ok((StatusCode::CREATED, Json(KeyView::once(created, caller.now()))))
}

/// A key with what was spent of its budgets. Members see all keys of the workspace.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/keys/{keyId}", tag = "keys",
    responses((status = 200, body = KeySpendingView)))]
pub(super) async fn show(caller: WorkspaceCaller, Id(id): Id<KeyId>) -> Result<Json<KeySpendingView>, ConsoleError> {
    let key = own_key(&caller, &id).await?;
    let spending = keys::spending(caller.store(), &key, caller.now()).await?;
    Ok(Json(KeySpendingView::new(key, &spending, caller.now())))
}

/// Change the name, the expiry, the limits, the restrictions, the labels or the budgets of a key. Members may change their own.
#[utoipa::path(patch, path = "/api/workspaces/{workspaceId}/keys/{keyId}", tag = "keys", request_body = EditKey,
    responses((status = 200, body = KeyView),
        (status = 409, description = "`key_revoked` or `key_expired`", body = error::ErrorBody)))]
pub(super) async fn edit(
    caller: WorkspaceCaller,
    Id(id): Id<KeyId>,
    Payload(body): Payload<EditKey>,
) -> Result<Json<KeyView>, ConsoleError> {
    check_owner(&caller, &id).await?;
    let limit = |field, value: Option<Option<u64>>| {
        value.map(|value| value.map(|value| bounds::count(field, value)).transpose()).transpose()
    };
    let change = KeyEdit {
        name: body.name.as_deref(),
        expires_at: body.expires_at,
        requests_per_minute: limit("requestsPerMinute", body.requests_per_minute)?,
        tokens_per_minute: limit("tokensPerMinute", body.tokens_per_minute)?,
        limits: body.limits.map(KeyLimitsView::read).transpose()?,
        trusts_end_user: body.trusts_end_user,
        permissions: edited(body.permissions.as_ref(), key_restrictions::permissions)?,
        allowed_models: edited(body.allowed_models.as_ref(), key_restrictions::allowed_models)?,
        allowed_ips: edited(body.allowed_ips.as_ref(), key_restrictions::allowed_ips)?,
        labels: body.labels.map(key_restrictions::key_labels).transpose()?,
        budgets: body.budgets.map(|views| budgets(views, caller.now())).transpose()?,
    };
    let edited = keys::edit(caller.command(), &caller.workspace.id, &id, change).await?;
    Ok(Json(KeyView::new(edited, caller.now())))
}

/// End the text before the last rotation now. Idempotent. Members may end those of their own keys.
#[utoipa::path(post, path = "/api/workspaces/{workspaceId}/keys/{keyId}/end-overlap", tag = "keys",
    responses((status = 200, body = KeyView)))]
pub(super) async fn end_overlap(
    caller: WorkspaceCaller,
    Id(id): Id<KeyId>,
    Payload(EmptyBody {}): Payload<EmptyBody>,
) -> Result<Json<KeyView>, ConsoleError> {
    check_owner(&caller, &id).await?;
    let key = keys::end_overlap(caller.command(), &caller.workspace.id, &id).await?;
    Ok(Json(KeyView::new(key, caller.now())))
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
    let key = own_key(caller, id).await?;
    caller.owns_or_administers(key.created_by.as_ref())
}

/// A key of the workspace.
async fn own_key(caller: &WorkspaceCaller, id: &KeyId) -> Result<ApiKey, ConsoleError> {
    let key = keys::show(caller.store(), id).await?;
    if key.workspace != caller.workspace.id {
        return Err(CommandError::Missing { noun: "key", id: key.id.to_string() }.into());
    }
    Ok(key)
}
