//! What the cores of a node share of the limits in Redis: whether it responds, and this node's view of its buckets.

use super::node_views::{ClusterState, NodeViews};
use super::settler::Settler;
use parking_lot::Mutex;
use redis::{Client, RedisError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long after a failure buckets may be missing in Redis: any of them is full again after a minute.
const RECENT_MILLIS: u64 = 60_000;

/// The part of the limits that all cores share.
#[derive(Clone)]
pub struct RedisLimits {
    pub(super) client: Client,
    /// How long a call waits for Redis.
    pub(super) timeout: Duration,
    /// How long a connection may take to open, in the background.
    pub(super) connect_timeout: Duration,
    pub(super) views: Arc<NodeViews>,
    pub(super) settler: Settler,
    nodes: Arc<AtomicU32>,
    health: Arc<RedisHealth>,
}

struct RedisHealth {
    started: Instant,
    is_degraded: AtomicBool,
    /// Milliseconds after `started`; zero if Redis has never failed.
    failed_millis: AtomicU64,
    /// The process of Redis that this node was last connected to.
    run: Mutex<Option<String>>,
    /// How long the last ping took; zero if it failed.
    ping_micros: AtomicU64,
}

impl RedisHealth {
    fn new() -> Self {
        let (is_degraded, failed_millis) = (AtomicBool::new(false), AtomicU64::new(0));
        let ping_micros = AtomicU64::new(0);
        Self { started: Instant::now(), is_degraded, failed_millis, run: Mutex::default(), ping_micros }
    }

    fn note_failure(&self) {
        self.failed_millis.store(self.millis_at(Instant::now()).max(1), Ordering::Relaxed);
    }

    fn has_failed_recently(&self, now: Instant) -> bool {
        let failed = self.failed_millis.load(Ordering::Relaxed);
        failed > 0 && self.millis_at(now) < failed + RECENT_MILLIS
    }

    fn millis_at(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.started).as_millis()).unwrap_or(u64::MAX)
    }
}

impl RedisLimits {
    /// `nodes` is the number of live nodes, kept up to date by the caller. The settler runs on the current runtime.
    pub fn open(url: &str, timeout: Duration, nodes: Arc<AtomicU32>) -> Result<Self, RedisError> {
        let client = Client::open(url)?;
        let settler = Settler::start(client.clone());
        let (views, health) = (Arc::default(), Arc::new(RedisHealth::new()));
        Ok(Self { client, timeout, connect_timeout: CONNECT_TIMEOUT, views, settler, nodes, health })
    }

    /// Whether each node enforces only its share of the limits.
    pub fn is_degraded(&self) -> bool {
        self.health.is_degraded.load(Ordering::Relaxed)
    }

    /// How long the last ping took; `None` if it failed.
    pub fn latency(&self) -> Option<Duration> {
        let micros = self.health.ping_micros.load(Ordering::Relaxed);
        (micros > 0).then(|| Duration::from_micros(micros))
    }

    pub(super) fn note_ping(&self, took: Option<Duration>) {
        let micros = took.map_or(0, |took| u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1));
        self.health.ping_micros.store(micros, Ordering::Relaxed);
    }

    pub(super) fn note_response(&self) {
        if self.health.is_degraded.swap(false, Ordering::Relaxed) {
            tracing::info!("Redis responds again: rate limits are shared by all nodes");
        }
    }

    pub(super) fn note_degraded(&self, cause: impl std::fmt::Display) {
        self.health.note_failure();
        if !self.health.is_degraded.swap(true, Ordering::Relaxed) {
            let nodes = self.nodes();
            tracing::error!(%cause, nodes, "Redis is unreachable: each node enforces its share of the rate limits");
        }
    }

    /// Notes the process of Redis that this node is connected to. Another one may have lost the buckets.
    pub(super) fn note_run(&self, run: &str) {
        let before = self.health.run.lock().replace(run.to_owned());
        if before.is_some_and(|before| before != run) {
            self.health.note_failure();
            tracing::info!("Redis was restarted: buckets that it lost start with one node's share");
        }
    }

    pub(super) fn nodes(&self) -> u32 {
        self.nodes.load(Ordering::Relaxed)
    }

    pub(super) fn cluster(&self, now: Instant) -> ClusterState {
        ClusterState { nodes: self.nodes(), was_away: self.health.has_failed_recently(now) }
    }

    pub(super) fn deadline(&self, now: Instant) -> tokio::time::Instant {
        (now + self.timeout).into()
    }
}
