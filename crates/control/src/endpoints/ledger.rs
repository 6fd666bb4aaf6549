//! Asking the ledger, and writing down what it allowed.

use super::attempt::event_of;
use super::{Call, CommandContext, Exceeding, Refusal};
use domain::Endpoint;
use domain::allotment::{Change, Exceeded, Ledger};
use domain::endpoint::event::{Event, EventType};
use serde_json::json;
use store::{Store, StoreError, Tx, allotments, endpoint_events};

/// What an endpoint commits before and after a change.
pub(super) struct Commitment<'a> {
    endpoint: &'a Endpoint,
    change: Change,
}

impl<'a> Commitment<'a> {
    pub(super) fn between(before: &Endpoint, after: &'a Endpoint) -> Self {
        let change = Change { released: before.committed_gpus.into(), added: after.committed_gpus.into() };
        Self { endpoint: after, change }
    }

    pub(super) fn of_new(endpoint: &'a Endpoint) -> Self {
        Self { endpoint, change: Change { released: 0, added: endpoint.committed_gpus.into() } }
    }

    /// Locks the ledger and checks against it, if GPUs are added at all.
    pub(super) async fn check(
        &self,
        tx: &mut Tx,
        office: CommandContext<'_>,
        doing: &'static str,
    ) -> Result<(), Refusal> {
        if self.change.added <= self.change.released {
            return Ok(());
        }
        let (organization, gpu_type) = (&self.endpoint.organization, self.endpoint.gpu_type());
        let ledger: Ledger = allotments::lock(tx, organization, gpu_type, office.defaults).await?;
        let exceeding = |numbers: Exceeded| {
            let (name, gpu_type) = (self.endpoint.name.clone(), gpu_type.clone());
            Refusal::AllotmentExceeded(Exceeding { doing, name, gpu_type, numbers })
        };
        ledger.project(self.change).map(drop).map_err(exceeding)
    }

    /// For the history of the ledger; a change that moves nothing leaves no trace there.
    pub(super) async fn record(&self, tx: &mut Tx, call: &Call<'_>, action: &str) -> Result<(), StoreError> {
        if self.change.added == self.change.released {
            return Ok(());
        }
        let entry = allotments::Entry {
            organization: &self.endpoint.organization,
            gpu_type: self.endpoint.gpu_type(),
            endpoint: &self.endpoint.id,
            actor: &call.author.to_string(),
            action,
            change: self.change,
            at: call.now,
        };
        allotments::append(tx, entry).await
    }
}

/// Leaves an event that an endpoint did not get what was asked for it. The refusal stands whether this succeeds or not.
pub(super) async fn tell_of_rejection(store: &Store, call: &Call<'_>, endpoint: &Endpoint, why: &Exceeding) {
    let Exceeded { allotment, committed, projected, need } = why.numbers;
    let event = Event {
        from: Some(endpoint.state),
        message: Refusal::AllotmentExceeded(why.clone()).to_string(),
        reason: String::new(),
        data: json!({
            "gpuType": why.gpu_type, "allotment": allotment, "committed": committed, "projected": projected, "need": need,
        }),
        ..event_of(endpoint, EventType::AllotmentRejected, call)
    };
    if let Err(error) = append(store, &event).await {
        tracing::warn!(endpoint.name = %endpoint.name, %error, "the event of a refused change was not written");
    }
}

async fn append(store: &Store, event: &Event) -> Result<(), StoreError> {
    let mut tx = store.begin().await?;
    endpoint_events::append(&mut tx, event).await?;
    tx.commit().await
}
