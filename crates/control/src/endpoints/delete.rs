use super::suspend::{Release, release};
use super::{Answer, Call, Choice, CommandContext, Outcome, Refusal};
use domain::endpoint::event::EventType;
use domain::endpoint::state::Trigger;

/// Begins the end of an endpoint: its commitment is free at once, its name when the last replica has let go.
pub async fn delete(office: CommandContext<'_>, call: Call<'_>, choice: &Choice) -> Result<Answer, Refusal> {
    let (trigger, kind) = (Trigger::Delete, EventType::Deleting);
    release(office, call, choice, Release { trigger, kind, outcome: Outcome::Accepted }).await
}
