//! The command `suspend`, and what it shares with `delete`.

use super::attempt::{Attempt, Retries, Start, step, stepped};
use super::{CommandResponse, EndpointCommand, EndpointError, EndpointRef, Outcome};
use domain::endpoint::event::EventType;
use domain::endpoint::state::Trigger;
use store::StoreError;

/// Suspends an endpoint; its commitment is released at once. Idempotent.
pub async fn suspend(
    command: EndpointCommand<'_>,
    endpoint_ref: &EndpointRef,
) -> Result<CommandResponse, EndpointError> {
    let (trigger, kind) = (Trigger::Suspend, EventType::Suspended);
    release(command, endpoint_ref, Release { trigger, kind, outcome: Outcome::Done }).await
}

/// A trigger that releases GPUs, with its event and outcome.
#[derive(Clone, Copy)]
pub(super) struct Release {
    pub(super) trigger: Trigger,
    pub(super) kind: EventType,
    pub(super) outcome: Outcome,
}

/// Applies a trigger that releases GPUs. It does not lock the ledger: a concurrent check that still counts these GPUs is
/// only stricter than necessary.
pub(super) async fn release(
    command: EndpointCommand<'_>,
    endpoint_ref: &EndpointRef,
    release: Release,
) -> Result<CommandResponse, EndpointError> {
    let mut retries = Retries::new();
    loop {
        match once(command, endpoint_ref, release).await {
            Err(error) if retries.again(&error).await => {}
            outcome => return outcome,
        }
    }
}

async fn once(
    command: EndpointCommand<'_>,
    endpoint_ref: &EndpointRef,
    release: Release,
) -> Result<CommandResponse, EndpointError> {
    let mut attempt = match Attempt::start(command.base.store.begin().await?, &command).await? {
        Start::Replayed(response) => return Ok(*response),
        Start::New(attempt) => attempt,
    };
    let before = attempt.find(endpoint_ref).await?;
    let step = step(&before, release.trigger)?;
    let after = stepped(&before, &step, command.base.now);
    if before.state == after.state {
        return attempt.finish(release.outcome, before).await;
    }
    match attempt.write(&before, after, &step, release.kind).await {
        Ok(written) => attempt.finish(release.outcome, written).await,
        Err(StoreError::EndpointStale) => Err(EndpointError::Modified { current: before.generation }),
        Err(other) => Err(other.into()),
    }
}
