//! Writes the prices of a reloaded catalogue into the history, also when the store is away at that moment.
//!
//! Calls do not wait for it: they are charged at the catalogue's price from the reload on, and keep that price.

use crate::edge::clock;
use control::prices;
use domain::{Catalogue, Timestamp};
use std::sync::Arc;
use std::time::Duration;
use store::Store;
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
}

/// Declares the newest catalogue after every reload, for ever. The first one is declared by the start itself.
pub(crate) async fn keep(store: Store, mut reloads: watch::Receiver<Declared>) {
    while reloads.changed().await.is_ok() {
        loop {
            let declared = reloads.borrow_and_update().clone();
            match prices::declare(&store, &declared.catalogue, declared.since).await {
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
