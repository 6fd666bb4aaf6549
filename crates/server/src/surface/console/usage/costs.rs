//! `/api/workspaces/{id}/costs` and `/invoice`: the costs of a month.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::query::{ReportFormat, csv, month};
use crate::surface::console::extract::{Params, WorkspaceCaller};
use crate::view::{CostsView, InvoiceView, csv as table};
use axum::Json;
use axum::response::{IntoResponse, Response};
use control::{costs, invoices};
use domain::{Month, Timestamp};
use serde::Deserialize;
use utoipa::IntoParams;

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

/// The costs of a workspace in a month: so far, by day, and a forecast.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/costs", tag = "costs", params(MonthQuery),
    responses((status = 200, content((CostsView = "application/json"), (String = "text/csv")))))]
pub(crate) async fn show(caller: WorkspaceCaller, Params(query): Params<MonthQuery>) -> Result<Response, ConsoleError> {
    let (now, month, format) = query.read(&caller)?;
    let found = costs::month(caller.store(), &caller.workspace.id, month, now).await?;
    let budget = costs::budget(caller.store(), &caller.workspace.id, month, now).await?;
    let view = CostsView::new(&found, budget);
    Ok(match format {
        ReportFormat::Json => Json(view).into_response(),
        ReportFormat::Csv => csv(&format!("costs-{month}.csv"), table::text(view.table())),
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
