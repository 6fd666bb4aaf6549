//! Finds out what engines can do, and keeps it known to all nodes.
//!
//! Every node looks at its engines: at new ones, and at those whose last result may be outdated. If a probe is due (`due`), the
//! node claims the engine in the store, probes it (`look`) and writes the result, which the others read. The calls belong to
//! no workspace: they are neither metered nor billed.

mod due;
mod engines;
mod look;

use domain::{Model, Timestamp, engine_key};
use due::EngineView;
use engines::{ProbedEngine, Scope};
use fleet::backend::{BackendId, Staleness};
use fleet::{Connector, Endpoints, Routes};
use look::{Look, Looked};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use store::capabilities::{self, EngineRecord};
use store::{Store, StoreError};
use tokio::task::JoinSet;

/// Period of [`CapabilityKeeper::round`].
pub const PERIOD: Duration = Duration::from_secs(2);
/// The least time between two looks at an engine.
const REST_MILLIS: u64 = 30_000;
/// Engines that one node looks at at once.
const MAX_LOOKS: usize = 2;
/// Results are read again for this time: that of the longest probe, and the difference between the clocks of nodes.
const OVERLAP_MILLIS: i64 = 6 * 60_000;

/// The dependencies of the keeper.
#[derive(Clone)]
pub struct CapabilityParts {
    pub store: Store,
    pub routes: Routes,
    pub endpoints: Endpoints,
    pub connector: Connector,
    /// Whether servers of an unknown kind are probed, too: they may be hosted services, which bill each call.
    pub probes_unknown: bool,
    /// The id of this node.
    pub node: Arc<str>,
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
    looked_at: HashMap<String, Timestamp>,
    /// The versions that they had then.
    versions: HashMap<String, String>,
    /// Engines whose results may be outdated, until a probe has made all of its calls.
    stale: HashMap<String, Stale>,
    /// Engines that are looked at now.
    busy: HashSet<String>,
    looks: JoinSet<(String, Result<Looked, StoreError>)>,
}

/// What is known of an engine may be outdated.
#[derive(Debug, Clone, Copy)]
struct Stale {
    since: Timestamp,
    why: Staleness,
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
            versions: HashMap::new(),
            stale: HashMap::new(),
            busy: HashSet::new(),
            looks: JoinSet::new(),
        }
    }

    /// Reads the results of all nodes, applies them to the backends of this one, and looks at engines where it is needed.
    pub async fn round(&mut self) -> Result<(), StoreError> {
        self.collect()?;
        let scope = Scope { probes_unknown: self.parts.probes_unknown, node: &self.parts.node };
        let engines = engines::all(&self.parts.routes, &self.parts.endpoints, scope);
        self.read(&engines).await?;
        self.forget_others(&engines);
        self.note_staleness(&engines);
        for (key, engine) in &engines {
            self.apply(key, engine);
            if self.looks.len() < MAX_LOOKS && !self.busy.contains(key) {
                self.look(key, engine);
            }
        }
        Ok(())
    }

    /// Takes the results of looks that have ended.
    fn collect(&mut self) -> Result<(), StoreError> {
        while let Some(ended) = self.looks.try_join_next() {
            let Ok((key, result)) = ended else { continue };
            self.busy.remove(&key);
            let Looked { version, record } = result?;
            if let Some(version) = version {
                self.versions.insert(key.clone(), version);
            }
            if let Some(record) = record {
                self.known.insert(key, record);
            }
        }
        // One that panicked did not say its engine.
        if self.looks.is_empty() {
            self.busy.clear();
        }
        Ok(())
    }

    /// Reads new results; all of them if there are engines that this node has not had before.
    async fn read(&mut self, engines: &HashMap<String, ProbedEngine>) -> Result<(), StoreError> {
        if engines.is_empty() {
            self.present.clear();
            return Ok(());
        }
        let has_new = engines.keys().any(|key| !self.present.contains(key));
        let since = if has_new { Timestamp::from_millis(0) } else { self.read_until };
        for record in capabilities::list_since(&self.parts.store, since.plus_millis(-OVERLAP_MILLIS)).await? {
            self.read_until = self.read_until.max(record.probed_at);
            if engines.contains_key(&record.engine) {
                self.known.insert(record.engine.clone(), record);
            }
        }
        self.present = engines.keys().cloned().collect();
        Ok(())
    }

    fn forget_others(&mut self, engines: &HashMap<String, ProbedEngine>) {
        self.looked_at.retain(|key, _| engines.contains_key(key));
        self.versions.retain(|key, _| engines.contains_key(key));
        self.known.retain(|key, _| engines.contains_key(key));
        self.stale.retain(|key, _| engines.contains_key(key));
        self.seen.retain(|id| engines.values().any(|engine| engine.backends.iter().any(|backend| backend.id == *id)));
    }

    /// Notes which results may be outdated, and which no longer are: only a probe that began later settles it.
    fn note_staleness(&mut self, engines: &HashMap<String, ProbedEngine>) {
        let now = (self.parts.now)();
        for (key, engine) in engines {
            for backend in &engine.backends {
                let Some(why) = backend.take_staleness() else { continue };
                // It may have another version now.
                if why == Staleness::Restarted {
                    self.seen.remove(&backend.id);
                }
                let stale = self.stale.entry(key.clone()).or_insert(Stale { since: now, why });
                *stale = Stale { since: now, why: stale.why.max(why) };
            }
        }
        let known = &self.known;
        self.stale.retain(|key, stale| {
            let settles = |record: &EngineRecord| record.is_complete() && record.probed_at > stale.since;
            !known.get(key).is_some_and(settles)
        });
    }

    /// After a restart, what the engine lacked is not known: it may have other options.
    fn apply(&self, key: &str, engine: &ProbedEngine) {
        let Some(record) = self.known.get(key) else { return };
        let has_restarted = self.stale.get(key).is_some_and(|stale| stale.why == Staleness::Restarted);
        let known = if has_restarted { record.capabilities.without_missing() } else { record.capabilities.clone() };
        let known = Arc::new(known);
        // One that has become stale in this moment is treated in the next round.
        let outdated = engine.backends.iter().filter(|backend| !backend.is_stale() && backend.capabilities() != known);
        outdated.for_each(|backend| backend.set_capabilities(Arc::clone(&known)));
    }

    /// Looks at an engine, if something new may be seen there.
    fn look(&mut self, key: &str, engine: &ProbedEngine) {
        let Some(backend) = engine.ready(&self.seen) else { return };
        let now = (self.parts.now)();
        let has_rested = self.looked_at.get(key).is_none_or(|at| now.millis_since(*at) >= REST_MILLIS);
        let is_stale = self.stale.contains_key(key);
        let known = self.known.get(key).cloned();
        let version = self.versions.get(key).map(String::as_str);
        let last_seen = EngineView { version, is_own: engine.is_own, is_stale };
        let may_be_due = !self.seen.contains(&backend.id) || due::is_due(known.as_ref(), last_seen, now);
        if !(has_rested && may_be_due) {
            return;
        }
        self.seen.insert(backend.id);
        self.looked_at.insert(key.to_owned(), now);
        self.busy.insert(key.to_owned());
        let look = Look {
            parts: self.parts.clone(),
            key: key.to_owned(),
            engine: engine.clone(),
            backend: Arc::clone(backend),
            known,
            is_stale,
        };
        self.looks.spawn(async move { (look.key.clone(), look.run().await) });
    }
}

/// The results for the current engines of a serverless model, oldest first.
pub async fn of_model(store: &Store, model: &Model) -> Result<Vec<EngineRecord>, StoreError> {
    capabilities::list_of(store, &engine_key::of_model(model)).await
}
