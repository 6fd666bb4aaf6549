//! This process among others: it tells the store that it lives and which catalogue it serves.

use crate::clock_skew;
use crate::edge::clock;
use domain::Timestamp;
use domain::leadership::{Lease, Move, Watch};
use fleet::Routes;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::nodes::Node;
use store::{Store, StoreError, leader, nodes};

const HEARTBEAT: Duration = Duration::from_secs(5);
/// A node that has said nothing for so long is not compared with.
pub(crate) const ALIVE_MILLIS: i64 = 30_000;

pub(crate) struct NodeState {
    id: String,
    started_at: Timestamp,
    routes: Routes,
    draining: AtomicBool,
    heard: Mutex<Heard>,
    /// Of the leader's lease.
    watch: Mutex<Option<Watch>>,
    /// How many nodes live, this one included.
    alive: Arc<AtomicU32>,
}

/// What the store has told at the last heartbeat.
#[derive(Clone)]
pub(crate) struct Heard {
    pub store_away_since: Option<Instant>,
    pub differing: Vec<String>,
    /// How far this node's clock is ahead of the store's.
    pub clock_skew_millis: Option<i64>,
    pub leads: Leads,
}

/// Who leads the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leads {
    ThisNode,
    AnotherNode,
    Nobody { since: Instant },
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
        let leads = Leads::Nobody { since: Instant::now() };
        let heard = Heard { store_away_since: None, differing: Vec::new(), clock_skew_millis: None, leads };
        let alive = Arc::new(AtomicU32::new(1));
        let (heard, watch, draining) = (Mutex::new(heard), Mutex::default(), AtomicBool::new(false));
        Ok(Self { id, started_at: clock::now(), routes, draining, heard, watch, alive })
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

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    pub(crate) fn alive_count(&self) -> u32 {
        self.alive.load(Ordering::Relaxed)
    }

    pub(crate) fn heard(&self) -> Heard {
        self.lock_heard().clone()
    }

    /// Tells the store, for ever.
    pub(crate) async fn beat(self: Arc<Self>, store: Store) {
        let mut ticks = tokio::time::interval(HEARTBEAT);
        loop {
            ticks.tick().await;
            let before = self.heard();
            let heard = match self.tell(&store, &before).await {
                Ok(heard) => heard,
                Err(error) => {
                    tracing::debug!(%error, "the store did not take the heartbeat");
                    let since = before.store_away_since.unwrap_or_else(Instant::now);
                    Heard { store_away_since: Some(since), ..before.clone() }
                }
            };
            if heard.differing != before.differing && !heard.differing.is_empty() {
                tracing::warn!(nodes = ?heard.differing, "other nodes serve another catalogue");
            }
            *self.lock_heard() = heard;
        }
    }

    async fn tell(&self, store: &Store, before: &Heard) -> Result<Heard, StoreError> {
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
        Ok(Heard {
            store_away_since: None,
            differing: differing.into_iter().map(|node| node.id).collect(),
            clock_skew_millis: Some(clock_skew::measure(store).await?),
            leads: self.look_for_leader(&leader::read(store).await?, before.leads, now),
        })
    }

    fn look_for_leader(&self, lease: &Lease, before: Leads, now: Timestamp) -> Leads {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let watch = watch.get_or_insert_with(|| Watch::new(lease.clone(), now));
        match (watch.look(lease, &self.id, now), before) {
            (Move::Renew, _) => Leads::ThisNode,
            (Move::Wait, _) => Leads::AnotherNode,
            (Move::TakeOver, Leads::Nobody { since }) => Leads::Nobody { since },
            (Move::TakeOver, Leads::ThisNode | Leads::AnotherNode) => Leads::Nobody { since: Instant::now() },
        }
    }

    fn lock_heard(&self) -> std::sync::MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
