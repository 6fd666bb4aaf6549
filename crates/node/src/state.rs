//! This node among others: its heartbeat, the catalogue it serves, and who leads.

use crate::clock;
use domain::Timestamp;
use domain::leadership::{Action, Term, Watch};
use fleet::Routes;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use store::nodes::Node;
use store::{Store, StoreError, leader, nodes};

/// A node without a heartbeat for this long counts as gone.
pub const ALIVE_MILLIS: i64 = 30_000;

pub struct NodeState {
    id: String,
    started_at: Timestamp,
    routes: Routes,
    draining: AtomicBool,
    cluster: Mutex<ClusterView>,
    /// Observes whether the leader renews its term.
    watch: Mutex<Option<Watch>>,
    /// The number of living nodes, this one included.
    alive: Arc<AtomicU32>,
}

/// The state of the cluster, as read from the store at the last heartbeat.
#[derive(Clone)]
pub struct ClusterView {
    /// `None` if the store was reachable.
    pub store_away_since: Option<Instant>,
    /// Nodes that serve another catalogue.
    pub differing: Vec<String>,
    /// Nodes that did at the last heartbeat. They differ if they still do at the next one: a change reaches the others
    /// soon, and their own heartbeats report it a little later.
    suspected: Vec<String>,
    /// How far this node's clock is ahead of the store's.
    pub clock_skew_millis: Option<i64>,
    /// How long the store took to respond.
    pub store_latency: Option<Duration>,
    pub leader: Leader,
}

/// Who leads the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leader {
    This,
    Other,
    Vacant { since: Instant },
}

impl NodeState {
    /// The node's id is kept in the data directory, so it survives restarts.
    pub fn open(data_dir: &Path, routes: Routes) -> anyhow::Result<Self> {
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
        let leader = Leader::Vacant { since: Instant::now() };
        let cluster = ClusterView {
            store_away_since: None,
            differing: Vec::new(),
            suspected: Vec::new(),
            clock_skew_millis: None,
            store_latency: None,
            leader,
        };
        let alive = Arc::new(AtomicU32::new(1));
        let (cluster, watch, draining) = (Mutex::new(cluster), Mutex::default(), AtomicBool::new(false));
        Ok(Self { id, started_at: clock::now(), routes, draining, cluster, watch, alive })
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// The number of living nodes as of the last heartbeat.
    pub fn alive(&self) -> Arc<AtomicU32> {
        Arc::clone(&self.alive)
    }

    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    pub fn alive_count(&self) -> u32 {
        self.alive.load(Ordering::Relaxed)
    }

    /// The cluster as of the last heartbeat.
    pub fn cluster(&self) -> ClusterView {
        self.cluster.lock().clone()
    }

    /// One heartbeat: records that this node is alive with its report, and reads the state of the others.
    pub async fn beat(&self, store: &Store, report: &str) -> Result<(), StoreError> {
        let before = self.cluster();
        let (cluster, result) = match self.exchange(store, report, &before).await {
            Ok(cluster) => (cluster, Ok(())),
            Err(error) => {
                let since = before.store_away_since.unwrap_or_else(Instant::now);
                (ClusterView { store_away_since: Some(since), ..before.clone() }, Err(error))
            }
        };
        if cluster.differing != before.differing && !cluster.differing.is_empty() {
            tracing::warn!(nodes = ?cluster.differing, "other nodes serve another catalogue");
        }
        *self.cluster.lock() = cluster;
        result
    }

    /// Renews the report between heartbeats. There is none before the first one.
    pub async fn renew_report(&self, store: &Store, report: &str) -> Result<(), StoreError> {
        if self.cluster().store_latency.is_none() {
            return Ok(());
        }
        let mut tx = store.begin().await?;
        nodes::report(&mut tx, &self.id, report).await?;
        tx.commit().await
    }

    async fn exchange(&self, store: &Store, report: &str, before: &ClusterView) -> Result<ClusterView, StoreError> {
        let asked = Instant::now();
        let clock_skew_millis = Some(clock::follow(store).await?);
        let store_latency = Some(asked.elapsed());
        let now = clock::now();
        let hash = self.routes.table().catalogue_hash.to_string();
        let node =
            Node { id: self.id.clone(), started_at: self.started_at, seen_at: now, catalogue_hash: hash.clone() };
        let mut tx = store.begin().await?;
        nodes::record(&mut tx, &node).await?;
        nodes::report(&mut tx, &self.id, report).await?;
        tx.commit().await?;
        let since = Timestamp::from_millis(now.millis() - ALIVE_MILLIS);
        let alive = nodes::count_alive(store, since).await?;
        self.alive.store(u32::try_from(alive).unwrap_or(u32::MAX).max(1), Ordering::Relaxed);
        let suspected = nodes::differing_catalogues(store, &hash, since).await?;
        let suspected: Vec<String> = suspected.into_iter().map(|node| node.id).collect();
        Ok(ClusterView {
            store_away_since: None,
            differing: suspected.iter().filter(|id| before.suspected.contains(id)).cloned().collect(),
            suspected,
            clock_skew_millis,
            store_latency,
            leader: self.find_leader(&leader::read(store).await?, before.leader, Instant::now()),
        })
    }

    fn find_leader(&self, term: &Term, before: Leader, now: Instant) -> Leader {
        let mut watch = self.watch.lock();
        let watch = watch.get_or_insert_with(|| Watch::new(term.clone(), now));
        match (watch.observe(term, &self.id, now), before) {
            (Action::Renew, _) => Leader::This,
            (Action::Wait, _) => Leader::Other,
            (Action::TakeOver, Leader::Vacant { since }) => Leader::Vacant { since },
            (Action::TakeOver, Leader::This | Leader::Other) => Leader::Vacant { since: now },
        }
    }
}
