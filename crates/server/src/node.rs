//! This process among others: it tells the store that it lives and which catalogue it serves.

use crate::edge::clock;
use domain::Timestamp;
use fleet::Routes;
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::nodes::Node;
use store::{Store, StoreError, nodes};

const HEARTBEAT: Duration = Duration::from_secs(5);
/// A node that has said nothing for so long is not compared with.
const ALIVE_MILLIS: i64 = 30_000;

pub(crate) struct NodeState {
    id: String,
    started_at: Timestamp,
    routes: Routes,
    draining: AtomicBool,
    seen: Mutex<Seen>,
    /// How many nodes live, this one included.
    alive: Arc<AtomicU32>,
}

#[derive(Clone, Default)]
struct Seen {
    store_is_away: bool,
    differing: Vec<String>,
}

/// The body of `/readyz`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    status: &'static str,
    node_id: String,
    store: &'static str,
    catalogue_hash: String,
    /// Nodes that serve another catalogue.
    differing_nodes: Vec<String>,
}

impl Report {
    pub(crate) fn is_draining(&self) -> bool {
        self.status == "draining"
    }
}

impl NodeState {
    /// The id of a data directory stays the same over restarts.
    pub(crate) fn open(data_dir: &Path, routes: Routes) -> anyhow::Result<Self> {
        let file = data_dir.join("node-id");
        let id = match std::fs::read_to_string(&file) {
            Ok(text) if !text.trim().is_empty() => text.trim().to_owned(),
            _ => {
                let mut random = [0_u8; 8];
                getrandom::fill(&mut random).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
                let id = format!("node_{:016x}", u64::from_le_bytes(random));
                std::fs::write(&file, &id)?;
                id
            }
        };
        let seen = Mutex::default();
        let alive = Arc::new(AtomicU32::new(1));
        Ok(Self { id, started_at: clock::now(), routes, draining: AtomicBool::new(false), seen, alive })
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The number of nodes that live, as it was last known.
    pub(crate) fn alive(&self) -> Arc<AtomicU32> {
        Arc::clone(&self.alive)
    }

    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub(crate) fn report(&self) -> Report {
        let seen = self.seen().clone();
        Report {
            status: if self.draining.load(Ordering::Relaxed) { "draining" } else { "ready" },
            node_id: self.id.clone(),
            store: if seen.store_is_away { "unavailable" } else { "ok" },
            catalogue_hash: self.routes.table().catalogue_hash.to_string(),
            differing_nodes: seen.differing,
        }
    }

    pub(crate) fn differing_nodes(&self) -> usize {
        self.seen().differing.len()
    }

    /// Tells the store, for ever.
    pub(crate) async fn beat(self: Arc<Self>, store: Store) {
        let mut ticks = tokio::time::interval(HEARTBEAT);
        loop {
            ticks.tick().await;
            let seen = match self.tell(&store).await {
                Ok(differing) => Seen { store_is_away: false, differing },
                Err(error) => {
                    tracing::debug!(%error, "the store did not take the heartbeat");
                    Seen { store_is_away: true, ..self.seen().clone() }
                }
            };
            if seen.differing != self.seen().differing && !seen.differing.is_empty() {
                tracing::warn!(nodes = ?seen.differing, "other nodes serve another catalogue");
            }
            *self.seen() = seen;
        }
    }

    async fn tell(&self, store: &Store) -> Result<Vec<String>, StoreError> {
        let now = clock::now();
        let hash = self.routes.table().catalogue_hash.to_string();
        let node =
            Node { id: self.id.clone(), started_at: self.started_at, seen_at: now, catalogue_hash: hash.clone() };
        let mut tx = store.begin().await?;
        nodes::record(&mut tx, &node).await?;
        tx.commit().await?;
        let since = Timestamp::from_millis(now.millis() - ALIVE_MILLIS);
        let alive = nodes::count_alive(store, since).await?;
        self.alive.store(u32::try_from(alive).unwrap_or(u32::MAX).max(1), Ordering::Relaxed);
        let differing = nodes::differing_catalogues(store, &hash, since).await?;
        Ok(differing.into_iter().map(|node| node.id).collect())
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
