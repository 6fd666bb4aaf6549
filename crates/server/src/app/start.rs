//! The part of a start that needs the store.
//!
//! It comes before everything that can be done only once and is attempted as a whole: if the store goes away in between, the
//! node waits for it as if it had been away from the beginning.

use super::build::Sockets;
use anyhow::Context;
use config::Config;
use domain::SaltSecret;
use domain::end_user::EndUserSecret;
use fleet::Routes;
use node::catalogue_keeper::CatalogueKeeper;
use node::clock;
use node::first_start::{self, Bootstrap};
use node::{price_keeper, shared_secret, upstream_keys};
use std::path::Path;
use store::{ContentKeys, Store, secrets};

/// A start that has not reached the store yet.
pub(super) struct Start<'a> {
    config: &'a Config,
    data_dir: &'a Path,
    sockets: Option<Sockets>,
}

/// The store, and what a node reads of it before it serves.
pub(super) struct StoreState {
    pub store: Store,
    pub catalogue: CatalogueKeeper,
    pub salt_secret: SaltSecret,
    pub end_user_secret: EndUserSecret,
    pub reasoning_keys: ContentKeys,
    /// Distinguishes this store from every other.
    pub store_id: String,
}

/// A successful attempt.
pub(super) struct Started {
    pub state: StoreState,
    /// `None` if another node made the first start.
    pub bootstrap: Option<Bootstrap>,
}

impl<'a> Start<'a> {
    pub(super) const fn new(config: &'a Config, data_dir: &'a Path) -> Self {
        Self { config, data_dir, sockets: None }
    }

    /// May be repeated after an error.
    pub(super) async fn attempt(&mut self) -> anyhow::Result<Started> {
        let (config, data_dir) = (self.config, self.data_dir);
        let state = StoreState::read(config, data_dir).await?;
        let public = self.sockets()?.public[0].local_addr()?;
        // Last: another attempt would not return the credentials of a first start as new.
        let bootstrap = first_start::prepare(&state.store, config, data_dir, public).await?;
        Ok(Started { state, bootstrap })
    }

    /// The listening sockets. They are bound when they are first needed: before, clients are refused instead of waiting for
    /// migrations.
    pub(super) fn sockets(&mut self) -> anyhow::Result<&Sockets> {
        let sockets = bound_or_bind(self.sockets.take(), self.config)?;
        Ok(self.sockets.insert(sockets))
    }

    pub(super) fn into_sockets(self) -> anyhow::Result<Sockets> {
        bound_or_bind(self.sockets, self.config)
    }
}

fn bound_or_bind(bound: Option<Sockets>, config: &Config) -> anyhow::Result<Sockets> {
    bound.map_or_else(|| Sockets::bind(config), Ok)
}

impl StoreState {
    /// Opens the store, migrates it, records the prices of the file's catalogue and reads the rest.
    async fn read(config: &Config, data_dir: &Path) -> anyhow::Result<Self> {
        let store = Store::open_sized(&config.store.url, data_dir, config.store.pools).await;
        let store = store.context("cannot open the store")?;
        store.migrate().await.context("cannot migrate the store")?;
        clock::follow(&store).await.context("cannot read the store's clock")?;
        if config.server.catalogue.has_file() {
            let declared = price_keeper::declare(&store, &config.catalogue, clock::now()).await;
            declared.context("cannot record the prices of the catalogue")?;
        }
        let upstream_keys = upstream_keys::open(config, data_dir, store.engine())?;
        let catalogue = CatalogueKeeper::open(store.clone(), config, upstream_keys, Routes::default()).await?;
        let salt_secret = salt_secret(&store).await?;
        let end_user_secret = EndUserSecret::new(&shared_secret::read(&store, "end_users").await?);
        let reasoning_keys = reasoning_keys(&store, config).await?;
        let store_id = store_id(&store).await?;
        Ok(Self { store, catalogue, salt_secret, end_user_secret, reasoning_keys, store_id })
    }
}

/// The secret that the salts of prefix caches are derived from, created by the first node.
async fn salt_secret(store: &Store) -> anyhow::Result<SaltSecret> {
    Ok(SaltSecret::new(&shared_secret::read(store, "cache_salt").await?))
}

/// Keys that seal reasoning: the operator's, or one that the nodes share. The shared one opens what it has sealed before.
async fn reasoning_keys(store: &Store, config: &Config) -> anyhow::Result<ContentKeys> {
    let shared = ContentKeys::shared(store, "reasoning_key").await.context("cannot read the key of reasoning")?;
    Ok(config.content_keys.as_ref().map_or(shared.clone(), |keys| keys.also_opening(&shared)))
}

async fn store_id(store: &Store) -> anyhow::Result<String> {
    let fresh = getrandom::u64().map_err(|error| anyhow::anyhow!("no randomness from the system: {error}"))?;
    let shared = secrets::share(store, "owner-of-replicas", &format!("{fresh:016x}")).await;
    shared.context("cannot read the store's id")
}
