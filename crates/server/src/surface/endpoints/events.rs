//! `…/events`: the history of an endpoint.

use super::cursor;
use super::error::ProblemError;
use super::request::{EndpointPath, ReadRequest};
use super::wire::EventList;
use axum::Json;
use control::endpoints;
use domain::endpoint::event::EventType;
use domain::{EventId, Timestamp};
use store::endpoint_events::Filter;

/// The history of an endpoint, newest first; kept for 90 days.
#[utoipa::path(get, path = "/v1/endpoints/{endpoint}/events", operation_id = "listEndpointEvents", tag = "endpoints",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "default: 20"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the page before"),
        ("since" = Option<String>, Query, format = DateTime), ("type" = Option<String>, Query)),
    responses((status = 200, body = EventList)))]
pub(super) async fn list(request: ReadRequest, path: EndpointPath) -> Result<Json<EventList>, ProblemError> {
    const WHEN: &str = "must be a time such as 2026-01-31T12:00:00Z";
    let before = request.cursor(EventId::parse)?;
    let limit = request.limit()?;
    let since = request.parsed("since", |text| Timestamp::parse(text).ok(), WHEN)?;
    let kind = request.parsed("type", EventType::parse, "is not a type of events")?;
    let filter = Filter { since, kind, before: before.as_ref().map(|(at, id)| (*at, id)) };
    let choice = path.choice()?;
    let mut found = endpoints::events(request.store(), request.scope(), &choice, filter, limit + 1).await?;
    let next = cursor::next(&mut found, limit, |last| (last.at, last.id.as_str()));
    Ok(Json(EventList::new(found, next)))
}
