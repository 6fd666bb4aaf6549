//! State changes by the reconciler and the autoscaler, inside the leader's fence.

use super::attempt::{new_event, stepped};
use domain::endpoint::event::{Actor, Event, EventType};
use domain::endpoint::state::{self, Next, StepError, Trigger};
use domain::{Endpoint, Timestamp};
use serde_json::Value;
use store::{Fenced, StoreError, endpoint_events, endpoints};

/// The author and explanation of a transition, for its event.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// The part of the control plane, such as `reconciler` or `autoscaler`.
    pub part: &'static str,
    /// If empty, the message of the state's reason is used.
    pub message: String,
    pub data: Value,
}

/// The result of a trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transition {
    /// Nothing changed.
    Unchanged,
    Changed(Box<Endpoint>),
    Gone,
    /// The trigger does not apply to the current state.
    NotApplicable(StepError),
}

/// Applies a trigger to an endpoint. Fails with [`StoreError::EndpointStale`] if the record was changed since it was read.
pub async fn transition(
    tx: &mut Fenced,
    before: &Endpoint,
    trigger: Trigger,
    note: Note,
    now: Timestamp,
) -> Result<Transition, StoreError> {
    let step = match state::step(&before.standing(), trigger) {
        Ok(step) => step,
        Err(error) => return Ok(Transition::NotApplicable(error)),
    };
    let event = |kind| new_event(&before.id, kind, Actor::system(note.part), now);
    if step.to == Next::Gone {
        endpoints::mark_deleted(tx, before, now).await?;
        let gone = Event {
            from: Some(before.state),
            message: note.message,
            data: note.data.to_string(),
            ..event(EventType::Deleted)
        };
        endpoint_events::append(tx, &gone).await?;
        return Ok(Transition::Gone);
    }
    let mut after = stepped(before, &step, now);
    if (Endpoint { updated_at: before.updated_at, ..after.clone() }) == *before {
        return Ok(Transition::Unchanged);
    }
    let is_state_change = (before.state, before.reason) != (after.state, after.reason);
    if is_state_change && !note.message.is_empty() {
        after.message.clone_from(&note.message);
    }
    let written = endpoints::update_as_leader(tx, after, before.generation, step.drain_secs).await?;
    let changed = Event {
        from: Some(before.state),
        to: Some(written.state),
        reason: written.reason.as_str().to_owned(),
        message: if note.message.is_empty() { written.message.clone() } else { note.message },
        data: note.data.to_string(),
        ..event(if is_state_change { EventType::StateChanged } else { EventType::Scaled })
    };
    endpoint_events::append(tx, &changed).await?;
    Ok(Transition::Changed(Box::new(written)))
}
