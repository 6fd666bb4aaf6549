use super::attempt::{Attempt, Retries, Start, step, stepped};
use super::{Answer, Call, Choice, CommandContext, Outcome, Refusal};
use domain::endpoint::event::EventType;
use domain::endpoint::state::Trigger;
use store::StoreError;

/// Stops an endpoint; its commitment is free at once. Said twice, the second time changes nothing.
pub async fn suspend(office: CommandContext<'_>, call: Call<'_>, choice: &Choice) -> Result<Answer, Refusal> {
    let (trigger, kind) = (Trigger::Suspend, EventType::Suspended);
    release(office, call, choice, Release { trigger, kind, outcome: Outcome::Done }).await
}

/// A trigger that frees GPUs, the event it leaves, and how it is answered.
#[derive(Clone, Copy)]
pub(super) struct Release {
    pub(super) trigger: Trigger,
    pub(super) kind: EventType,
    pub(super) outcome: Outcome,
}

/// What frees GPUs never waits for the ledger: whoever adds up at the same time is only stricter for a moment.
pub(super) async fn release(
    office: CommandContext<'_>,
    call: Call<'_>,
    choice: &Choice,
    release: Release,
) -> Result<Answer, Refusal> {
    let mut retries = Retries::new();
    loop {
        match once(office, call, choice, release).await {
            Err(refusal) if retries.again(&refusal).await => {}
            outcome => return outcome,
        }
    }
}

async fn once(
    office: CommandContext<'_>,
    call: Call<'_>,
    choice: &Choice,
    release: Release,
) -> Result<Answer, Refusal> {
    let mut attempt = match Attempt::start(office.store.begin().await?, call).await? {
        Start::Answered(answer) => return Ok(*answer),
        Start::Fresh(attempt) => attempt,
    };
    let before = attempt.find(choice).await?;
    let step = step(&before, release.trigger)?;
    let after = stepped(&before, &step, call.now);
    if before.state == after.state {
        return attempt.finish(release.outcome, before).await;
    }
    match attempt.write(&before, after, &step, release.kind).await {
        Ok(written) => attempt.finish(release.outcome, written).await,
        Err(StoreError::EndpointStale) => Err(Refusal::Modified { current: before.generation }),
        Err(other) => Err(other.into()),
    }
}
