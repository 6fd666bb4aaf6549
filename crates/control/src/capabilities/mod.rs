//! Finds out what engines can do, and keeps it known to all nodes.
//!
//! Every node looks at its engines: at new ones, at those that were down, and at those that lack what a call needed. If one is
//! due (`due`), the node claims it in the store, asks it (`fleet::probe`) and writes the result, which the others read. The
//! calls belong to no workspace: they are neither metered nor billed.

mod due;
mod engines;

use crate::command::{AuditedChange, Author, Command};
use domain::{ModelId, Timestamp};
use due::EngineView;
use engines::AskedEngine;
use fleet::backend::BackendId;
use fleet::probe::{self, ModelServer};
use fleet::{Connector, Endpoints, Routes};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::capabilities::{self, EngineRecord};
use store::{Store, StoreError};
use tokio::task::JoinSet;

/// Period of [`CapabilityKeeper::round`].
pub const PERIOD: Duration = Duration::from_secs(2);
/// All questions to one engine.
const PROBE_TIMEOUT: Duration = Duration::from_secs(300);
/// A node that ends in the middle of a probe blocks others for this long; so does an engine that shows nothing.
const CLAIM_MILLIS: i64 = 10 * 60_000;
/// Pause between two looks at an engine of which nothing is known.
const RETRY: Duration = Duration::from_secs(30);
/// Engines that one node asks at once.
const MAX_PROBES: usize = 2;
/// Results are read again for this time, because clocks of nodes differ.
const OVERLAP_MILLIS: i64 = 60_000;

/// The dependencies of the keeper.
#[derive(Clone)]
pub struct CapabilityParts {
    pub store: Store,
    pub routes: Routes,
    pub endpoints: Endpoints,
    pub connector: Connector,
    /// Whether servers of an unknown kind are asked, too: they may be hosted services, which bill each call.
    pub asks_unknown: bool,
    pub now: fn() -> Timestamp,
}

pub struct CapabilityKeeper {
    parts: CapabilityParts,
    /// Results by engine.
    known: HashMap<String, EngineRecord>,
    read_until: Timestamp,
    /// The engines of the last round.
    present: HashSet<String>,
    /// Backends that were looked at since they appeared.
    seen: HashSet<BackendId>,
    /// When engines were last looked at.
    looked_at: HashMap<String, Instant>,
    /// Engines that are asked now.
    asked: HashSet<String>,
    probes: JoinSet<(String, Result<Option<EngineRecord>, StoreError>)>,
}

impl CapabilityKeeper {
    pub fn new(parts: CapabilityParts) -> Self {
        Self {
            parts,
            known: HashMap::new(),
            read_until: Timestamp::from_millis(0),
            present: HashSet::new(),
            seen: HashSet::new(),
            looked_at: HashMap::new(),
            asked: HashSet::new(),
            probes: JoinSet::new(),
        }
    }

    /// Reads the results of all nodes, applies them to the backends of this one, and looks at engines where it is needed.
    pub async fn round(&mut self) -> Result<(), StoreError> {
        self.collect()?;
        let engines = engines::all(&self.parts.routes, &self.parts.endpoints, self.parts.asks_unknown);
        self.read(&engines).await?;
        self.looked_at.retain(|key, _| engines.contains_key(key));
        self.known.retain(|key, _| engines.contains_key(key));
        self.seen.retain(|id| engines.values().any(|engine| engine.backends.iter().any(|backend| backend.id == *id)));
        for (key, engine) in &engines {
            self.apply(key, engine);
            if self.probes.len() < MAX_PROBES && !self.asked.contains(key) {
                self.look(key, engine);
            }
        }
        Ok(())
    }

    /// Takes the results of probes that have ended.
    fn collect(&mut self) -> Result<(), StoreError> {
        while let Some(ended) = self.probes.try_join_next() {
            let Ok((key, result)) = ended else { continue };
            self.asked.remove(&key);
            if let Some(record) = result? {
                self.known.insert(key, record);
            }
        }
        // One that panicked did not say its engine.
        if self.probes.is_empty() {
            self.asked.clear();
        }
        Ok(())
    }

    /// Reads new results; all of them if there are engines that this node has not had before.
    async fn read(&mut self, engines: &HashMap<String, AskedEngine>) -> Result<(), StoreError> {
        let has_new = engines.keys().any(|key| !self.present.contains(key));
        let since = if has_new { Timestamp::from_millis(0) } else { self.read_until };
        for record in capabilities::list_since(&self.parts.store, since.plus_millis(-OVERLAP_MILLIS)).await? {
            self.read_until = self.read_until.max(record.asked_at);
            if engines.contains_key(&record.engine) {
                self.known.insert(record.engine.clone(), record);
            }
        }
        self.present = engines.keys().cloned().collect();
        Ok(())
    }

    fn apply(&self, key: &str, engine: &AskedEngine) {
        let Some(record) = self.known.get(key) else { return };
        let outdated = engine.backends.iter().filter(|backend| *backend.capabilities() != record.capabilities);
        let capabilities = Arc::new(record.capabilities.clone());
        outdated.for_each(|backend| backend.set_capabilities(Arc::clone(&capabilities)));
    }

    /// Looks at an engine, if something new may be seen there.
    fn look(&mut self, key: &str, engine: &AskedEngine) {
        let Some(backend) = engine.ready() else { return };
        let known = self.known.get(key).cloned();
        let is_new = engine.backends.iter().any(|backend| !self.seen.contains(&backend.id));
        let has_rested = self.looked_at.get(key).is_none_or(|at| at.elapsed() >= RETRY);
        // All of them forget their doubts.
        let is_doubted = engine.backends.iter().filter(|backend| backend.take_doubt()).count() > 0;
        let is_old = known.as_ref().is_none_or(|known| due::is_old(known, (self.parts.now)()));
        if !(is_new || is_doubted || (is_old && has_rested)) {
            return;
        }
        self.seen.extend(engine.backends.iter().map(|backend| backend.id));
        self.looked_at.insert(key.to_owned(), Instant::now());
        self.asked.insert(key.to_owned());
        let look = Look {
            parts: self.parts.clone(),
            key: key.to_owned(),
            engine: engine.clone(),
            known,
            is_doubted,
            server: ModelServer::new(
                self.parts.connector.clone(),
                backend.upstream.url.clone(),
                backend.upstream.api_key.clone(),
            ),
            model: backend.upstream.model.clone(),
        };
        self.probes.spawn(async move { (look.key.clone(), look.run().await) });
    }
}

/// One look at an engine.
struct Look {
    parts: CapabilityParts,
    key: String,
    engine: AskedEngine,
    known: Option<EngineRecord>,
    is_doubted: bool,
    server: ModelServer,
    /// The name of the model at the server.
    model: String,
}

impl Look {
    /// Asks the engine if it is due. Returns the new result.
    async fn run(self) -> Result<Option<EngineRecord>, StoreError> {
        let version = self.server.version().await;
        let now = (self.parts.now)();
        let seen = EngineView { version: version.as_deref(), is_own: self.engine.is_own, is_doubted: self.is_doubted };
        if !due::is_due(self.known.as_ref(), seen, now) {
            return Ok(None);
        }
        let mut tx = self.parts.store.begin().await?;
        let until = now.plus_millis(CLAIM_MILLIS);
        let is_ours = capabilities::claim(&mut tx, &self.key, &self.engine.model, now, until).await?;
        tx.commit().await?;
        if !is_ours {
            return Ok(None);
        }
        let server = self.server.clone().within(PROBE_TIMEOUT);
        let learned = probe::learn(&server, &self.model, self.engine.context_length).await;
        let replaces_more = !learned.is_complete && self.known.as_ref().is_some_and(|known| known.is_complete);
        if learned.capabilities.present().is_empty() || replaces_more {
            tracing::info!(model.id = %self.engine.model, "an engine of {} did not show what it can do", self.engine.model);
            return Ok(None);
        }
        let record = EngineRecord {
            engine: self.key.clone(),
            model: self.engine.model.clone(),
            version: version.or_else(|| self.known.as_ref().and_then(|known| known.version.clone())),
            capabilities: learned.capabilities,
            is_complete: learned.is_complete,
            asked_at: (self.parts.now)(),
        };
        self.write(&record).await?;
        Ok(Some(record))
    }

    /// Writes the result. A change of what was known is in the log and in the audit log.
    async fn write(&self, record: &EngineRecord) -> Result<(), StoreError> {
        let mut tx = self.parts.store.begin().await?;
        capabilities::put(&mut tx, record).await?;
        let model = &record.model;
        match &self.known {
            None => tracing::info!(model.id = %model, "an engine of {model} has shown what it can do"),
            Some(known) => {
                let changes = record.capabilities.changes_since(&known.capabilities);
                if !changes.is_empty() {
                    let changes = changes.join("; ");
                    tracing::warn!(model.id = %model, "the capabilities of an engine of {model} have changed: {changes}");
                    let command = Command { store: &self.parts.store, author: &Author::Probe, now: record.asked_at };
                    let change =
                        AuditedChange::new("model.capabilities", self.engine.organization.as_ref(), model.as_str());
                    let change = change.detail(changes).before(shown(known)).after(shown(record));
                    command.record(&mut tx, change).await?;
                }
            }
        }
        tx.commit().await
    }
}

fn shown(record: &EngineRecord) -> Value {
    serde_json::from_str(&capabilities::to_json(&record.capabilities)).unwrap_or_default()
}

/// The results for a model, newest first.
pub async fn of_model(store: &Store, model: &ModelId) -> Result<Vec<EngineRecord>, StoreError> {
    capabilities::list_of_model(store, model).await
}
