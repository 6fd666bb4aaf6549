use super::rescale::{Wanted, apply};
use super::{Answer, Call, Choice, CommandContext, Refusal};
use domain::endpoint::event::EventType;
use domain::endpoint::labels::LabelsPatch;
use domain::endpoint::request::Change;
use domain::endpoint::scaling::ScalingPatch;
use domain::endpoint::state::Trigger;

/// Starts a suspended or failed endpoint, perhaps smaller than it was. One that is active already is only rescaled.
pub async fn resume(
    office: CommandContext<'_>,
    call: Call<'_>,
    choice: &Choice,
    scaling: &ScalingPatch,
) -> Result<Answer, Refusal> {
    let change = Change { scaling: *scaling, labels: LabelsPatch::new() };
    let (kind, trigger) = (EventType::Resumed, Trigger::Resume as fn(_) -> _);
    apply(office, call, choice, Wanted { change: &change, if_match: None, kind, doing: "Resuming", trigger }).await
}
