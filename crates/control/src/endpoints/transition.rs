//! State changes by the reconciler and the autoscaler: a pure decision, and the writes that store it.

use super::attempt::stepped;
use super::event::new_event;
use domain::endpoint::Generation;
use domain::endpoint::event::{Actor, Event, EventType};
use domain::endpoint::state::{self, Next, StepError, Trigger};
use domain::{Endpoint, Timestamp};
use serde_json::Value;
use store::LeaderWrite;

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
#[derive(Debug, Clone, PartialEq)]
pub enum Transition {
    /// Nothing changes.
    Unchanged,
    Changed(Box<Changed>),
    Gone(Box<Gone>),
    /// The trigger does not apply to the current state.
    NotApplicable(StepError),
}

/// The next generation of an endpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    pub endpoint: Endpoint,
    pub event: Event,
    drain_secs: u32,
}

/// The end of an endpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct Gone {
    before: Endpoint,
    event: Event,
}

impl Transition {
    /// The writes that store the result. They fail if the endpoint was changed since it was read.
    pub fn writes(&self) -> Vec<LeaderWrite<'_>> {
        match self {
            Self::Unchanged | Self::NotApplicable(_) => Vec::new(),
            Self::Changed(changed) => {
                let Changed { endpoint, event, drain_secs } = &**changed;
                let seen = Generation(endpoint.generation.0 - 1);
                let row = LeaderWrite::Endpoint { changed: endpoint, seen, drain_secs: *drain_secs };
                vec![row, LeaderWrite::Event(event)]
            }
            Self::Gone(gone) => {
                let Gone { before, event } = &**gone;
                vec![LeaderWrite::DeleteEndpoint { endpoint: before, at: event.at }, LeaderWrite::Event(event)]
            }
        }
    }
}

/// Applies a trigger to an endpoint.
pub fn transition(before: &Endpoint, trigger: Trigger, note: Note, now: Timestamp) -> Transition {
    let Note { part, message, data } = note;
    let step = match state::step(&before.state_input(), trigger) {
        Ok(step) => step,
        Err(error) => return Transition::NotApplicable(error),
    };
    let event = |kind| Event {
        from: Some(before.state),
        data: data.to_string(),
        ..new_event(&before.id, kind, Actor::system(part), now)
    };
    if step.to == Next::Gone {
        let event = Event { message, ..event(EventType::Deleted) };
        return Transition::Gone(Box::new(Gone { before: before.clone(), event }));
    }
    let mut after = stepped(before, &step, now);
    if (Endpoint { updated_at: before.updated_at, ..after.clone() }) == *before {
        return Transition::Unchanged;
    }
    let is_state_change = (before.state, before.reason) != (after.state, after.reason);
    if is_state_change && !message.is_empty() {
        after.message.clone_from(&message);
    }
    after.generation = Generation(before.generation.0 + 1);
    let event = Event {
        to: Some(after.state),
        reason: after.reason.as_str().to_owned(),
        message: if message.is_empty() { after.message.clone() } else { message },
        ..event(if is_state_change { EventType::StateChanged } else { EventType::Scaled })
    };
    Transition::Changed(Box::new(Changed { endpoint: after, event, drain_secs: step.drain_secs }))
}
