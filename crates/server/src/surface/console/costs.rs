//! `/api/workspaces/{id}/costs` and `/invoice`: what a month costs.

use super::Console;
use super::caller::InWorkspace;
use super::error::Refused;
use super::list::Params;
use super::query::{ReportFormat, csv, month};
use crate::view::{CostsView, InvoiceView, csv as table};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use control::{costs, invoices};
use domain::{Month, Timestamp};
use serde::Deserialize;
use utoipa::IntoParams;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct MonthQuery {
    /// A month in UTC that has begun; by default the current one.
    #[param(required = false, nullable = false, example = "2026-11")]
    month: Option<String>,
    /// `csv`: comma-separated values with a header.
    #[param(required = false, nullable = false, inline, value_type = Option<ReportFormat>)]
    format: Option<String>,
}

impl MonthQuery {
    fn read(&self, place: &InWorkspace) -> Result<(Timestamp, Month, ReportFormat), Refused> {
        let now = place.now();
        Ok((now, month(&self.month, now)?, ReportFormat::parse(&self.format)?))
    }
}

/// What a workspace costs in a month: so far, by day, and what it will be if it goes on so.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/costs", tag = "costs", params(MonthQuery),
    responses((status = 200, content((CostsView = "application/json"), (String = "text/csv")))))]
pub(super) async fn show(
    State(console): State<Console>,
    place: InWorkspace,
    Params(asked): Params<MonthQuery>,
) -> Result<Response, Refused> {
    let (now, month, format) = asked.read(&place)?;
    let view = CostsView::from(costs::month(&console.people.store, &place.workspace.id, month, now).await?);
    Ok(match format {
        ReportFormat::Json => Json(view).into_response(),
        ReportFormat::Csv => csv(&format!("costs-{month}.csv"), table::text(view.table())),
    })
}

/// What an invoice for a workspace and a month is made from.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/invoice", tag = "costs", params(MonthQuery),
    responses((status = 200, content((InvoiceView = "application/json"), (String = "text/csv")))))]
pub(super) async fn invoice(
    State(console): State<Console>,
    place: InWorkspace,
    Params(asked): Params<MonthQuery>,
) -> Result<Response, Refused> {
    let (now, month, format) = asked.read(&place)?;
    let view = InvoiceView::from(invoices::invoice(&console.people.store, place.workspace, month, now).await?);
    Ok(match format {
        ReportFormat::Json => Json(view).into_response(),
        ReportFormat::Csv => csv(&format!("invoice-{month}.csv"), table::text(view.table())),
    })
}
