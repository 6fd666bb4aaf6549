//! The command `resume`.

use super::rescale::{Update, apply};
use super::{CommandResponse, EndpointCommand, EndpointError, EndpointRef};
use domain::endpoint::event::EventType;
use domain::endpoint::labels::LabelsPatch;
use domain::endpoint::request::Change;
use domain::endpoint::scaling::ScalingPatch;
use domain::endpoint::state::Trigger;

/// Starts a suspended or failed endpoint, optionally with another scaling policy. An active endpoint is only rescaled.
pub async fn resume(
    command: EndpointCommand<'_>,
    endpoint_ref: &EndpointRef,
    scaling: &ScalingPatch,
) -> Result<CommandResponse, EndpointError> {
    let change = Change { scaling: *scaling, labels: LabelsPatch::new() };
    let (kind, trigger) = (EventType::Resumed, Trigger::Resume as fn(_) -> _);
    apply(command, endpoint_ref, Update { change: &change, if_match: None, kind, doing: "Resuming", trigger }).await
}
