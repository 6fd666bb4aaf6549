//! `…/events`: what happened to an endpoint.

use super::Desk;
use super::ask::{Ask, List, Reply};
use super::cursor::Of;
use super::describe::EventList;
use super::error::Refused;
use control::endpoints::{self, EndpointRef};
use domain::endpoint::event::EventType;
use domain::endpoint::{FieldError, FieldErrorCode};
use domain::{EventId, Timestamp};
use store::endpoint_events::Filter;

/// What happened to an endpoint, newest first; kept for 90 days.
#[utoipa::path(get, path = "/v1/endpoints/{endpoint}/events", operation_id = "listEndpointEvents", tag = "endpoints",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "20 unless said"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the page before"),
        ("since" = Option<String>, Query, format = DateTime), ("type" = Option<String>, Query)),
    responses((status = 200, body = EventList)))]
pub(super) async fn list(desk: &Desk, ask: &Ask, which: &str) -> Result<Reply, Refused> {
    let bad_cursor = || FieldError::new("cursor", FieldErrorCode::InvalidCursor, "is not a cursor of this list");
    let cursor = ask.cursor(&desk.cursors, Of::Events)?;
    let before = cursor.map(|(at, id)| EventId::parse(&id).map(|id| (at, id)).map_err(|_| bad_cursor())).transpose()?;
    let limit = ask.limit()?;
    let since = ask.word("since", |text| Timestamp::parse(text).ok(), "must be a time such as 2026-01-31T12:00:00Z")?;
    let kind = ask.word("type", EventType::parse, "is not a type of events")?;
    let filter = Filter { since, kind, before: before.as_ref().map(|(at, id)| (*at, id)) };
    let choice = EndpointRef::parse(which)?;
    let found = endpoints::events(&desk.people.store, ask.scope(), &choice, filter, limit + 1).await?;
    let workspace = &ask.caller.workspace;
    let page = List::page(found, limit, |last| desk.cursors.seal(Of::Events, workspace, last.at, last.id.as_str()))?;
    Ok(Reply::json(&page)?)
}
