//! Rejected calls: counted for the dashboards, and written to the request log up to a bound.
//!
//! They are not usage, so they are not in the journal: they are collected in memory and written every second. If the
//! process dies, those of its last second are lost.

use crate::access_log::{micros, status_of};
use dataplane::record::{CallRecord, Outcome};
use domain::usage::{CallOrigin, CallSurface};
use domain::{Caller, ModelId, Timestamp};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;
use store::requests::{RejectedCall, insert_rejected};
use store::series::{self, Rejections as RejectionCount};
use store::{Store, StoreError};

pub const FLUSH_PERIOD: Duration = Duration::from_secs(1);
/// Most reasons that are counted separately between two flushes; further ones are only in `/metrics`.
const MAX_REASONS: usize = 10_000;
/// Most calls that are logged between two flushes; the others are only counted.
const MAX_LOGGED: usize = 200;
const MINUTE_MILLIS: i64 = 60_000;
/// Routes that call models.
const ROUTES: [&str; 4] = ["chat", "embeddings", "messages", "responses"];

#[derive(Default)]
pub struct Rejections {
    pending: Mutex<Pending>,
}

/// Rejections that are not written yet.
#[derive(Default)]
struct Pending {
    counts: HashMap<Reason, u64>,
    calls: Vec<RejectedCall>,
    /// Rejections that were not counted.
    lost: u64,
}

/// Caller, model, surface, minute and code of rejected calls.
struct Reason {
    caller: Arc<Caller>,
    model: Option<ModelId>,
    surface: Option<CallSurface>,
    minute: i64,
    code: &'static str,
}

impl PartialEq for Reason {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
            && self.minute == other.minute
            && self.surface == other.surface
            && self.caller.workspace == other.caller.workspace
            && self.caller.actor == other.caller.actor
            && self.model == other.model
    }
}

impl Eq for Reason {}

impl Hash for Reason {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.minute, self.code, self.surface, &self.caller.workspace, &self.caller.actor, &self.model).hash(state);
    }
}

impl Rejections {
    /// Records a call whose caller is known and that did not reach a replica.
    pub fn record(&self, record: &CallRecord) {
        let Some(caller) = &record.caller else { return };
        if record.replica.is_some() || record.outcome == Outcome::Served || !ROUTES.contains(&record.route) {
            return;
        }
        let (status, code) = status_of(record.outcome);
        let surface = CallSurface::parse(record.route);
        let model = record.model.as_ref().map(|route| route.model.id.clone());
        let minute = record.started_at.millis() - record.started_at.millis().rem_euclid(MINUTE_MILLIS);
        let mut pending = self.pending.lock();
        if pending.calls.len() < MAX_LOGGED {
            pending.calls.push(RejectedCall {
                request: record.request.clone(),
                workspace: caller.workspace.clone(),
                actor: caller.actor.clone(),
                model: model.clone(),
                status,
                code: code.to_owned(),
                started_at: record.started_at,
                duration_micros: micros(record.duration),
                held_micros: record.held.map(micros),
                origin: origin_of(record),
                end_user: record.end_user.as_ref().map(|one| one.id.clone()),
            });
        }
        pending.count(Reason { caller: Arc::clone(caller), model, surface, minute, code }, 1);
    }

    /// Writes all pending rejections; if the store fails, they stay pending.
    pub async fn flush(&self, store: &Store) -> Result<(), StoreError> {
        let mut taken = std::mem::take(&mut *self.pending.lock());
        if std::mem::take(&mut taken.lost) > 0 {
            tracing::warn!("too many different rejections wait for the store: some are missing in the dashboards");
        }
        if taken.counts.is_empty() {
            return Ok(());
        }
        let outcome = write(store, &taken).await;
        if outcome.is_err() {
            let mut pending = self.pending.lock();
            taken.counts.into_iter().for_each(|(reason, calls)| pending.count(reason, calls));
            taken.calls.append(&mut pending.calls);
            taken.calls.truncate(MAX_LOGGED);
            pending.calls = taken.calls;
        }
        outcome
    }
}

impl Pending {
    fn count(&mut self, reason: Reason, calls: u64) {
        if self.counts.len() < MAX_REASONS || self.counts.contains_key(&reason) {
            *self.counts.entry(reason).or_default() += calls;
        } else {
            self.lost += calls;
        }
    }
}

/// Routes that call models have the names of their surfaces.
pub(crate) fn origin_of(record: &CallRecord) -> CallOrigin {
    CallOrigin {
        surface: CallSurface::parse(record.route),
        requested_model: record.requested_model.clone(),
        batch: None,
        class: record.class,
    }
}

async fn write(store: &Store, pending: &Pending) -> Result<(), StoreError> {
    let counts: Vec<RejectionCount> = pending
        .counts
        .iter()
        .map(|(reason, calls)| RejectionCount {
            workspace: reason.caller.workspace.clone(),
            actor: reason.caller.actor.clone(),
            model: reason.model.clone(),
            at: Timestamp::from_millis(reason.minute),
            surface: reason.surface,
            code: reason.code.to_owned(),
            calls: *calls,
        })
        .collect();
    let mut tx = store.begin().await?;
    series::add_rejections(&mut tx, &counts).await?;
    insert_rejected(&mut tx, &pending.calls).await?;
    tx.commit().await
}
