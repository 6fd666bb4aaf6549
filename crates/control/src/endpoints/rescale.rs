//! The command `rescale`, and what it shares with `resume`.

use super::attempt::{Attempt, Retries, Start, check_match, step, stepped};
use super::commitment::{Commitment, record_rejection};
use super::create::check_metric;
use super::{CommandResponse, EndpointCommand, EndpointError, EndpointRef, Outcome};
use domain::Endpoint;
use domain::endpoint::event::EventType;
use domain::endpoint::labels::patched;
use domain::endpoint::request::Change;
use domain::endpoint::scaling::Scaling;
use domain::endpoint::state::Trigger;
use domain::endpoint::{IfMatch, State};
use store::StoreError;

/// Changes the scaling policy and the labels of an endpoint.
pub async fn rescale(
    command: EndpointCommand<'_>,
    endpoint_ref: &EndpointRef,
    change: &Change,
    if_match: Option<&IfMatch>,
) -> Result<CommandResponse, EndpointError> {
    let update = Update { change, if_match, kind: EventType::Updated, doing: "Scaling", trigger: Trigger::Rescaled };
    apply(command, endpoint_ref, update).await
}

/// A change of an existing endpoint.
#[derive(Clone, Copy)]
pub(super) struct Update<'a> {
    pub(super) change: &'a Change,
    pub(super) if_match: Option<&'a IfMatch>,
    pub(super) kind: EventType,
    pub(super) doing: &'static str,
    pub(super) trigger: fn(Scaling) -> Trigger,
}

/// Applies a change to the endpoint, and checks the ledger if that adds GPUs.
pub(super) async fn apply(
    command: EndpointCommand<'_>,
    endpoint_ref: &EndpointRef,
    update: Update<'_>,
) -> Result<CommandResponse, EndpointError> {
    let mut retries = if update.if_match.is_none() { Retries::new() } else { Retries::without_re_reads() };
    // A change that adds no GPUs needs no ledger: without the store, its error is that of the store.
    let mut needs_ledger = update.kind != EventType::Updated || !update.change.scaling.is_empty();
    loop {
        match once(command, endpoint_ref, update, &mut needs_ledger).await {
            // A concurrent change came first; the command may succeed on the new record.
            Err(error) if retries.again(&error).await => {}
            Err(error) if needs_ledger => return Err(error.while_checking_allotment()),
            outcome => return outcome,
        }
    }
}

async fn once(
    command: EndpointCommand<'_>,
    endpoint_ref: &EndpointRef,
    update: Update<'_>,
    needs_ledger: &mut bool,
) -> Result<CommandResponse, EndpointError> {
    let tx = command.base.store.begin_ledger().await?;
    let mut attempt = match Attempt::start(tx, &command).await? {
        Start::Replayed(response) => return Ok(*response),
        Start::New(attempt) => attempt,
    };
    let before = attempt.find(endpoint_ref).await?;
    if before.state == State::Deleting {
        return Err(EndpointError::Deleting);
    }
    check_match(&before, update.if_match)?;
    let default_target = before.shape.effective(&before.model, command.rules.catalogue).flavor.default_target;
    let scaling = before.scaling.patched(&update.change.scaling, default_target).map_err(EndpointError::Conflicting)?;
    check_metric(&before.shape, &scaling)?;
    let keeps_scaling = update.kind == EventType::Updated && update.change.scaling.is_empty();
    let trigger = if keeps_scaling { Trigger::Found } else { (update.trigger)(scaling) };
    let step = step(&before, trigger)?;
    let mut after = stepped(&before, &step, command.base.now);
    after.labels = patched(&before.labels, &update.change.labels).map_err(EndpointError::Conflicting)?;
    if is_same(&before, &after) {
        return attempt.finish(Outcome::Done, before).await;
    }
    let commitment = Commitment::between(&before, &after);
    *needs_ledger = commitment.adds_gpus();
    match commitment.check(&mut attempt.tx, command.rules, update.doing, command.base.now).await {
        Ok(()) => {}
        Err(EndpointError::AllotmentExceeded(exceeded)) => {
            drop(attempt);
            record_rejection(&command, &before, &exceeded).await;
            return Err(EndpointError::AllotmentExceeded(exceeded));
        }
        Err(other) => return Err(other),
    }
    match attempt.write(&before, after, &step, update.kind).await {
        Ok(written) => attempt.finish(Outcome::Done, written).await,
        Err(StoreError::EndpointStale) => Err(EndpointError::Modified { current: before.generation }),
        Err(other) => Err(other.into()),
    }
}

/// Whether nothing changes, the update time aside.
fn is_same(before: &Endpoint, after: &Endpoint) -> bool {
    Endpoint { updated_at: before.updated_at, ..after.clone() } == *before
}
