//! `…/usage`: GPU-hours, cost and how busy the GPUs were.

use super::error::ProblemError;
use super::request::{EndpointPath, ReadRequest};
use super::wire::UsageView;
use axum::Json;
use control::endpoints;
use domain::endpoint::{FieldError, FieldErrorCode};
use domain::{Grain, Span, Timestamp};

/// GPU-hours, cost and utilization, with the hours or days in which GPUs were held.
#[utoipa::path(get, path = "/v1/endpoints/{endpoint}/usage", operation_id = "getEndpointUsage", tag = "endpoints",
    params(("from" = Option<String>, Query, format = DateTime, description = "default: the start of the month"),
        ("to" = Option<String>, Query, format = DateTime, description = "cut at now"),
        ("granularity" = Option<String>, Query, description = "`hour` (default) or `day`")),
    responses((status = 200, body = UsageView)))]
pub(super) async fn show(request: ReadRequest, path: EndpointPath) -> Result<Json<UsageView>, ProblemError> {
    const WHEN: &str = "must be a time such as 2026-01-31T12:00:00Z";
    let timestamp = |text: &str| Timestamp::parse(text).ok();
    let (from, to) = (request.parsed("from", timestamp, WHEN)?, request.parsed("to", timestamp, WHEN)?);
    let grain = |text: &str| match text {
        "hour" => Some(Grain::Hour),
        "day" => Some(Grain::Day),
        _ => None,
    };
    let grain = request.parsed("granularity", grain, "must be hour or day")?.unwrap_or(Grain::Hour);
    let reversed = |_| FieldError::new("to", FieldErrorCode::InvalidCombination, "must not be before from");
    let span = Span::or_month_of(request.now(), from, to).map_err(reversed)?;
    let (store, choice) = (request.store(), path.choice()?);
    let report = endpoints::usage(store, request.scope(), &choice, span, grain, request.now()).await?;
    Ok(Json(report.into()))
}
