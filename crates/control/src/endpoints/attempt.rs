//! One attempt at a command: its transaction, from the idempotency key to the stored response.

use super::commitment::Commitment;
use super::event::event_of;
use super::{CommandResponse, EndpointCommand, EndpointError, EndpointRef, IdempotencyKey, Outcome};
use crate::command::AuditedChange;
use crate::{entropy, fault};
use domain::endpoint::event::{Event, EventType};
use domain::endpoint::state::{Next, Step, Trigger};
use domain::endpoint::{IfMatch, State, state};
use domain::{Endpoint, Timestamp};
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

/// The transaction of a command.
pub(super) struct Attempt<'a> {
    pub(super) tx: Tx,
    pub(super) command: &'a EndpointCommand<'a>,
}

/// Either the stored response of an earlier request, or a new attempt.
pub(super) enum Start<'a> {
    Replayed(Box<CommandResponse>),
    New(Attempt<'a>),
}

impl<'a> Attempt<'a> {
    pub(super) async fn start(mut tx: Tx, command: &'a EndpointCommand<'a>) -> Result<Start<'a>, EndpointError> {
        let Some(request) = request(command) else { return Ok(Start::New(Self { tx, command })) };
        match idempotency::claim(&mut tx, request, command.base.now).await? {
            Claim::New => Ok(Start::New(Self { tx, command })),
            Claim::Reused => Err(EndpointError::IdempotencyKeyReused),
            Claim::Completed { outcome, response } => {
                let replayed = CommandResponse::replayed(&outcome, response);
                Ok(Start::Replayed(Box::new(replayed.ok_or(EndpointError::IdempotencyInProgress)?)))
            }
        }
    }

    /// Finds the endpoint in the command's workspace.
    pub(super) async fn find(&mut self, endpoint_ref: &EndpointRef) -> Result<Endpoint, EndpointError> {
        let organization = self.command.scope.organization;
        let found = match endpoint_ref {
            EndpointRef::Name(name) => endpoints::read_named(&mut self.tx, organization, name).await?,
            EndpointRef::Id(id) => endpoints::read(&mut self.tx, id).await?,
        };
        super::query::in_scope(found, self.command.scope, endpoint_ref)
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
        let event = Event { from: Some(before.state), ..event_of(&written, kind, self.command) };
        endpoint_events::append(&mut self.tx, &event).await?;
        Commitment::between(before, &written).record(&mut self.tx, self.command, kind.as_str()).await?;
        self.audit(&written, kind).await?;
        Ok(written)
    }

    pub(super) async fn audit(&mut self, endpoint: &Endpoint, kind: EventType) -> Result<(), StoreError> {
        let detail = format!("{}, {}, {} GPUs committed", endpoint.name, endpoint.state, endpoint.committed_gpus);
        let change = AuditedChange::new(kind.as_str(), Some(self.command.scope.organization), endpoint.id.as_str())
            .detail(detail);
        self.command.base.record(&mut self.tx, change).await
    }

    /// Stores the response for a repeated request, and commits.
    pub(super) async fn finish(
        mut self,
        outcome: Outcome,
        endpoint: Endpoint,
    ) -> Result<CommandResponse, EndpointError> {
        let response = CommandResponse::new(outcome, endpoint, self.command.encode);
        if let Some(request) = request(self.command) {
            idempotency::complete(&mut self.tx, request, outcome.as_str(), &response.body).await?;
        }
        fault::point("command-before-commit");
        self.tx.commit_or_unknown().await?;
        fault::point("command-after-commit");
        Ok(response)
    }
}

fn request<'a>(command: &EndpointCommand<'a>) -> Option<idempotency::Request<'a>> {
    let IdempotencyKey { key, fingerprint } = command.idempotency?;
    Some(idempotency::Request { workspace: command.scope.workspace, key, fingerprint })
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
    state::step(&endpoint.state_input(), trigger).map_err(|_| EndpointError::Deleting)
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
