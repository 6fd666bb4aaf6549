//! `/api/operator/models/{id}/prefill-queue`: the prompts that wait at the replicas of a model.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::query::{span, step};
use crate::surface::console::extract::{Id, Operator, Params};
use axum::Json;
use control::series;
use domain::ModelId;
use serde::Deserialize;
use utoipa::IntoParams;
use view::SeriesView;

const DAY_MILLIS: i64 = 86_400_000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct QueueQuery {
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
}

/// Uncached prompt tokens of all workspaces in flight at each replica of a model. Empty for a model with one replica.
#[utoipa::path(get, path = "/api/operator/models/{modelId}/prefill-queue", tag = "operator", params(QueueQuery),
    responses((status = 200, body = SeriesView)))]
pub(crate) async fn show(
    Operator(caller): Operator,
    Id(id): Id<ModelId>,
    Params(query): Params<QueueQuery>,
) -> Result<Json<SeriesView>, ConsoleError> {
    let now = caller.now();
    let (span, step) = (span(&query.from, &query.to, now, DAY_MILLIS)?, step(&query.step)?);
    let report = series::prefill_queue(caller.store(), &id, span, step, &caller.context.retention, now).await?;
    Ok(Json(report.into()))
}
