//! What the service itself does to endpoints: the reconciler and the autoscaler, through the leader's fence.

use super::attempt::{new_event, stepped};
use domain::endpoint::event::{Actor, Event, EventType};
use domain::endpoint::state::{self, Next, NoStep, Trigger};
use domain::{Endpoint, Timestamp};
use serde_json::Value;
use store::{Fenced, StoreError, endpoint_events, endpoints};

/// Who did it and why, for the event.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// Such as `reconciler` or `autoscaler`.
    pub part: &'static str,
    /// The message of the state's reason if it is empty.
    pub message: String,
    pub data: Value,
}

/// What became of the endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transition {
    /// Nothing had to be written.
    Same,
    Changed(Box<Endpoint>),
    Gone,
    /// The trigger does not belong to this state: look again.
    OutOfPlace(NoStep),
}

/// Lets something happen to an endpoint. Refused as stale when someone wrote the record since it was read.
pub async fn transition(
    tx: &mut Fenced,
    before: &Endpoint,
    trigger: Trigger,
    note: Note,
    now: Timestamp,
) -> Result<Transition, StoreError> {
    let step = match state::step(&before.standing(), trigger) {
        Ok(step) => step,
        Err(no_step) => return Ok(Transition::OutOfPlace(no_step)),
    };
    let event = |kind| new_event(&before.id, kind, Actor::system(note.part), now);
    if step.to == Next::Gone {
        endpoints::bury(tx, before, now).await?;
        let gone =
            Event { from: Some(before.state), message: note.message, data: note.data, ..event(EventType::Deleted) };
        endpoint_events::append(tx, &gone).await?;
        return Ok(Transition::Gone);
    }
    let mut after = stepped(before, &step, now);
    if (Endpoint { updated_at: before.updated_at, ..after.clone() }) == *before {
        return Ok(Transition::Same);
    }
    let moved = (before.state, before.reason) != (after.state, after.reason);
    if moved && !note.message.is_empty() {
        after.message.clone_from(&note.message);
    }
    let written = endpoints::update_as_leader(tx, after, before.generation, step.drain_secs).await?;
    let told = Event {
        from: Some(before.state),
        to: Some(written.state),
        reason: written.reason.as_str().to_owned(),
        message: if note.message.is_empty() { written.message.clone() } else { note.message },
        data: note.data,
        ..event(if moved { EventType::StateChanged } else { EventType::Scaled })
    };
    endpoint_events::append(tx, &told).await?;
    Ok(Transition::Changed(Box::new(written)))
}
