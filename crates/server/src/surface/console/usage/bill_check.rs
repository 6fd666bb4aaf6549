//! Bill check: `/api/organizations/{id}/reconciliation` and, for the operator, `/api/reconciliation`.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::query::span;
use crate::surface::console::extract::{Admin, Operator, Params};
use axum::Json;
use control::bill_check::{self, SharedServers};
use serde::Deserialize;
use utoipa::IntoParams;
use view::BillCheckView;

const DAY_MILLIS: i64 = 86_400_000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct BillCheckQuery {
    /// From the hour of this time on; default: a day before `to`.
    #[param(required = false, nullable = false, format = DateTime)]
    from: Option<String>,
    /// Before this time; default: now.
    #[param(required = false, nullable = false, format = DateTime)]
    to: Option<String>,
}

/// Tokens billed against tokens counted by the engines of an organization's endpoints.
#[utoipa::path(get, path = "/api/organizations/{organizationId}/reconciliation", tag = "costs",
    params(BillCheckQuery), responses((status = 200, body = BillCheckView)))]
pub(crate) async fn of_organization(
    Admin(member): Admin,
    Params(query): Params<BillCheckQuery>,
) -> Result<Json<BillCheckView>, ConsoleError> {
    let span = span(&query.from, &query.to, member.now(), DAY_MILLIS)?;
    let no_shared = SharedServers::default();
    let report = bill_check::report(member.store(), Some(&member.organization), span, &no_shared).await?;
    Ok(Json(report.into()))
}

/// The same for every engine there is, shared ones included.
#[utoipa::path(get, path = "/api/reconciliation", tag = "operator", params(BillCheckQuery),
    responses((status = 200, body = BillCheckView)))]
pub(crate) async fn of_platform(
    Operator(caller): Operator,
    Params(query): Params<BillCheckQuery>,
) -> Result<Json<BillCheckView>, ConsoleError> {
    let span = span(&query.from, &query.to, caller.now(), DAY_MILLIS)?;
    let shared = SharedServers::of(&caller.context.catalogue.routes().table());
    Ok(Json(bill_check::report(caller.store(), None, span, &shared).await?.into()))
}
