//! `/api/organizations/{id}/gpu-costs`: GPU-hours, their cost, and how busy the GPUs were.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::query::{ReportFormat, csv, non_empty, timestamp};
use crate::surface::console::extract::{Caller, Id, Params};
use axum::Json;
use axum::response::{IntoResponse, Response};
use control::{access, gpu_costs, organizations};
use domain::gpu_costs::Dimension;
use domain::user::Role;
use domain::{OrganizationId, Span, WorkspaceId};
use serde::Deserialize;
use std::collections::BTreeSet;
use store::Page;
use store::holds::Owner;
use utoipa::IntoParams;
use view::{GpuCostsView, csv as table};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GpuCostsQuery {
    /// From this time on; default: the start of the month.
    #[param(required = false, nullable = false, format = DateTime)]
    from: Option<String>,
    /// Before this time; default: now.
    #[param(required = false, nullable = false, format = DateTime)]
    to: Option<String>,
    /// None or more of `endpoint`, `gpuType`, `workspace` and `day`, separated by commas.
    #[param(required = false, nullable = false, example = "endpoint,gpuType")]
    group_by: Option<String>,
    /// `csv`: comma-separated values with a header, without the total.
    #[param(required = false, nullable = false, inline, value_type = Option<ReportFormat>)]
    format: Option<String>,
}

/// GPU-hours of dedicated endpoints, their cost, and how busy the GPUs were. Members see the workspaces they belong to.
#[utoipa::path(get, path = "/api/organizations/{organizationId}/gpu-costs", tag = "costs", params(GpuCostsQuery),
    responses((status = 200, content((GpuCostsView = "application/json"), (String = "text/csv")))))]
pub(crate) async fn show(
    caller: Caller,
    Id(id): Id<OrganizationId>,
    Params(query): Params<GpuCostsQuery>,
) -> Result<Response, ConsoleError> {
    let visible = visible(&caller, &id).await?;
    let now = caller.now();
    let (from, to) = (timestamp("from", &query.from)?, timestamp("to", &query.to)?);
    let span = Span::or_month_of(now, from, to).map_err(control::CommandError::from)?;
    let dimensions = Dimension::parse_all(non_empty(&query.group_by).unwrap_or_default())
        .map_err(|error| ConsoleError::invalid("groupBy", &error.to_string()))?;
    let format = ReportFormat::parse(&query.format)?;
    let owner = Owner::Organization(&id);
    let report = gpu_costs::report(caller.store(), owner, visible.as_ref(), span, &dimensions, now).await?;
    let view = GpuCostsView::from(report);
    Ok(match format {
        ReportFormat::Json => Json(view).into_response(),
        ReportFormat::Csv => csv("gpu-costs.csv", table::text(view.table())),
    })
}

/// The workspaces whose costs the caller may see; nothing where that is all of them.
async fn visible(caller: &Caller, id: &OrganizationId) -> Result<Option<BTreeSet<WorkspaceId>>, ConsoleError> {
    let store = caller.store();
    if caller.signed.user.operator {
        organizations::show(store, id).await?;
        return Ok(None);
    }
    let (organization, role) = access::organization(&caller.signed)?;
    if organization != id {
        return Err(ConsoleError::NotFound);
    }
    match role {
        Role::Admin => Ok(None),
        Role::Member => {
            let joined = access::workspaces(store, &caller.signed.user, id, Page::default()).await?;
            Ok(Some(joined.into_iter().map(|workspace| workspace.id).collect()))
        }
    }
}
