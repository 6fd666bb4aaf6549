//! Calls that no replica saw: counted for the dashboards, and remembered for the request log as far as that goes.
//!
//! They are no usage, so they are not in the journal: they gather in memory and are written every second. A process that
//! dies takes those of its last second with it.

use super::access_log::status_of;
use dataplane::usage_tap::{Outcome, Record};
use domain::{Caller, ModelId, RequestId, Timestamp};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::requests::{Refused, insert_refused};
use store::series::{self, Refusals as Counted};
use store::{Store, StoreError};

const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// Kinds of refusals that are counted apart until they are written; those beyond are only in `/metrics`.
const MAX_KINDS: usize = 10_000;
/// Calls that the log remembers of what gathers until it is written; the others are only counted.
const MAX_LOGGED: usize = 200;
const MINUTE_MILLIS: i64 = 60_000;
/// Routes on which models are called.
const ROUTES: [&str; 2] = ["chat", "embeddings"];

#[derive(Default)]
pub(crate) struct Refusals {
    gathered: Mutex<Gathered>,
}

#[derive(Default)]
struct Gathered {
    kinds: HashMap<Kind, u64>,
    logged: Vec<Logged>,
    /// Refusals that were not counted.
    lost: u64,
}

/// Calls of one minute that were refused alike.
struct Kind {
    caller: Arc<Caller>,
    model: Option<ModelId>,
    minute: i64,
    code: &'static str,
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
            && self.minute == other.minute
            && self.caller.workspace == other.caller.workspace
            && self.caller.actor == other.caller.actor
            && self.model == other.model
    }
}

impl Eq for Kind {}

impl Hash for Kind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.minute, self.code, &self.caller.workspace, &self.caller.actor, &self.model).hash(state);
    }
}

struct Logged {
    request: RequestId,
    caller: Arc<Caller>,
    model: Option<ModelId>,
    status: u16,
    code: &'static str,
    started_at: Timestamp,
    duration: Duration,
    held: Option<Duration>,
}

impl Refusals {
    /// Takes the record of a call whose caller is known and that no replica saw.
    pub(crate) fn note(&self, record: &Record) {
        let Some(caller) = &record.caller else { return };
        if record.replica.is_some() || record.outcome == Outcome::Served || !ROUTES.contains(&record.route) {
            return;
        }
        let (status, code) = status_of(record.outcome);
        let model = record.model.as_ref().map(|route| route.model.id.clone());
        let minute = record.started_at.millis() - record.started_at.millis().rem_euclid(MINUTE_MILLIS);
        let mut gathered = self.gathered();
        if gathered.logged.len() < MAX_LOGGED {
            gathered.logged.push(Logged {
                request: record.request.clone(),
                caller: Arc::clone(caller),
                model: model.clone(),
                status,
                code,
                started_at: record.started_at,
                duration: record.duration,
                held: record.held,
            });
        }
        gathered.count(Kind { caller: Arc::clone(caller), model, minute, code }, 1);
    }

    /// Writes what has gathered, for ever.
    pub(crate) async fn run(self: Arc<Self>, store: Store) {
        let mut ticks = tokio::time::interval(FLUSH_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.flush(&store).await;
        }
    }

    /// What the store does not take waits for the next time.
    pub(crate) async fn flush(&self, store: &Store) {
        let mut taken = std::mem::take(&mut *self.gathered());
        if std::mem::take(&mut taken.lost) > 0 {
            tracing::warn!("refused calls of too many kinds wait for the store: some are missing in the dashboards");
        }
        if taken.kinds.is_empty() {
            return;
        }
        if let Err(error) = write(store, &taken).await {
            tracing::debug!(%error, "refused calls wait for the store");
            let mut gathered = self.gathered();
            taken.kinds.into_iter().for_each(|(kind, calls)| gathered.count(kind, calls));
            taken.logged.append(&mut gathered.logged);
            taken.logged.truncate(MAX_LOGGED);
            gathered.logged = taken.logged;
        }
    }

    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gathered {
    fn count(&mut self, kind: Kind, calls: u64) {
        if self.kinds.len() < MAX_KINDS || self.kinds.contains_key(&kind) {
            *self.kinds.entry(kind).or_default() += calls;
        } else {
            self.lost += calls;
        }
    }
}

async fn write(store: &Store, gathered: &Gathered) -> Result<(), StoreError> {
    let name = |model: &Option<ModelId>| model.as_ref().map_or_else(String::new, ModelId::to_string);
    let counted: Vec<Counted> = gathered
        .kinds
        .iter()
        .map(|(kind, calls)| Counted {
            workspace: kind.caller.workspace.clone(),
            actor: kind.caller.actor.clone(),
            model: name(&kind.model),
            at: Timestamp::from_millis(kind.minute),
            code: kind.code.to_owned(),
            calls: *calls,
        })
        .collect();
    let micros = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
    let logged: Vec<Refused> = gathered
        .logged
        .iter()
        .map(|call| Refused {
            request: call.request.clone(),
            workspace: call.caller.workspace.clone(),
            actor: call.caller.actor.clone(),
            model: name(&call.model),
            status: call.status,
            code: call.code.to_owned(),
            started_at: call.started_at,
            duration_micros: micros(call.duration),
            held_micros: call.held.map(micros),
        })
        .collect();
    let mut tx = store.begin().await?;
    series::add_refusals(&mut tx, &counted).await?;
    insert_refused(&mut tx, &logged).await?;
    tx.commit().await
}
