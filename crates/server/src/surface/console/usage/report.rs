//! `/api/workspaces/{id}/usage` and `/quota`: used, cost and remaining.

use super::metrics::actor;
use crate::surface::console::Console;
use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::query::{ReportFormat, csv, non_empty, timestamp};
use crate::surface::console::extract::{Params, WorkspaceCaller};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use control::usage::{self, ReportQuery};
use domain::limits::{LimitStatus, PerMinute};
use domain::quota::AccountOwner;
use domain::usage::Actor;
use domain::{Caller, Grouping, Month, Timestamp};
use serde::{Deserialize, Serialize};
use store::quota;
use utoipa::{IntoParams, ToSchema};
use view::{UsageReportView, csv as table};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UsageQuery {
    /// From this time on; default: the start of the month.
    #[param(required = false, nullable = false, format = DateTime)]
    from: Option<String>,
    /// Before this time; default: now.
    #[param(required = false, nullable = false, format = DateTime)]
    to: Option<String>,
    /// None or more of `model`, `key`, `day`, `surface` or `endUser` and one `label:<name>` of keys, separated by commas. By
    /// `endUser`, days are whole.
    #[param(required = false, nullable = false, example = "model,day")]
    group_by: Option<String>,
    /// Only calls with this key, or of this user.
    #[param(required = false, nullable = false)]
    key: Option<String>,
    /// `csv`: comma-separated values with a header, without the total.
    #[param(required = false, nullable = false, inline, value_type = Option<ReportFormat>)]
    format: Option<String>,
}

/// The usage and cost of a workspace in a span of time.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/usage", tag = "usage", params(UsageQuery),
    responses((status = 200, content((UsageReportView = "application/json"), (String = "text/csv")))))]
pub(crate) async fn show(caller: WorkspaceCaller, Params(query): Params<UsageQuery>) -> Result<Response, ConsoleError> {
    let report_query = ReportQuery {
        from: timestamp("from", &query.from)?,
        to: timestamp("to", &query.to)?,
        grouping: grouping(&query.group_by)?.unwrap_or_default(),
        actor: actor(&query.key)?,
    };
    let report = usage::report(caller.store(), &caller.workspace.id, report_query, caller.now()).await?;
    let view = UsageReportView::from(report);
    Ok(match ReportFormat::parse(&query.format)? {
        ReportFormat::Json => Json(view).into_response(),
        ReportFormat::Csv => csv("usage.csv", table::text(view.table())),
    })
}

/// The dimensions to group by.
pub(super) fn grouping(text: &Option<String>) -> Result<Option<Grouping>, ConsoleError> {
    let grouping = non_empty(text).map(Grouping::parse).transpose();
    grouping.map_err(|error| ConsoleError::invalid("groupBy", &error.to_string()))
}

/// The remaining quota of the month and limits per minute of a workspace. The quota is that of the organization if the
/// operator bounds it and fewer tokens of it are left.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Quota {
    scope: QuotaScope,
    /// Tokens in a calendar month in UTC.
    cap: u64,
    used: u64,
    /// Reserved for running calls, and leased by nodes.
    reserved: u64,
    #[schema(value_type = String, format = DateTime)]
    resets_at: Timestamp,
    per_minute: MinuteQuota,
}

/// Whose tokens these are.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum QuotaScope {
    Workspace,
    /// The organization, with all its workspaces.
    Organization,
}

impl From<AccountOwner> for QuotaScope {
    fn from(owner: AccountOwner) -> Self {
        match owner {
            AccountOwner::Workspace => Self::Workspace,
            AccountOwner::Organization => Self::Organization,
        }
    }
}

#[derive(Serialize, ToSchema)]
struct MinuteQuota {
    requests: LimitView,
    tokens: LimitView,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Left)]
struct LimitView {
    limit: u64,
    remaining: u64,
}

impl From<LimitStatus> for LimitView {
    fn from(status: LimitStatus) -> Self {
        Self { limit: status.limit, remaining: status.remaining }
    }
}

/// The remaining monthly quota and limits per minute.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/quota", tag = "usage",
    responses((status = 200, body = Quota)))]
pub(crate) async fn quota(
    State(console): State<Console>,
    caller: WorkspaceCaller,
) -> Result<Json<Quota>, ConsoleError> {
    let (context, workspace) = (&caller.context, &caller.workspace);
    let month = Month::of(caller.now());
    let account = quota::tightest_account(&context.store, workspace, month, context.defaults.monthly_tokens).await;
    let account = account.map_err(control::CommandError::from)?;
    let limits = workspace.limits(&context.defaults);
    let per_minute = PerMinute { requests: limits.requests_per_minute, tokens: limits.tokens_per_minute };
    let user = Actor::User(caller.signed.user.id.clone());
    let limited = Caller {
        organization_limits: workspace.organization_per_minute,
        ..Caller::new(workspace.organization.clone(), workspace.id.clone(), user)
    };
    let remaining = console.rate_limiter.look(&limited, per_minute).await;
    Ok(Json(Quota {
        scope: account.owner.into(),
        cap: account.cap,
        used: account.used,
        reserved: account.reserved,
        resets_at: month.end(),
        per_minute: MinuteQuota { requests: remaining.requests.into(), tokens: remaining.tokens.into() },
    }))
}
