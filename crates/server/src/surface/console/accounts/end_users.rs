//! `/api/workspaces/{id}/end-users`: the people behind the keys of a workspace.

use super::workspaces::null_or_value;
use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::query::filter_text;
use crate::surface::console::extract::{
    Id, List, PageRequest, Params, Payload, WorkspaceAdmin, WorkspaceCaller, bounds,
};
use axum::Json;
use control::end_users::{self, EndUserEdit};
use domain::EndUserId;
use http::StatusCode;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use view::{BudgetView, EndUserSpendingView, EndUserView, budgets};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct EndUserQuery {
    /// Only those whose name has this part, or with this id.
    #[param(required = false, nullable = false)]
    search: Option<String>,
}

/// A change; absent members stay, null follows the workspace.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct EditEndUser {
    #[serde(default, deserialize_with = "null_or_value")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 1_000_000_000_000_000_u64)]
    requests_per_minute: Option<Option<u64>>,
    #[serde(default, deserialize_with = "null_or_value")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 1_000_000_000_000_000_u64)]
    tokens_per_minute: Option<Option<u64>>,
    /// Replaces all budgets.
    #[serde(default, deserialize_with = "null_or_value")]
    #[schema(value_type = Option<Vec<BudgetView>>, max_items = 6)]
    budgets: Option<Option<Vec<BudgetView>>>,
}

/// The people whom calls with trusted keys have named.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/end-users", tag = "workspaces",
    params(EndUserQuery, PageRequest), responses((status = 200, body = List<EndUserView>)))]
pub(crate) async fn list(
    caller: WorkspaceCaller,
    page: PageRequest,
    Params(query): Params<EndUserQuery>,
) -> Result<Json<List<EndUserView>>, ConsoleError> {
    let search = filter_text("search", &query.search)?;
    let found = end_users::list(caller.store(), &caller.workspace.id, search.as_deref(), page.to_page()).await?;
    Ok(Json(List::new(found, &page, |one| one.id.to_string(), EndUserView::from)))
}

/// One of them, with what was spent of the budgets that apply.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/end-users/{endUserId}", tag = "workspaces",
    responses((status = 200, body = EndUserSpendingView)))]
pub(crate) async fn show(
    caller: WorkspaceCaller,
    Id(id): Id<EndUserId>,
) -> Result<Json<EndUserSpendingView>, ConsoleError> {
    Ok(Json(view(&caller, &id).await?))
}

async fn view(caller: &WorkspaceCaller, id: &EndUserId) -> Result<EndUserSpendingView, ConsoleError> {
    let (found, spending) = end_users::show(caller.store(), &caller.workspace, id, caller.now()).await?;
    Ok(EndUserSpendingView::new(found, &spending))
}

/// Give one of them limits and budgets that differ from those of the workspace.
#[utoipa::path(patch, path = "/api/workspaces/{workspaceId}/end-users/{endUserId}", tag = "workspaces",
    request_body = EditEndUser, responses((status = 200, body = EndUserSpendingView)))]
pub(crate) async fn edit(
    WorkspaceAdmin(caller): WorkspaceAdmin,
    Id(id): Id<EndUserId>,
    Payload(body): Payload<EditEndUser>,
) -> Result<Json<EndUserSpendingView>, ConsoleError> {
    let limit = |field, value: Option<Option<u64>>| {
        value.map(|value| value.map(|value| bounds::count(field, value)).transpose()).transpose()
    };
    let budgets = body.budgets.map(|views| views.map(|views| budgets(views, caller.now())).transpose()).transpose()?;
    let edit = EndUserEdit {
        requests_per_minute: limit("requestsPerMinute", body.requests_per_minute)?,
        tokens_per_minute: limit("tokensPerMinute", body.tokens_per_minute)?,
        budgets,
    };
    end_users::edit(caller.command(), &caller.workspace.id, &id, edit).await?;
    Ok(Json(view(&caller, &id).await?))
}

/// Forget one of them: the name, the limits, and whose calls they were. The usage and the bills of the workspace stay.
#[utoipa::path(delete, path = "/api/workspaces/{workspaceId}/end-users/{endUserId}", tag = "workspaces",
    responses((status = 204)))]
pub(crate) async fn delete(
    WorkspaceAdmin(caller): WorkspaceAdmin,
    Id(id): Id<EndUserId>,
) -> Result<StatusCode, ConsoleError> {
    end_users::delete(caller.command(), &caller.workspace.id, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
