//! One attempt at a command: its transaction, from the idempotency key to the stored response.

use super::commitment::Commitment;
use super::{Call, CommandResponse, EndpointError, EndpointRef, IdempotencyKey, Outcome};
use crate::author::AuditedChange;
use crate::{entropy, fault};
use domain::endpoint::event::{Actor, Event, EventType};
use domain::endpoint::state::{Next, Step, Trigger};
use domain::endpoint::{IfMatch, State, state};
use domain::{Endpoint, EndpointId, EventId, Timestamp};
use std::time::Duration;
use store::idempotency::{self, Claim};
use store::{StoreError, Tx, endpoint_events, endpoints};

/// Retries of a command whose transaction was aborted by a concurrent one.
const CONTENTIONS: u32 = 3;
/// Retries of a command that read a stale record.
const RE_READS: u32 = 8;

/// The retries that are left to a command.
pub(super) struct Retries {
    contentions: u32,
    re_reads: u32,
}

impl Retries {
    /// For commands that accept any generation of the record.
    pub(super) const fn new() -> Self {
        Self { contentions: CONTENTIONS, re_reads: RE_READS }
    }

    /// For commands that require the generation they read.
    pub(super) const fn without_re_reads() -> Self {
        Self { re_reads: 0, ..Self::new() }
    }

    /// Whether to retry after this error. Waits for a short backoff before it returns true.
    pub(super) async fn again(&mut self, error: &EndpointError) -> bool {
        let left = match error {
            EndpointError::Modified { .. } => &mut self.re_reads,
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

/// Either the stored response of an earlier request, or a new attempt.
pub(super) enum Start<'a> {
    Replayed(Box<CommandResponse>),
    New(Attempt<'a>),
}

impl<'a> Attempt<'a> {
    pub(super) async fn start(mut tx: Tx, call: Call<'a>) -> Result<Start<'a>, EndpointError> {
        let Some(request) = request(&call) else { return Ok(Start::New(Self { tx, call })) };
        match idempotency::claim(&mut tx, request, call.now).await? {
            Claim::New => Ok(Start::New(Self { tx, call })),
            Claim::Reused => Err(EndpointError::IdempotencyKeyReused),
            Claim::Completed { outcome, response } => {
                let replayed = CommandResponse::replayed(&outcome, response);
                Ok(Start::Replayed(Box::new(replayed.ok_or(EndpointError::IdempotencyInProgress)?)))
            }
        }
    }

    /// Finds the endpoint in the call's workspace.
    pub(super) async fn find(&mut self, endpoint_ref: &EndpointRef) -> Result<Endpoint, EndpointError> {
        let organization = self.call.scope.organization;
        let found = match endpoint_ref {
            EndpointRef::Name(name) => endpoints::read_named(&mut self.tx, organization, name).await?,
            EndpointRef::Id(id) => endpoints::read(&mut self.tx, id).await?,
        };
        super::query::in_scope(found, self.call.scope, endpoint_ref)
    }

    /// Writes the result of a step: the row, its event, its commitment and its audit entry.
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
        let change = AuditedChange::new(kind.as_str(), Some(scope.organization), endpoint.id.as_str()).detail(detail);
        author.record(&mut self.tx, change, now).await
    }

    /// Stores the response for a repeated request, and commits.
    pub(super) async fn finish(
        mut self,
        outcome: Outcome,
        endpoint: Endpoint,
    ) -> Result<CommandResponse, EndpointError> {
        let response = CommandResponse::new(outcome, endpoint, self.call.encode);
        if let Some(request) = request(&self.call) {
            idempotency::complete(&mut self.tx, request, outcome.as_str(), &response.body).await?;
        }
        fault::point("command-before-commit");
        self.tx.commit_or_unknown().await?;
        fault::point("command-after-commit");
        Ok(response)
    }
}

fn request<'a>(call: &Call<'a>) -> Option<idempotency::Request<'a>> {
    let IdempotencyKey { key, fingerprint } = call.idempotency?;
    Some(idempotency::Request { workspace: call.scope.workspace, key, fingerprint })
}

/// A new event without details. Events of one process sort in the order of their creation.
pub fn new_event(endpoint: &EndpointId, kind: EventType, actor: Actor, now: Timestamp) -> Event {
    Event::new(EventId::new(now, entropy::in_order()), endpoint.clone(), kind, actor, now)
}

/// An event caused by the call's author.
pub(super) fn event_of(endpoint: &Endpoint, kind: EventType, call: &Call<'_>) -> Event {
    Event {
        to: Some(endpoint.state),
        reason: endpoint.reason.as_str().to_owned(),
        message: endpoint.message.clone(),
        ..new_event(&endpoint.id, kind, call.author.actor(), call.now)
    }
}

pub(super) fn check_match(endpoint: &Endpoint, if_match: Option<&IfMatch>) -> Result<(), EndpointError> {
    if if_match.is_none_or(|if_match| if_match.accepts(endpoint.generation)) {
        return Ok(());
    }
    Err(EndpointError::Modified { current: endpoint.generation })
}

/// Applies a user's trigger to the state machine.
pub(super) fn step(endpoint: &Endpoint, trigger: Trigger) -> Result<Step, EndpointError> {
    // Users' triggers apply to every state except `Deleting`.
    state::step(&endpoint.standing(), trigger).map_err(|_| EndpointError::Deleting)
}

/// The record after a step that does not delete it.
pub(crate) fn stepped(before: &Endpoint, step: &Step, now: Timestamp) -> Endpoint {
    let state = match step.to {
        Next::State(state) => state,
        Next::Gone => State::Deleting,
    };
    let is_unchanged = (before.state, before.reason) == (state, step.reason);
    let mut after = before.clone();
    after.scaling = step.scaling;
    after.status.desired = step.desired;
    after.committed_gpus = step.committed;
    after.updated_at = now;
    after.state = state;
    after.reason = step.reason;
    if !is_unchanged {
        after.message = step.reason.message().to_owned();
    }
    if before.state != state {
        after.state_since = now;
    }
    if !is_unchanged && step.reason.is_requested_start() {
        after.started_at = now;
    }
    after
}
