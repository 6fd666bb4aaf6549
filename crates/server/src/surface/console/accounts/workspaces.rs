//! `/api/workspaces`: names, limits and settings.

use crate::surface::console::error::{self, ConsoleError};
use crate::surface::console::extract::query::flag;
use crate::surface::console::extract::{
    Admin, Caller, List, Member, PageRequest, Params, Payload, WorkspaceAdmin, WorkspaceCaller, bounds,
};
use crate::surface_context::SurfaceContext;
use axum::Json;
use control::workspaces::{self, Authority, Edit, KeysOfWorkspace};
use control::{CommandError, access};
use domain::NanoUsd;
use domain::WorkspaceId;
use domain::end_user::EndUserSettings;
use domain::monthly_budget::BudgetChange;
use domain::workspace::{LimitSet, Limits};
use domain::workspace_edit::{LimitChange, LimitChanges, RetentionChange};
use http::StatusCode;
use serde::{Deserialize, Deserializer};
use store::Conflict;
use utoipa::{IntoParams, ToSchema};
use view::{EndUserSettingsView, OnBudgetView, WorkspaceView, budgets};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewWorkspace {
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
}

/// A change; absent members stay. A limit of null falls back: to the operator's value for administrators, to the
/// configured default for the operator.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct WorkspaceEdit {
    /// The version that was read.
    version: u64,
    #[schema(min_length = 1, max_length = 100, nullable = false)]
    name: Option<String>,
    #[serde(default, deserialize_with = "null_or_value")]
    #[schema(value_type = Option<u64>, maximum = 1_000_000_000_000_000_u64)]
    requests_per_minute: Option<Option<u64>>,
    #[serde(default, deserialize_with = "null_or_value")]
    #[schema(value_type = Option<u64>, maximum = 1_000_000_000_000_000_u64)]
    tokens_per_minute: Option<Option<u64>>,
    #[serde(default, deserialize_with = "null_or_value")]
    #[schema(value_type = Option<u64>, maximum = 1_000_000_000_000_000_u64)]
    monthly_tokens: Option<Option<u64>>,
    #[serde(default, deserialize_with = "null_or_value")]
    #[schema(value_type = Option<u64>, maximum = 1_000_000_000_000_000_u64)]
    max_api_keys: Option<Option<u64>>,
    /// The most that serverless calls and GPU-hours may cost in a month, in USD; null removes the amount of the administrators, or
    /// that of the operator.
    #[serde(default, deserialize_with = "null_or_value")]
    #[schema(value_type = Option<String>, example = "500.00")]
    monthly_usd: Option<Option<NanoUsd>>,
    /// Whether running endpoints are suspended when the budget is spent.
    #[schema(nullable = false)]
    on_budget: Option<OnBudgetView>,
    /// Replaces what applies to the people behind the keys.
    #[schema(nullable = false)]
    end_users: Option<EndUserSettingsView>,
    /// The days for which responses are stored; null stops storing them.
    #[serde(default, deserialize_with = "null_or_value")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 30)]
    response_retention_days: Option<Option<u64>>,
    /// How many times the tokens of a workspace of weight 1 it gets while calls of both wait. Only the operator may change it.
    #[schema(minimum = 1, maximum = 1000, nullable = false)]
    weight: Option<u64>,
}

/// Distinguishes null from absent.
pub(in crate::surface::console) fn null_or_value<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

impl WorkspaceEdit {
    fn limits(&self) -> Result<LimitChanges, ConsoleError> {
        let limits = LimitSet {
            requests_per_minute: self.requests_per_minute,
            tokens_per_minute: self.tokens_per_minute,
            monthly_tokens: self.monthly_tokens,
            max_api_keys: self.max_api_keys,
        };
        limits.try_map(limit_change)
    }
}

fn end_user_settings(view: &EndUserSettingsView, caller: &Caller) -> Result<EndUserSettings, ConsoleError> {
    let limit = |field, value: Option<u64>| value.map(|value| bounds::count(field, value)).transpose();
    Ok(EndUserSettings {
        keep_text: view.keep_text,
        requests_per_minute: limit("requestsPerMinute", view.requests_per_minute)?,
        tokens_per_minute: limit("tokensPerMinute", view.tokens_per_minute)?,
        budgets: budgets(view.budgets.clone(), caller.now())?,
    })
}

fn response_retention(edit: &WorkspaceEdit, context: &SurfaceContext) -> Result<RetentionChange, CommandError> {
    match edit.response_retention_days {
        None => Ok(RetentionChange::Keep),
        Some(days) => workspaces::retention_change(days, context.content_keys.as_ref()),
    }
}

pub(in crate::surface::console) fn limit_change(
    field: &str,
    value: Option<Option<u64>>,
) -> Result<LimitChange, ConsoleError> {
    Ok(match value {
        None => LimitChange::Keep,
        Some(None) => LimitChange::Follow,
        Some(Some(value)) => LimitChange::Set(bounds::count(field, value)?),
    })
}

/// A conflict carries the current record.
fn conflict(error: CommandError, defaults: &Limits) -> ConsoleError {
    match error {
        CommandError::Conflict(Conflict::VersionConflict { current }) => {
            let view = WorkspaceView::new(*current, defaults);
            ConsoleError::VersionConflict { current: serde_json::to_value(view).expect("views have only text keys") }
        }
        other => other.into(),
    }
}

/// The workspaces of the current organization that the user belongs to.
#[utoipa::path(get, path = "/api/workspaces", tag = "workspaces", params(PageRequest),
    responses((status = 200, body = List<WorkspaceView>)))]
pub(crate) async fn list(member: Member, page: PageRequest) -> Result<Json<List<WorkspaceView>>, ConsoleError> {
    let found = access::workspaces(member.store(), &member.signed.user, &member.organization, page.to_page()).await?;
    let view = |workspace| WorkspaceView::new(workspace, &member.context.defaults);
    Ok(Json(List::new(found, &page, |one| one.id.to_string(), view)))
}

/// Create a workspace in the current organization; its creator is a member.
#[utoipa::path(post, path = "/api/workspaces", tag = "workspaces", request_body = NewWorkspace,
    responses((status = 201, body = WorkspaceView),
        (status = 409, description = "`workspace_limit_reached`, with `limit`", body = error::ErrorBody)))]
pub(crate) async fn create(
    Admin(member): Admin,
    Payload(body): Payload<NewWorkspace>,
) -> Result<(StatusCode, Json<WorkspaceView>), ConsoleError> {
    let (command, organization, defaults) = (member.command(), &member.organization, &member.context.defaults);
    let default_max = member.context.organization_defaults.max_workspaces;
    let new = workspaces::create_within(command, organization, &body.name, defaults, default_max).await?;
    Ok((StatusCode::CREATED, Json(WorkspaceView::new(new, defaults))))
}

/// One workspace with the limits in force.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}", tag = "workspaces",
    responses((status = 200, body = WorkspaceView)))]
pub(crate) async fn show(caller: WorkspaceCaller) -> Json<WorkspaceView> {
    Json(WorkspaceView::new(caller.workspace, &caller.member.caller.context.defaults))
}

/// Change a workspace's name, limits or settings. Administrators may lower limits; only the operator raises them above
/// its value.
#[utoipa::path(patch, path = "/api/workspaces/{workspaceId}", tag = "workspaces", request_body = WorkspaceEdit,
    responses((status = 200, body = WorkspaceView),
        (status = 409, description = "`version_conflict`, with `current`; `content_key_missing`", body = error::ErrorBody)))]
pub(crate) async fn edit(
    WorkspaceAdmin(caller): WorkspaceAdmin,
    Payload(body): Payload<WorkspaceEdit>,
) -> Result<Json<WorkspaceView>, ConsoleError> {
    Ok(Json(change(&caller, &caller.workspace.id, &body, authority(&caller)).await?))
}

/// An administrator who is the operator, too, acts as the operator.
fn authority(member: &Member) -> Authority {
    if member.is_operator() { Authority::Operator } else { Authority::Admin }
}

/// Applies a change with this authority.
pub(in crate::surface::console) async fn change(
    caller: &Caller,
    id: &WorkspaceId,
    body: &WorkspaceEdit,
    authority: Authority,
) -> Result<WorkspaceView, ConsoleError> {
    let context = &caller.context;
    let end_users = body.end_users.as_ref().map(|settings| end_user_settings(settings, caller)).transpose()?;
    let edit = Edit {
        name: body.name.as_deref(),
        limits: body.limits()?,
        monthly_usd: BudgetChange::of(body.monthly_usd),
        on_budget: body.on_budget.map(Into::into),
        end_users: end_users.as_ref(),
        response_retention: response_retention(body, context)?,
        weight: body.weight.map(workspaces::weight).transpose()?,
        version: Some(body.version),
    };
    let changed = workspaces::set(caller.command(), id, edit, authority, &context.defaults).await;
    let changed = changed.map_err(|error| conflict(error, &context.defaults))?;
    Ok(WorkspaceView::new(changed, &context.defaults))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(crate) struct Deletion {
    /// Whether its keys are revoked; by default active ones keep it from being deleted.
    #[param(required = false, nullable = false, value_type = Option<bool>)]
    revoke_keys: Option<String>,
}

/// Delete a workspace that has no endpoints. Its usage and bills stay.
#[utoipa::path(delete, path = "/api/workspaces/{workspaceId}", tag = "workspaces", params(Deletion),
    responses((status = 204),
        (status = 409, description = "`workspace_in_use`, `last_workspace`", body = error::ErrorBody)))]
pub(crate) async fn delete(
    WorkspaceAdmin(caller): WorkspaceAdmin,
    Params(query): Params<Deletion>,
) -> Result<StatusCode, ConsoleError> {
    let (command, id) = (caller.command(), &caller.workspace.id);
    let is_revoking = flag("revokeKeys", &query.revoke_keys)?;
    let keys = if is_revoking { KeysOfWorkspace::Revoke } else { KeysOfWorkspace::Keep };
    match authority(&caller) {
        Authority::Operator => workspaces::delete(command, id, keys).await?,
        Authority::Admin => workspaces::delete_other(command, &caller.organization, id, keys).await?,
    }
    Ok(StatusCode::NO_CONTENT)
}
