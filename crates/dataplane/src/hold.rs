//! Waits for a replica that can serve.
//!
//! A serverless model does not wait: without a healthy replica it is not serving, and says so at once. An endpoint that
//! is suspended or on its way does not answer early: the call is held open until a replica is ready or the edge's
//! patience ends. Nothing here decides to start replicas; it only leaves a demand that the control plane reads.

use crate::refusal::Refusal;
use crate::resolve::Target;
use crate::{Call, Dataplane};
use fleet::endpoints::{Condition, QueueFull, View};
use fleet::replica::ReplicaId;
use fleet::{Endpoint, Lease, Unavailable};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A call that looks for a place.
#[derive(Clone, Copy)]
pub(crate) struct Seeker<'a> {
    /// How its prompt begins.
    pub(crate) prefix: &'a [u8],
    pub(crate) body_bytes: usize,
    /// Where it was tried in vain.
    pub(crate) tried: &'a [ReplicaId],
    /// When it gives up waiting.
    pub(crate) until: Instant,
}

impl Dataplane {
    /// A place at a replica, as soon as there is one.
    pub(crate) async fn hold(&self, target: &Target, call: &mut Call) -> Result<Lease, Refusal> {
        let seeker = call.seeker(&[]);
        match target {
            Target::Serverless(route) => route
                .pool
                .pick(seeker.prefix, seeker.tried, Instant::now())
                .map_err(|Unavailable| Refusal::NotServing { retry_after_secs: None }),
            Target::Dedicated(endpoint) => {
                // Who comes while others wait stands in line behind them.
                let place = if endpoint.held() == 0 { place(endpoint, seeker)? } else { None };
                match place {
                    Some(lease) => Ok(lease),
                    None => {
                        call.probe.keep_only_the_body();
                        call.tap.hold_begins();
                        let placed = Box::pin(wait(endpoint, call.seeker(&[]))).await;
                        call.tap.hold_ends();
                        placed
                    }
                }
            }
        }
    }
}

/// A place at another replica for a call that the replica `lost` did not answer, once it is certain that it is lost. As
/// long as it is there and no other is, there is none.
pub(crate) async fn replace(
    endpoint: &Arc<Endpoint>,
    lost: ReplicaId,
    seeker: Seeker<'_>,
) -> Option<Result<Lease, Refusal>> {
    /// The control plane sees the end of a process within a round or two.
    const SEEN_WITHIN: Duration = Duration::from_secs(5);
    let mut changes = endpoint.watch();
    let is_there = |view: &Arc<View>| view.route.pool.replicas().iter().any(|replica| replica.id == lost);
    tokio::time::timeout(SEEN_WITHIN, changes.wait_for(|view| !is_there(view))).await.ok()?.ok()?;
    Some(Box::pin(wait(endpoint, seeker)).await)
}

/// A place, if there is one now; an error where waiting cannot help.
fn place(endpoint: &Endpoint, seeker: Seeker<'_>) -> Result<Option<Lease>, Refusal> {
    let view = endpoint.view();
    if !is_routed(&view)? {
        return Ok(None);
    }
    Ok(view.route.pool.pick(seeker.prefix, seeker.tried, Instant::now()).ok())
}

/// Whether calls go to replicas now; an error where waiting cannot help.
fn is_routed(view: &View) -> Result<bool, Refusal> {
    match &view.condition {
        Condition::Serving => Ok(true),
        Condition::Waiting | Condition::ScaledToZero => Ok(false),
        Condition::Failed { reason } => Err(Refusal::EndpointFailed { reason: reason.clone() }),
        Condition::Deleting => Err(Refusal::unknown_model(view.route.model.id.as_str())),
    }
}

async fn wait(endpoint: &Arc<Endpoint>, seeker: Seeker<'_>) -> Result<Lease, Refusal> {
    /// Replicas that could not be reached may be again, which nobody announces.
    const LOOK_AGAIN: Duration = Duration::from_millis(500);
    is_routed(&endpoint.view())?;
    let _place_in_queue = endpoint.hold(seeker.body_bytes).map_err(|QueueFull| Refusal::HoldQueueFull)?;
    let served = async {
        // Who was served before had his turn, and does not hold up those who can go where he cannot.
        let _turn = if seeker.tried.is_empty() { Some(endpoint.turn().await) } else { None };
        let mut changes = endpoint.watch();
        loop {
            changes.mark_unchanged();
            if let Some(lease) = place(endpoint, seeker)? {
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
    tokio::time::timeout_at(seeker.until.into(), served).await.unwrap_or(Err(Refusal::HoldTimeout))
}
