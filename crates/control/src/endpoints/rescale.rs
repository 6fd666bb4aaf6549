use super::attempt::{Attempt, Retries, Start, check_match, step, stepped};
use super::create::check_metric;
use super::ledger::{Commitment, tell_of_rejection};
use super::{Answer, Call, Choice, CommandContext, Outcome, Refusal};
use domain::Endpoint;
use domain::endpoint::event::EventType;
use domain::endpoint::labels::patched;
use domain::endpoint::request::Change;
use domain::endpoint::scaling::Scaling;
use domain::endpoint::state::Trigger;
use domain::endpoint::{IfMatch, State};
use store::StoreError;

/// Changes how an endpoint scales, and its labels.
pub async fn rescale(
    office: CommandContext<'_>,
    call: Call<'_>,
    choice: &Choice,
    change: &Change,
    if_match: Option<&IfMatch>,
) -> Result<Answer, Refusal> {
    let wanted = Wanted { change, if_match, kind: EventType::Updated, doing: "Scaling", trigger: Trigger::Rescaled };
    apply(office, call, choice, wanted).await
}

/// What is asked of an endpoint that exists.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) change: &'a Change,
    pub(super) if_match: Option<&'a IfMatch>,
    pub(super) kind: EventType,
    pub(super) doing: &'static str,
    pub(super) trigger: fn(Scaling) -> Trigger,
}

/// Lets the endpoint step with its changed scaling, and asks the ledger if that adds GPUs.
pub(super) async fn apply(
    office: CommandContext<'_>,
    call: Call<'_>,
    choice: &Choice,
    wanted: Wanted<'_>,
) -> Result<Answer, Refusal> {
    let mut retries = if wanted.if_match.is_none() { Retries::new() } else { Retries::without_re_reads() };
    loop {
        match once(office, call, choice, wanted).await {
            // Someone was faster; with the record as it is now there may be no reason to refuse.
            Err(refusal) if retries.again(&refusal).await => {}
            outcome => return outcome.map_err(Refusal::while_checking_the_allotment),
        }
    }
}

async fn once(
    office: CommandContext<'_>,
    call: Call<'_>,
    choice: &Choice,
    wanted: Wanted<'_>,
) -> Result<Answer, Refusal> {
    let tx = office.store.begin_ledger().await?;
    let mut attempt = match Attempt::start(tx, call).await? {
        Start::Answered(answer) => return Ok(*answer),
        Start::Fresh(attempt) => attempt,
    };
    let before = attempt.find(choice).await?;
    if before.state == State::Deleting {
        return Err(Refusal::Deleting);
    }
    check_match(&before, wanted.if_match)?;
    let default_target = before.shape.in_force(&before.model, office.catalogue).flavor.default_target;
    let scaling = before.scaling.patched(&wanted.change.scaling, default_target).map_err(Refusal::Unfit)?;
    check_metric(&before.shape, &scaling)?;
    let says_nothing_of_scaling = wanted.kind == EventType::Updated && wanted.change.scaling.is_empty();
    let trigger = if says_nothing_of_scaling { Trigger::Found } else { (wanted.trigger)(scaling) };
    let step = step(&before, trigger)?;
    let mut after = stepped(&before, &step, call.now);
    after.labels = patched(&before.labels, &wanted.change.labels).map_err(Refusal::Unfit)?;
    if is_same(&before, &after) {
        return attempt.finish(Outcome::Done, before).await;
    }
    match Commitment::between(&before, &after).check(&mut attempt.tx, office, wanted.doing).await {
        Ok(()) => {}
        Err(Refusal::AllotmentExceeded(why)) => {
            drop(attempt);
            tell_of_rejection(office.store, &call, &before, &why).await;
            return Err(Refusal::AllotmentExceeded(why));
        }
        Err(other) => return Err(other),
    }
    match attempt.write(&before, after, &step, wanted.kind).await {
        Ok(written) => attempt.finish(Outcome::Done, written).await,
        Err(StoreError::EndpointStale) => Err(Refusal::Modified { current: before.generation }),
        Err(other) => Err(other.into()),
    }
}

/// Whether there is nothing to write.
fn is_same(before: &Endpoint, after: &Endpoint) -> bool {
    Endpoint { updated_at: before.updated_at, ..after.clone() } == *before
}
