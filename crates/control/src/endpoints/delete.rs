//! The command `delete`.

use super::suspend::{Release, release};
use super::{CommandResponse, EndpointCommand, EndpointError, EndpointRef, Outcome};
use domain::endpoint::event::EventType;
use domain::endpoint::state::Trigger;

/// Starts deleting an endpoint. Its commitment is released at once, its name when its last replica has released its GPUs.
pub async fn delete(
    command: EndpointCommand<'_>,
    endpoint_ref: &EndpointRef,
) -> Result<CommandResponse, EndpointError> {
    let (trigger, kind) = (Trigger::Delete, EventType::Deleting);
    release(command, endpoint_ref, Release { trigger, kind, outcome: Outcome::Accepted }).await
}
