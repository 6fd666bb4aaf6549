//! `/api/workspaces/{id}/costs` and `/invoice`: the costs of a month.

use super::report::grouping;
use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::query::{ReportFormat, csv, month};
use crate::surface::console::extract::{Params, WorkspaceCaller};
use axum::Json;
use axum::response::{IntoResponse, Response};
use control::{costs, invoices};
use domain::{Month, Timestamp};
use serde::Deserialize;
use utoipa::IntoParams;
use view::{CostsView, InvoiceView, UsageReportView, csv as table};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct MonthQuery {
    /// A month in UTC that has begun; default: the current one.
    #[param(required = false, nullable = false, example = "2026-11")]
    month: Option<String>,
    /// `csv`: comma-separated values with a header.
    #[param(required = false, nullable = false, inline, value_type = Option<ReportFormat>)]
    format: Option<String>,
}

impl MonthQuery {
    fn read(&self, caller: &WorkspaceCaller) -> Result<(Timestamp, Month, ReportFormat), ConsoleError> {
        let now = caller.now();
        Ok((now, month(&self.month, now)?, ReportFormat::parse(&self.format)?))
    }
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CostGroups {
    /// Adds the serverless calls by group, of which CSV has a row each instead of those of the days: none or more of `model`,
    /// `key`, `day`, `surface` or `endUser` and one `label:<name>` of keys, separated by commas.
    #[param(required = false, nullable = false, example = "model")]
    group_by: Option<String>,
}

/// The costs of a workspace in a month: so far, by day, and a forecast; serverless calls also by group.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/costs", tag = "costs", params(MonthQuery, CostGroups),
    responses((status = 200, content((CostsView = "application/json"), (String = "text/csv")))))]
pub(crate) async fn show(
    caller: WorkspaceCaller,
    Params(query): Params<MonthQuery>,
    Params(groups): Params<CostGroups>,
) -> Result<Response, ConsoleError> {
    let (now, month, format) = query.read(&caller)?;
    let (store, workspace) = (caller.store(), &caller.workspace.id);
    let grouping = grouping(&groups.group_by)?;
    let found = costs::month(store, workspace, month, now).await?;
    let groups = match grouping {
        Some(grouping) => Some(UsageReportView::from(costs::by_group(store, workspace, month, grouping, now).await?)),
        None => None,
    };
    Ok(match (format, groups) {
        (ReportFormat::Json, groups) => {
            let budget = costs::budget(store, workspace, month, now).await?;
            Json(CostsView::new(&found, budget).with_groups(groups)).into_response()
        }
        (ReportFormat::Csv, Some(groups)) => csv(&format!("costs-{month}.csv"), table::text(groups.table())),
        (ReportFormat::Csv, None) => {
            csv(&format!("costs-{month}.csv"), table::text(CostsView::new(&found, None).table()))
        }
    })
}

/// The data of an invoice for a workspace and a month.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/invoice", tag = "costs", params(MonthQuery),
    responses((status = 200, content((InvoiceView = "application/json"), (String = "text/csv")))))]
pub(crate) async fn invoice(
    caller: WorkspaceCaller,
    Params(query): Params<MonthQuery>,
) -> Result<Response, ConsoleError> {
    let (now, month, format) = query.read(&caller)?;
    let WorkspaceCaller { member, workspace } = caller;
    let view = InvoiceView::from(invoices::invoice(member.store(), workspace, month, now).await?);
    Ok(match format {
        ReportFormat::Json => Json(view).into_response(),
        ReportFormat::Csv => csv(&format!("invoice-{month}.csv"), table::text(view.table())),
    })
}
