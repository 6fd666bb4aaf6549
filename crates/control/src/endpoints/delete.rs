//! The command `delete`.

use super::suspend::{Release, release};
use super::{Call, CommandContext, CommandResponse, EndpointError, EndpointRef, Outcome};
use domain::endpoint::event::EventType;
use domain::endpoint::state::Trigger;

/// Starts deleting an endpoint. Its commitment is released at once, its name when its last replica has released its GPUs.
pub async fn delete(
    context: CommandContext<'_>,
    call: Call<'_>,
    endpoint_ref: &EndpointRef,
) -> Result<CommandResponse, EndpointError> {
    let (trigger, kind) = (Trigger::Delete, EventType::Deleting);
    release(context, call, endpoint_ref, Release { trigger, kind, outcome: Outcome::Accepted }).await
}
