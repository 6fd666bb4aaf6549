//! `…/usage`: GPU-hours, cost and how busy the GPUs were.

use super::Desk;
use super::ask::{Ask, Reply};
use super::describe::EndpointUsage;
use super::error::Refused;
use control::endpoints::{self, EndpointRef};
use domain::endpoint::{FieldError, FieldErrorCode};
use domain::{Grain, Span, Timestamp};

/// GPU-hours, cost and utilization; hours or days in which GPUs were held.
#[utoipa::path(get, path = "/v1/endpoints/{endpoint}/usage", operation_id = "getEndpointUsage", tag = "endpoints",
    params(("from" = Option<String>, Query, format = DateTime, description = "default: the start of the month"),
        ("to" = Option<String>, Query, format = DateTime, description = "cut at now"),
        ("granularity" = Option<String>, Query, description = "`hour` (default) or `day`")),
    responses((status = 200, body = EndpointUsage)))]
pub(super) async fn show(desk: &Desk, ask: &Ask, which: &str) -> Result<Reply, Refused> {
    const WHEN: &str = "must be a time such as 2026-01-31T12:00:00Z";
    let moment = |text: &str| Timestamp::parse(text).ok();
    let (from, to) = (ask.word("from", moment, WHEN)?, ask.word("to", moment, WHEN)?);
    let grain = |text: &str| match text {
        "hour" => Some(Grain::Hour),
        "day" => Some(Grain::Day),
        _ => None,
    };
    let grain = ask.word("granularity", grain, "must be hour or day")?.unwrap_or(Grain::Hour);
    let reversed = |_| FieldError::new("to", FieldErrorCode::InvalidCombination, "must not be before from");
    let span = Span::or_month_of(ask.now, from, to).map_err(reversed)?;
    let choice = EndpointRef::parse(which)?;
    let report = endpoints::usage(&desk.people.store, ask.scope(), &choice, span, grain, ask.now).await?;
    Ok(Reply::json(&report)?)
}
