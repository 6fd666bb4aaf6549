//! The catalogue that this node serves: the entries of the configuration file and of the store together.
//!
//! It is read again when the store announces a change, and replaced as a whole. A name in both parts is an error when the
//! node starts or reloads its file. While the node serves, nodes may have different files, so there the file's entry wins
//! and the other one is reported as a problem.

use crate::price_keeper::Served;
use anyhow::Context;
use arc_swap::ArcSwap;
use background::Backoff;
use config::{Config, ModelRules, extend_catalogue};
use control::CatalogueError;
use control::catalogue::FixedPart;
use domain::alias::Alias;
use domain::model::{Serving, Upstream};
use domain::{Catalogue, CatalogueMode, Model, ModelId};
use fleet::{Backend, Routes};
use outbound::AddressError;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use store::catalogue::{self, SealedKey, StoredAlias, StoredCatalogue, StoredModel};
use store::{Change, ContentKeys, Store, StoreError};
use tokio::sync::{Mutex, Notify};

/// Delay after the catalogue of the store could not be read.
pub const BACKOFF: Backoff = Backoff::constant(Duration::from_secs(1));

/// A model of the store, as this node reads it.
#[derive(Debug, Clone)]
pub struct StoreEntry {
    pub stored: StoredModel,
    /// `None` if the definition is not valid on this node.
    pub model: Option<Model>,
    /// Why this node does not serve it, although it is enabled.
    pub problem: Option<String>,
}

/// The configuration's part, which a reload replaces.
#[derive(Debug, Clone)]
struct FilePart {
    mode: CatalogueMode,
    file: Arc<Catalogue>,
    rules: Arc<ModelRules>,
}

impl FilePart {
    fn of(config: &Config) -> Self {
        let file = Arc::new(config.catalogue.clone());
        Self { mode: config.server.catalogue, file, rules: Arc::new(ModelRules::of(config)) }
    }

    fn has_name(&self, name: &str) -> bool {
        self.mode.has_file() && self.file.has_name(name)
    }
}

/// All entries at one moment.
#[derive(Debug)]
pub struct Snapshot {
    part: FilePart,
    stored: StoredCatalogue,
    pub models: Vec<StoreEntry>,
}

#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Address(#[from] AddressError),
}

impl Snapshot {
    fn new(part: FilePart, stored: StoredCatalogue, keys: Option<&ContentKeys>) -> Self {
        let models = stored.models.iter().map(|model| read_entry(&part, model, &stored.keys, keys)).collect();
        Self { part, stored, models }
    }

    pub fn mode(&self) -> CatalogueMode {
        self.part.mode
    }

    pub fn rules(&self) -> &ModelRules {
        &self.part.rules
    }

    /// The part that commands cannot change.
    pub fn fixed(&self) -> FixedPart<'_> {
        FixedPart { mode: self.part.mode, file: &self.part.file }
    }

    /// Models of the file, if they are served.
    pub fn file_models(&self) -> impl Iterator<Item = &Arc<Model>> {
        self.part.file.iter().filter(|_| self.part.mode.has_file())
    }

    /// Aliases of the file, if they are served.
    pub fn file_aliases(&self) -> impl Iterator<Item = &Alias> {
        self.part.file.aliases().iter().filter(|_| self.part.mode.has_file())
    }

    pub fn stored_aliases(&self) -> &[StoredAlias] {
        &self.stored.aliases
    }

    pub fn stored_model(&self, id: &str) -> Option<&StoreEntry> {
        self.models.iter().find(|entry| entry.stored.id.as_str() == id)
    }

    pub fn file_model(&self, id: &str) -> Option<&Arc<Model>> {
        self.part.file.get(id).filter(|_| self.part.mode.has_file())
    }

    /// Names that the file and the store both have.
    pub fn clashes(&self) -> Vec<&str> {
        let models = self.stored.models.iter().map(|model| model.id.as_str());
        let aliases = self.stored.aliases.iter().map(|alias| alias.name.as_str());
        models.chain(aliases).filter(|name| self.part.has_name(name)).collect()
    }

    fn check_names(&self) -> anyhow::Result<()> {
        let clashes = self.clashes();
        anyhow::ensure!(
            clashes.is_empty(),
            "the configuration file and the store both have {}; remove them from one of the two, or set `[server] \
             catalogue` to \"file\" or \"store\"",
            clashes.join(", ")
        );
        Ok(())
    }

    /// The catalogue to serve.
    pub fn merged(&self) -> Catalogue {
        let none = Catalogue::default();
        let base = if self.part.mode.has_file() { &*self.part.file } else { &none };
        let served = self.models.iter().filter(|entry| entry.stored.enabled && entry.problem.is_none());
        let models: Vec<Model> = served.filter_map(|entry| entry.model.clone()).collect();
        let is_served = |id: &ModelId| base.get(id.as_str()).is_some() || models.iter().any(|model| model.id == *id);
        let aliases = self.stored.aliases.iter().filter(|alias| !base.has_name(alias.name.as_str()));
        let aliases = aliases.filter(|alias| is_served(&alias.model));
        let aliases = aliases.map(|alias| Alias { name: alias.name.clone(), model: alias.model.clone() }).collect();
        extend_catalogue(base, models, aliases)
    }
}

fn read_entry(part: &FilePart, stored: &StoredModel, sealed: &[SealedKey], keys: Option<&ContentKeys>) -> StoreEntry {
    let read = serde_json::from_str::<Map<String, Value>>(&stored.definition).map_err(|error| error.to_string());
    let read = read.and_then(|definition| {
        part.rules.read(&definition).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            lines.join("\n")
        })
    });
    let (mut model, mut problem) = match read {
        Ok(model) => (Some(model), None),
        Err(problem) => (None, Some(problem)),
    };
    if let Some(Serving::Upstreams(upstreams)) = model.as_mut().map(|model| &mut model.serving) {
        let sealed = sealed.iter().filter(|key| key.model == stored.id);
        problem = fill_keys(upstreams, sealed, keys).and_then(|()| check_addresses(upstreams)).err();
    }
    if part.has_name(stored.id.as_str()) {
        problem = Some("the configuration file of this node has an entry of the same name".to_owned());
    }
    StoreEntry { stored: stored.clone(), model, problem }
}

fn fill_keys<'a>(
    upstreams: &mut [Upstream],
    sealed: impl Iterator<Item = &'a SealedKey>,
    keys: Option<&ContentKeys>,
) -> Result<(), String> {
    for key in sealed {
        let keys = keys.ok_or("it has keys of upstreams, and FOREBAY_CONTENT_KEY is not set")?;
        let opened = keys.open_upstream_key(&key.model, &key.url, &key.sealed);
        let opened = opened.map_err(|error| format!("the key of an upstream cannot be decrypted: {error}"))?;
        for upstream in upstreams.iter_mut().filter(|upstream| upstream.url == key.url) {
            upstream.api_key = Some(opened.clone());
        }
    }
    Ok(())
}

/// One address that cannot be used would keep the whole catalogue from being served.
fn check_addresses(upstreams: &[Upstream]) -> Result<(), String> {
    let is_invalid = |upstream: &Upstream| Backend::new("", upstream.clone()).is_err();
    if upstreams.iter().any(is_invalid) {
        return Err("the address or the key of an upstream is invalid".to_owned());
    }
    Ok(())
}

/// Keeps the route table equal to the file and the store.
pub struct CatalogueKeeper {
    store: Store,
    routes: Routes,
    served: Served,
    content_keys: Option<ContentKeys>,
    current: ArcSwap<Snapshot>,
    /// Held while the catalogue is replaced.
    turn: Mutex<()>,
    nudge: Arc<Notify>,
}

impl CatalogueKeeper {
    /// Reads the store and serves the whole catalogue. Fails if a name is in the file and in the store.
    pub async fn open(
        store: Store,
        config: &Config,
        content_keys: Option<ContentKeys>,
        routes: Routes,
    ) -> anyhow::Result<Self> {
        let part = FilePart::of(config);
        if let Some(keys) = content_keys.as_ref().filter(|_| part.mode.has_store()) {
            reseal(&store, keys).await;
        }
        let stored = read(&store, part.mode).await.context("cannot read the catalogue of the store")?;
        let snapshot = Snapshot::new(part, stored, content_keys.as_ref());
        snapshot.check_names()?;
        report(&snapshot);
        let merged = snapshot.merged();
        routes.apply(&merged)?;
        Ok(Self {
            store,
            routes,
            served: Served::new(merged),
            content_keys,
            current: ArcSwap::from_pointee(snapshot),
            turn: Mutex::default(),
            nudge: Arc::default(),
        })
    }

    /// The catalogue being served, with the moment of its last change.
    pub fn served(&self) -> &Served {
        &self.served
    }

    /// The table that calls are routed by.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Notified when the store has changed.
    pub fn nudge(&self) -> Arc<Notify> {
        Arc::clone(&self.nudge)
    }

    pub fn apply_change(&self, change: &Change) {
        if matches!(change, Change::Catalogue | Change::Everything) {
            self.nudge.notify_one();
        }
    }

    /// Whether keys of upstreams can be stored.
    pub fn can_store_keys(&self) -> bool {
        self.content_keys.is_some()
    }

    /// Encrypts the key of an upstream.
    pub fn seal(&self, model: &ModelId, url: &str, key: &str) -> Result<String, CatalogueError> {
        let keys = self.content_keys.as_ref().ok_or(CatalogueError::NoContentKey)?;
        Ok(keys.seal_upstream_key(model, url, key))
    }

    /// Reads the store again and serves what has changed.
    pub async fn refresh(&self) -> Result<(), RefreshError> {
        let _turn = self.turn.lock().await;
        let before = self.snapshot();
        let stored = read(&self.store, before.part.mode).await?;
        if stored == before.stored {
            return Ok(());
        }
        let snapshot = Snapshot::new(before.part.clone(), stored, self.content_keys.as_ref());
        report(&snapshot);
        Ok(self.serve(snapshot)?)
    }

    /// Serves the catalogue of a file that was read again. A catalogue with errors changes nothing.
    pub async fn reload(&self, config: &Config) -> anyhow::Result<()> {
        let _turn = self.turn.lock().await;
        let part = FilePart::of(config);
        let stored = match read(&self.store, part.mode).await {
            // The change feed has it read again when the store is back.
            Err(error) if error.is_unavailable() && part.mode.has_store() => self.snapshot().stored.clone(),
            stored => stored.context("cannot read the catalogue of the store")?,
        };
        let snapshot = Snapshot::new(part, stored, self.content_keys.as_ref());
        snapshot.check_names()?;
        report(&snapshot);
        Ok(self.serve(snapshot)?)
    }

    fn serve(&self, snapshot: Snapshot) -> Result<(), AddressError> {
        let merged = snapshot.merged();
        self.routes.apply(&merged)?;
        tracing::info!(models = merged.ids().count(), hash = %merged.hash, "catalogue reloaded");
        self.current.store(Arc::new(snapshot));
        self.served.replace(merged);
        Ok(())
    }
}

/// Lets an earlier content key be removed after all nodes have started with the new one.
async fn reseal(store: &Store, keys: &ContentKeys) {
    match control::catalogue::reseal_keys(store, keys).await {
        Ok(0) => {}
        Ok(count) => tracing::info!(count, "keys of upstreams are encrypted with the new content key"),
        Err(error) => tracing::warn!(%error, "keys of upstreams are still encrypted with an earlier content key"),
    }
}

async fn read(store: &Store, mode: CatalogueMode) -> Result<StoredCatalogue, StoreError> {
    if mode.has_store() { catalogue::read(store).await } else { Ok(StoredCatalogue::default()) }
}

/// All entries as a node with this configuration reads them, for the doctor.
pub async fn inspect(store: &Store, config: &Config, keys: Option<&ContentKeys>) -> Result<Snapshot, StoreError> {
    let part = FilePart::of(config);
    let stored = read(store, part.mode).await?;
    Ok(Snapshot::new(part, stored, keys))
}

/// Logs the entries of the store that are not served.
fn report(snapshot: &Snapshot) {
    for entry in snapshot.models.iter().filter(|entry| entry.stored.enabled) {
        if let Some(problem) = &entry.problem {
            tracing::error!(model = %entry.stored.id, "model {} of the store is not served: {problem}", entry.stored.id);
        }
    }
}
