//! `/api/workspaces/{id}/metrics`: the series of charts.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::query::{filter_text, non_empty, span, step};
use crate::surface::console::extract::{Params, WorkspaceCaller};
use axum::Json;
use control::series::{self, SeriesQuery};
use domain::series::{Division, Metric};
use domain::usage::{Actor, CallSurface};
use serde::Deserialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{IntoParams, PartialSchema, ToSchema};
use view::SeriesView;

const DAY_MILLIS: i64 = 86_400_000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MetricsQuery {
    /// The metric.
    #[param(required = true, nullable = false, inline, value_type = MetricName)]
    metric: Option<String>,
    /// From this time on; default: a day before `to`.
    #[param(required = false, nullable = false, format = DateTime)]
    from: Option<String>,
    /// Before this time; default: now.
    #[param(required = false, nullable = false, format = DateTime)]
    to: Option<String>,
    /// `minute`, `hour`, `day`, or seconds that are whole minutes; default: by the length of the span. At most 1500
    /// points.
    #[param(required = false, nullable = false, example = "hour")]
    step: Option<String>,
    /// One line for each. `code` is for errors, `replica` for queues; metrics of endpoints have no model and no key.
    #[param(required = false, nullable = false, inline, value_type = Option<DivisionName>)]
    group_by: Option<String>,
    /// Only calls to this model.
    #[param(required = false, nullable = false)]
    model: Option<String>,
    /// Only calls with this key, or of this user.
    #[param(required = false, nullable = false)]
    key: Option<String>,
    /// Only calls to the dedicated endpoint of this name.
    #[param(required = false, nullable = false)]
    endpoint: Option<String>,
    /// Only errors with this code.
    #[param(required = false, nullable = false)]
    code: Option<String>,
    /// Only calls through this API; metrics of endpoints have none.
    #[param(required = false, nullable = false, inline, value_type = Option<SurfaceName>)]
    surface: Option<String>,
}

/// The schema of metric names, from the metrics that there are.
pub(in crate::surface::console) enum MetricName {}

impl PartialSchema for MetricName {
    fn schema() -> RefOr<Schema> {
        one_of(Metric::ALL.map(Metric::as_str))
    }
}

impl ToSchema for MetricName {}

/// The schema of divisions, from the divisions that there are.
enum DivisionName {}

impl PartialSchema for DivisionName {
    fn schema() -> RefOr<Schema> {
        one_of(Division::ALL.map(Division::as_str))
    }
}

impl ToSchema for DivisionName {}

/// The schema of surfaces, from the surfaces that there are.
pub(super) enum SurfaceName {}

impl PartialSchema for SurfaceName {
    fn schema() -> RefOr<Schema> {
        one_of(CallSurface::ALL.map(CallSurface::as_str))
    }
}

impl ToSchema for SurfaceName {}

/// The schema of one of some names.
pub(super) fn one_of<const N: usize>(names: [&'static str; N]) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).into()
}

/// One metric of a workspace over a span of time.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/metrics", tag = "observability", params(MetricsQuery),
    responses((status = 200, body = SeriesView)))]
pub(crate) async fn show(
    caller: WorkspaceCaller,
    Params(query): Params<MetricsQuery>,
) -> Result<Json<SeriesView>, ConsoleError> {
    let now = caller.now();
    let metric = Metric::parse(non_empty(&query.metric).unwrap_or_default());
    let series_query = SeriesQuery {
        metric: metric.map_err(|error| ConsoleError::invalid("metric", &error.to_string()))?,
        span: span(&query.from, &query.to, now, DAY_MILLIS)?,
        step: step(&query.step)?,
        division: non_empty(&query.group_by)
            .map(Division::parse)
            .transpose()
            .map_err(|error| ConsoleError::invalid("groupBy", &error.to_string()))?,
        model: filter_text("model", &query.model)?,
        actor: actor(&query.key)?,
        endpoint: filter_text("endpoint", &query.endpoint)?,
        code: filter_text("code", &query.code)?,
        surface: surface(&query.surface)?,
    };
    let context = &caller.context;
    let report = series::report(&context.store, &caller.workspace.id, &series_query, &context.retention, now).await?;
    Ok(Json(report.into()))
}

/// The caller: the id of a key or of a user.
pub(crate) fn actor(text: &Option<String>) -> Result<Option<Actor>, ConsoleError> {
    let Some(text) = non_empty(text) else { return Ok(None) };
    let actor = Actor::parse(text).ok_or_else(|| ConsoleError::invalid("key", "not the id of a key or a user"));
    actor.map(Some)
}

/// The surface that calls were made through.
pub(super) fn surface(text: &Option<String>) -> Result<Option<CallSurface>, ConsoleError> {
    let Some(text) = non_empty(text) else { return Ok(None) };
    let known = || CallSurface::ALL.map(CallSurface::as_str).join(", ");
    let invalid = || ConsoleError::invalid("surface", &format!("a surface is one of {}", known()));
    CallSurface::parse(text).ok_or_else(invalid).map(Some)
}
