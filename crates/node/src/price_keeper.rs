//! Writes the prices of a reloaded catalogue into the price history, and retries while the store is unavailable.
//!
//! Calls do not wait for it: they are charged at the catalogue's price from the reload on, and keep that price.

use crate::clock;
use background::Backoff;
use control::{CommandError, gpu_prices, prices};
use domain::{Catalogue, Timestamp};
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use store::prices::PriceVersion;
use tokio::sync::{Notify, watch};

/// Delay after the store did not take the new prices.
pub const BACKOFF: Backoff = Backoff::constant(Duration::from_secs(2));

/// A catalogue and the moment from which it is served.
#[derive(Clone)]
pub struct Declared {
    catalogue: Arc<Catalogue>,
    since: Timestamp,
}

impl Declared {
    pub fn now(catalogue: Catalogue) -> Self {
        Self { catalogue: Arc::new(catalogue), since: clock::now() }
    }

    pub fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue)
    }
}

/// The catalogue being served. A change replaces it and nudges the loop that records prices.
pub struct Served {
    current: watch::Sender<Declared>,
    nudge: Arc<Notify>,
}

impl Served {
    pub fn new(catalogue: Catalogue) -> Self {
        Self { current: watch::Sender::new(Declared::now(catalogue)), nudge: Arc::default() }
    }

    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.current.borrow().catalogue()
    }

    pub fn subscribe(&self) -> watch::Receiver<Declared> {
        self.current.subscribe()
    }

    /// Notified by every reload.
    pub fn nudge(&self) -> Arc<Notify> {
        Arc::clone(&self.nudge)
    }

    pub fn replace(&self, catalogue: Catalogue) {
        self.current.send_replace(Declared::now(catalogue));
        self.nudge.notify_one();
    }
}

/// Records the prices of models and GPU-hours from `since` on; returns the models whose price is new. Idempotent.
pub async fn declare(
    store: &Store,
    catalogue: &Catalogue,
    since: Timestamp,
) -> Result<Vec<PriceVersion>, CommandError> {
    gpu_prices::declare(store, catalogue, since).await?;
    prices::declare(store, catalogue, since).await
}

/// One round of the loop: records the prices of the catalogue being served.
pub async fn record(store: &Store, served: &watch::Receiver<Declared>) -> Result<(), CommandError> {
    let declared = served.borrow().clone();
    let opened = declare(store, &declared.catalogue, declared.since).await?;
    if !opened.is_empty() {
        let models: Vec<_> = opened.iter().map(|version| version.model.as_str()).collect();
        tracing::info!(?models, "new prices are effective");
    }
    Ok(())
}
