//! One attempt at a command: its transaction, from the idempotency key to the answer that is kept with it.

use super::ledger::Commitment;
use super::{Answer, Call, Choice, IdempotencyKey, Outcome, Refusal};
use crate::{entropy, fault};
use domain::endpoint::event::{Actor, Event, EventType};
use domain::endpoint::state::{Next, Step, Trigger};
use domain::endpoint::{IfMatch, State, state};
use domain::{Endpoint, EndpointId, EventId, Timestamp};
use std::time::Duration;
use store::idempotency::{self, Claim};
use store::{StoreError, Tx, endpoint_events, endpoints};

/// How often a command whose transaction was broken off by another one begins anew.
const CONTENTIONS: u32 = 3;
/// How often a command that read an old record reads it again: others are busy with it, but not for ever.
const RE_READS: u32 = 8;

/// How often a command may still begin anew.
pub(super) struct Retries {
    contentions: u32,
    re_reads: u32,
}

impl Retries {
    /// For commands that take the record as it is.
    pub(super) const fn new() -> Self {
        Self { contentions: CONTENTIONS, re_reads: RE_READS }
    }

    /// For commands that name the generation they read.
    pub(super) const fn without_re_reads() -> Self {
        Self { re_reads: 0, ..Self::new() }
    }

    /// Whether to begin anew after this refusal; waits a little before it says yes.
    pub(super) async fn again(&mut self, refusal: &Refusal) -> bool {
        let left = match refusal {
            Refusal::Modified { .. } => &mut self.re_reads,
            other if other.is_contention() => &mut self.contentions,
            _ => return false,
        };
        if *left == 0 {
            return false;
        }
        *left -= 1;
        let jitter = u64::try_from(entropy::for_id() % 40).unwrap_or(0);
        tokio::time::sleep(Duration::from_millis(5 + jitter)).await;
        true
    }
}

/// A transaction on behalf of one call.
pub(super) struct Attempt<'a> {
    pub(super) tx: Tx,
    pub(super) call: Call<'a>,
}

/// Either an old answer, or a transaction to make a new one in.
pub(super) enum Start<'a> {
    Answered(Box<Answer>),
    Fresh(Attempt<'a>),
}

impl<'a> Attempt<'a> {
    pub(super) async fn start(mut tx: Tx, call: Call<'a>) -> Result<Start<'a>, Refusal> {
        let Some(request) = request(&call) else { return Ok(Start::Fresh(Self { tx, call })) };
        match idempotency::claim(&mut tx, request, call.now).await? {
            Claim::New => Ok(Start::Fresh(Self { tx, call })),
            Claim::Reused => Err(Refusal::IdempotencyKeyReused),
            Claim::Answered { outcome, response } => {
                let answer = Answer::replayed(&outcome, response).ok_or(Refusal::IdempotencyInProgress)?;
                Ok(Start::Answered(Box::new(answer)))
            }
        }
    }

    /// The endpoint of the call's workspace.
    pub(super) async fn find(&mut self, choice: &Choice) -> Result<Endpoint, Refusal> {
        let organization = self.call.scope.organization;
        let found = match choice {
            Choice::Name(name) => endpoints::read_named(&mut self.tx, organization, name).await?,
            Choice::Id(id) => endpoints::read(&mut self.tx, id).await?,
        };
        super::show::in_scope(found, self.call.scope, choice)
    }

    /// Writes what follows from a step: the row, its event, what it commits and who did it.
    pub(super) async fn write(
        &mut self,
        before: &Endpoint,
        after: Endpoint,
        step: &Step,
        kind: EventType,
    ) -> Result<Endpoint, StoreError> {
        let written = endpoints::update(&mut self.tx, after, before.generation, step.drain_secs).await?;
        let event = Event { from: Some(before.state), ..event_of(&written, kind, &self.call) };
        endpoint_events::append(&mut self.tx, &event).await?;
        Commitment::between(before, &written).record(&mut self.tx, &self.call, kind.as_str()).await?;
        self.audit(&written, kind).await?;
        Ok(written)
    }

    pub(super) async fn audit(&mut self, endpoint: &Endpoint, kind: EventType) -> Result<(), StoreError> {
        let Call { author, scope, now, .. } = self.call;
        let detail = format!("{}, {}, {} GPUs committed", endpoint.name, endpoint.state, endpoint.committed_gpus);
        author.did(&mut self.tx, kind.as_str(), Some(scope.organization), endpoint.id.as_str(), detail, now).await
    }

    /// Keeps the answer for who asks again, and commits.
    pub(super) async fn finish(mut self, outcome: Outcome, endpoint: Endpoint) -> Result<Answer, Refusal> {
        let answer = Answer::new(outcome, endpoint)?;
        if let Some(request) = request(&self.call) {
            idempotency::answer(&mut self.tx, request, outcome.as_str(), &answer.body).await?;
        }
        fault::place("command-before-commit");
        self.tx.commit_or_unsure().await?;
        fault::place("command-after-commit");
        Ok(answer)
    }
}

fn request<'a>(call: &Call<'a>) -> Option<idempotency::Request<'a>> {
    let IdempotencyKey { key, fingerprint } = call.idempotency?;
    Some(idempotency::Request { workspace: call.scope.workspace, key, fingerprint })
}

/// An event to be filled in. Those of one process sort in the order they were made.
pub fn new_event(endpoint: &EndpointId, kind: EventType, actor: Actor, now: Timestamp) -> Event {
    Event::new(EventId::new(now, entropy::in_order()), endpoint.clone(), kind, actor, now)
}

/// An event of something that the call's author did.
pub(super) fn event_of(endpoint: &Endpoint, kind: EventType, call: &Call<'_>) -> Event {
    Event {
        to: Some(endpoint.state),
        reason: endpoint.reason.as_str().to_owned(),
        message: endpoint.message.clone(),
        ..new_event(&endpoint.id, kind, call.author.actor(), call.now)
    }
}

pub(super) fn check_match(endpoint: &Endpoint, if_match: Option<&IfMatch>) -> Result<(), Refusal> {
    if if_match.is_none_or(|wanted| wanted.accepts(endpoint.generation)) {
        return Ok(());
    }
    Err(Refusal::Modified { current: endpoint.generation })
}

/// What the table of states says to something that a person asked for.
pub(super) fn step(endpoint: &Endpoint, trigger: Trigger) -> Result<Step, Refusal> {
    // What people ask for is in place everywhere but on the way out.
    state::step(&endpoint.standing(), trigger).map_err(|_| Refusal::Deleting)
}

/// The record after a step that does not end it.
pub(super) fn stepped(before: &Endpoint, step: &Step, now: Timestamp) -> Endpoint {
    let state = match step.to {
        Next::State(state) => state,
        Next::Gone => State::Deleting,
    };
    let same_standing = (before.state, before.reason) == (state, step.reason);
    let mut after = before.clone();
    after.scaling = step.scaling;
    after.status.desired = step.desired;
    after.committed_gpus = step.committed;
    after.updated_at = now;
    after.state = state;
    after.reason = step.reason;
    if !same_standing {
        after.message = step.reason.message().to_owned();
    }
    if before.state != state {
        after.state_since = now;
    }
    if !same_standing && step.reason.is_a_start() {
        after.started_at = now;
    }
    after
}
