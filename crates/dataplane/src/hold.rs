//! Waits for a replica that can serve.
//!
//! A serverless model does not wait: without a healthy replica it is not serving, and says so at once. An endpoint that
//! is suspended or on its way does not answer early: the call is held open until a replica is ready or the edge's
//! patience ends. Nothing here decides to start replicas; it only leaves a demand that the control plane reads.

use crate::refusal::Refusal;
use crate::resolve::Target;
use crate::{Call, Dataplane};
use fleet::endpoints::{Condition, QueueFull};
use fleet::{Endpoint, Lease, Unavailable};
use std::sync::Arc;
use std::time::{Duration, Instant};

impl Dataplane {
    /// A place at a replica for the call.
    pub(crate) async fn hold(&self, target: &Target, call: &mut Call) -> Result<Lease, Refusal> {
        let (prefix, body_bytes) = (call.probe.prefix(), call.probe.body.len());
        match target {
            Target::Serverless(route) => route
                .pool
                .pick(prefix, None, Instant::now())
                .map_err(|Unavailable| Refusal::NotServing { retry_after_secs: None }),
            Target::Dedicated(endpoint) => match place(endpoint, prefix)? {
                Some(lease) => Ok(lease),
                None => {
                    call.tap.hold_begins();
                    let held = Box::pin(wait(endpoint, prefix, body_bytes, call.hold_timeout)).await;
                    call.tap.hold_ends();
                    held
                }
            },
        }
    }
}

/// A place, if there is one now; an error where waiting cannot help.
fn place(endpoint: &Endpoint, prefix: &[u8]) -> Result<Option<Lease>, Refusal> {
    let view = endpoint.view();
    match &view.condition {
        Condition::Serving => Ok(view.route.pool.pick(prefix, None, Instant::now()).ok()),
        Condition::Waiting | Condition::ScaledToZero => Ok(None),
        Condition::Failed { reason } => Err(Refusal::EndpointFailed { reason: reason.clone() }),
        Condition::Deleting => Err(Refusal::unknown_model(view.route.model.id.as_str())),
    }
}

async fn wait(
    endpoint: &Arc<Endpoint>,
    prefix: &[u8],
    body_bytes: usize,
    patience: Duration,
) -> Result<Lease, Refusal> {
    /// Replicas that could not be reached may be again, which nobody announces.
    const LOOK_AGAIN: Duration = Duration::from_millis(500);
    let _place_in_queue = endpoint.hold(body_bytes).map_err(|QueueFull| Refusal::HoldQueueFull)?;
    let mut changes = endpoint.watch();
    let served = async {
        loop {
            changes.mark_unchanged();
            if let Some(lease) = place(endpoint, prefix)? {
                return Ok(lease);
            }
            let is_serving = endpoint.view().condition == Condition::Serving;
            tokio::select! {
                changed = changes.changed() => if changed.is_err() {
                    return Err(Refusal::unknown_model(endpoint.view().route.model.id.as_str()));
                },
                () = tokio::time::sleep(LOOK_AGAIN), if is_serving => {}
            }
        }
    };
    tokio::time::timeout(patience, served).await.unwrap_or(Err(Refusal::HoldTimeout))
}
