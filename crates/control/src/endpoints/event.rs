//! New events of endpoints.

use super::EndpointCommand;
use crate::entropy;
use domain::endpoint::event::{Actor, Event, EventType};
use domain::{Endpoint, EndpointId, EventId, Timestamp};

/// A new event without details. Events of one process sort in the order of their creation.
pub fn new_event(endpoint: &EndpointId, kind: EventType, actor: Actor, now: Timestamp) -> Event {
    Event::new(EventId::new(now, entropy::in_order()), endpoint.clone(), kind, actor, now)
}

/// An event that the command's author causes.
pub(super) fn event_of(endpoint: &Endpoint, kind: EventType, command: &EndpointCommand<'_>) -> Event {
    Event {
        to: Some(endpoint.state),
        reason: endpoint.reason.as_str().to_owned(),
        message: endpoint.message.clone(),
        ..new_event(&endpoint.id, kind, command.base.author.actor(), command.base.now)
    }
}
