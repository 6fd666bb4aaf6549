//! Writes the prices of a reloaded catalogue into the history, also when the store is away at that moment.
//!
//! Calls do not wait for it: they are charged at the catalogue's price from the reload on, and keep that price.

use crate::edge::clock;
use control::{CommandError, gpu_prices, prices};
use domain::{Catalogue, Timestamp};
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use store::prices::PriceVersion;
use tokio::sync::watch;

const RETRY: Duration = Duration::from_secs(2);

/// A catalogue, and since when it is served.
#[derive(Clone)]
pub(crate) struct Declared {
    catalogue: Arc<Catalogue>,
    since: Timestamp,
}

impl Declared {
    pub(crate) fn now(catalogue: Catalogue) -> Self {
        Self { catalogue: Arc::new(catalogue), since: clock::now() }
    }

    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue)
    }
}

/// Declares what models and GPU-hours cost from now on; returns the models whose price is new.
pub(crate) async fn declare(
    store: &Store,
    catalogue: &Catalogue,
    since: Timestamp,
) -> Result<Vec<PriceVersion>, CommandError> {
    gpu_prices::declare(store, catalogue, since).await?;
    prices::declare(store, catalogue, since).await
}

/// Declares the newest catalogue after every reload, for ever. The first one is declared by the start itself.
pub(crate) async fn keep(store: Store, mut reloads: watch::Receiver<Declared>) {
    while reloads.changed().await.is_ok() {
        loop {
            let declared = reloads.borrow_and_update().clone();
            match declare(&store, &declared.catalogue, declared.since).await {
                Ok(opened) if opened.is_empty() => break,
                Ok(opened) => {
                    let models: Vec<_> = opened.iter().map(|version| version.model.as_str()).collect();
                    tracing::info!(?models, "new prices are in force");
                    break;
                }
                Err(error) => tracing::warn!(%error, "the new prices are in force, but not in the history yet"),
            }
            tokio::time::sleep(RETRY).await;
        }
    }
}
