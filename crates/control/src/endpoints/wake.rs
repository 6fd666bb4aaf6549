//! Wakes endpoints at zero.

use super::EndpointError;
use super::attempt::stepped;
use super::event::new_event;
use domain::autoscaler::wake_size;
use domain::endpoint::event::{Actor, Event, EventType};
use domain::endpoint::state::{self, State, Trigger};
use domain::{Endpoint, EndpointId, Timestamp};
use store::{Store, StoreError, endpoint_events, endpoints};

/// Wakes an endpoint at zero for the held calls. Any node may call this; if several do, the first one wins and the others
/// return its result.
pub async fn wake(
    store: &Store,
    id: &EndpointId,
    held: u64,
    now: Timestamp,
) -> Result<Option<Endpoint>, EndpointError> {
    let mut tx = store.begin().await?;
    let Some(before) = endpoints::read(&mut tx, id).await? else { return Ok(None) };
    if before.state != State::ScaledToZero {
        return Ok(Some(before));
    }
    let wake = wake_size(before.scaling.target, before.scaling.mode.ceiling(), held);
    let Ok(step) = state::step(&before.state_input(), Trigger::Request { wake }) else { return Ok(Some(before)) };
    let after = stepped(&before, &step, now);
    let written = match endpoints::update(&mut tx, after, before.generation, step.drain_secs).await {
        Ok(written) => written,
        Err(StoreError::EndpointStale) => return Ok(endpoints::by_id(store, id).await?),
        Err(other) => return Err(other.into()),
    };
    let event = Event {
        from: Some(before.state),
        to: Some(written.state),
        reason: written.reason.as_str().to_owned(),
        message: match held {
            1 => format!("0 → {}: 1 held call", step.desired),
            _ => format!("0 → {}: {held} held calls", step.desired),
        },
        ..new_event(id, EventType::StateChanged, Actor::system("activator"), now)
    };
    endpoint_events::append(&mut tx, &event).await?;
    tx.commit().await?;
    Ok(Some(written))
}
