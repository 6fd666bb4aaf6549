//! `/api/operator/findings`, `/api/operator/errors` and `/api/operator/failed-endpoints`: what needs the operator.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::query::span;
use crate::surface::console::extract::{List, Operator, Params};
use axum::Json;
use control::{endpoints, requests, workspaces};
use domain::Timestamp;
use node::doctor::{Finding, Level};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use store::requests::ErrorCount;
use utoipa::{IntoParams, ToSchema};

const DAY_MILLIS: i64 = 86_400_000;
/// The longest span of [`list_errors`], whose calls are counted one by one.
const MAX_ERRORS_MILLIS: i64 = 31 * DAY_MILLIS;

/// The result of the doctor's checks on the node that responds.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorFindings)]
pub(crate) struct FindingsView {
    #[schema(value_type = String, format = DateTime)]
    checked_at: Timestamp,
    /// The worst level: `ok`, `warning` or `problem`.
    status: &'static str,
    findings: Vec<FindingView>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = OperatorFinding)]
struct FindingView {
    check: &'static str,
    /// `ok`, `warning` or `problem`.
    level: &'static str,
    what: String,
    /// How to fix it; empty if ok.
    remedy: String,
}

impl From<&Finding> for FindingView {
    fn from(finding: &Finding) -> Self {
        let Finding { check, level, what, remedy } = finding;
        Self { check, level: name_of(*level), what: what.clone(), remedy: remedy.clone() }
    }
}

fn name_of(level: Level) -> &'static str {
    match level {
        Level::Ok => "ok",
        Level::Warning => "warning",
        Level::Problem => "problem",
    }
}

/// The doctor's findings on this node, with remedies; at most half a minute old.
#[utoipa::path(get, path = "/api/operator/findings", tag = "operator",
    responses((status = 200, body = FindingsView)))]
pub(crate) async fn list_findings(Operator(caller): Operator) -> Json<FindingsView> {
    let examination = caller.context.operator.doctor.examine(caller.now()).await;
    let report = &examination.report;
    let findings = report.findings.iter().map(FindingView::from).collect();
    Json(FindingsView { checked_at: examination.at, status: name_of(report.status), findings })
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ErrorsQuery {
    /// From this time on, at most 31 days before `to`; default: a day before `to`.
    #[param(required = false, nullable = false, format = DateTime)]
    from: Option<String>,
    /// Before this time; default: now.
    #[param(required = false, nullable = false, format = DateTime)]
    to: Option<String>,
}

/// Failed calls of one cause.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorErrorCount)]
pub(crate) struct ErrorCountView {
    code: String,
    /// Empty if the calls named no known model.
    model: String,
    count: u64,
    #[schema(value_type = String, format = DateTime)]
    last_at: Timestamp,
}

impl From<ErrorCount> for ErrorCountView {
    fn from(found: ErrorCount) -> Self {
        let ErrorCount { code, model, count, last_at } = found;
        Self { code, model, count, last_at }
    }
}

/// Failed calls of all workspaces by cause and model, most frequent first.
#[utoipa::path(get, path = "/api/operator/errors", tag = "operator", params(ErrorsQuery),
    responses((status = 200, body = List<ErrorCountView>)))]
pub(crate) async fn list_errors(
    Operator(caller): Operator,
    Params(query): Params<ErrorsQuery>,
) -> Result<Json<List<ErrorCountView>>, ConsoleError> {
    let span = span(&query.from, &query.to, caller.now(), DAY_MILLIS)?;
    if span.from < span.to.plus_millis(-MAX_ERRORS_MILLIS) {
        return Err(ConsoleError::invalid("from", "`from` is more than 31 days before `to`"));
    }
    let found = requests::count_errors(caller.store(), span).await?;
    Ok(Json(List::whole(found.into_iter().map(ErrorCountView::from).collect())))
}

/// A dedicated endpoint of any workspace that has failed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = FailedEndpoint)]
pub(crate) struct FailedEndpointView {
    id: String,
    name: String,
    model: String,
    organization_id: String,
    /// Null if the workspace was deleted meanwhile, as its name.
    organization_name: Option<String>,
    workspace_id: String,
    workspace_name: Option<String>,
    #[schema(example = "weights-missing")]
    state_reason: &'static str,
    state_message: String,
    #[schema(value_type = String, format = DateTime)]
    failed_at: Timestamp,
}

/// The failed endpoints of all workspaces, those that failed last first; at most 100.
#[utoipa::path(get, path = "/api/operator/failed-endpoints", tag = "operator",
    responses((status = 200, body = List<FailedEndpointView>)))]
pub(crate) async fn list_failed_endpoints(
    Operator(caller): Operator,
) -> Result<Json<List<FailedEndpointView>>, ConsoleError> {
    let failed = endpoints::list_failed(caller.store()).await?;
    let ids: Vec<_> = failed.iter().map(|one| one.workspace.clone()).collect::<BTreeSet<_>>().into_iter().collect();
    let names = workspaces::names(caller.store(), &ids).await?;
    let named = failed.into_iter().map(|one| {
        let names = names.get(&one.workspace);
        FailedEndpointView {
            id: one.id.to_string(),
            name: one.name.to_string(),
            model: one.model.to_string(),
            organization_id: one.organization.to_string(),
            organization_name: names.map(|names| names.organization.clone()),
            workspace_id: one.workspace.to_string(),
            workspace_name: names.map(|names| names.workspace.clone()),
            state_reason: one.reason.as_str(),
            state_message: one.message,
            failed_at: one.state_since,
        }
    });
    Ok(Json(List::whole(named.collect())))
}
