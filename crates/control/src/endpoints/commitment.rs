//! Checks a change of commitment against the ledger, and records it.

use super::event::event_of;
use super::{AllotmentExceeded, EndpointCommand, EndpointError, EndpointRules};
use domain::allotment::{AllotmentError, Change, Ledger};
use domain::endpoint::event::{Event, EventType};
use domain::gpu_time::GpuMillis;
use domain::{Endpoint, Month, Timestamp};
use serde_json::json;
use store::{Store, StoreError, Tx, allotments, endpoint_events, spend};

/// The change of an endpoint's commitment by a command.
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

    pub(super) const fn adds_gpus(&self) -> bool {
        self.change.added > self.change.released
    }

    /// Checks the change against the monthly budgets and the ledger, which it locks, if it adds GPUs.
    pub(super) async fn check(
        &self,
        tx: &mut Tx,
        rules: EndpointRules<'_>,
        doing: &'static str,
        now: Timestamp,
    ) -> Result<(), EndpointError> {
        if !self.adds_gpus() {
            return Ok(());
        }
        let budget = spend::tightest_in(tx, &self.endpoint.workspace, Month::of(now)).await?;
        if let Some(budget) = budget.filter(|budget| budget.is_spent_for(self.cost_of_a_minute())) {
            return Err(EndpointError::BudgetExceeded { doing, name: self.endpoint.name.clone(), budget });
        }
        let (organization, gpu_type) = (&self.endpoint.organization, self.endpoint.gpu_type());
        let ledger: Ledger = allotments::lock(tx, organization, gpu_type, rules.defaults).await?;
        let exceeding = |numbers: AllotmentError| {
            let (name, gpu_type) = (self.endpoint.name.clone(), gpu_type.clone());
            EndpointError::AllotmentExceeded(AllotmentExceeded { doing, name, gpu_type, numbers })
        };
        ledger.project(self.change).map(drop).map_err(exceeding)
    }

    /// In nano-dollars, at least one: with less left, a budget is spent.
    fn cost_of_a_minute(&self) -> u64 {
        let minute = GpuMillis::new(60_000 * i64::from(self.endpoint.committed_gpus));
        minute.cost(self.endpoint.shape.flavor.price_per_gpu_hour).nanos().unsigned_abs().max(1)
    }

    /// Appends to the history of the ledger, unless nothing changes.
    pub(super) async fn record(
        &self,
        tx: &mut Tx,
        command: &EndpointCommand<'_>,
        action: &str,
    ) -> Result<(), StoreError> {
        if self.change.added == self.change.released {
            return Ok(());
        }
        let entry = allotments::LedgerEntry {
            organization: &self.endpoint.organization,
            gpu_type: self.endpoint.gpu_type(),
            endpoint: &self.endpoint.id,
            actor: &command.base.author.to_string(),
            action,
            change: self.change,
            at: command.base.now,
        };
        allotments::append(tx, entry).await
    }
}

/// Records an event that a change was rejected. The rejection stands even if this fails.
pub(super) async fn record_rejection(command: &EndpointCommand<'_>, endpoint: &Endpoint, why: &AllotmentExceeded) {
    let AllotmentError { allotment, committed, projected, need } = why.numbers;
    let event = Event {
        from: Some(endpoint.state),
        message: EndpointError::AllotmentExceeded(why.clone()).to_string(),
        reason: String::new(),
        data: json!({
            "gpuType": why.gpu_type, "allotment": allotment, "committed": committed, "projected": projected, "need": need,
        })
        .to_string(),
        ..event_of(endpoint, EventType::AllotmentRejected, command)
    };
    if let Err(error) = append(command.base.store, &event).await {
        tracing::warn!(endpoint.name = %endpoint.name, %error, "the event of a rejected change was not stored");
    }
}

async fn append(store: &Store, event: &Event) -> Result<(), StoreError> {
    let mut tx = store.begin().await?;
    endpoint_events::append(&mut tx, event).await?;
    tx.commit().await
}
