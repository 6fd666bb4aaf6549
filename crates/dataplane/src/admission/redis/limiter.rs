//! Buckets in Redis: one round trip before a call proceeds, settlement outside its path.
//!
//! If Redis does not respond in time, it is not used for a second. Meanwhile every node enforces its share of the limits
//! in memory, beginning with the last levels it saw, and hands over what it granted once Redis is back
//! (`domain::limits::NodeBuckets`). A charge whose response was lost is undone. A reservation that is never settled
//! expires, and its bucket recovers by refilling.

use super::connection::{CONNECT_TIMEOUT, CoreConnection, OpenConnection};
use super::node_views::{CarriedScope, CarriedScopes, ClusterState, NodeViews};
use super::protocol::{RESERVATION_SECS, bucket_keys, look_key, reservation_key, workspace_bucket_keys};
use super::settler::{Settler, Work};
use crate::admission::charge::{Charge, Debit, DebitSource, Settlement};
use domain::WorkspaceId;
use domain::limits::{CarriedLevel, Exceeded, LimitStatus, PerMinute, RateLimitStatus, Scope, SharedLevels, Unit};
use parking_lot::Mutex;
use redis::{Client, RedisError, Script};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use tokio::time::timeout_at;

/// How long after a failure buckets may be missing in Redis: any of them is full again after a minute.
const RECENT_MILLIS: u64 = 60_000;

static TAKE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("take.lua")));

/// The part of the limits that all cores share.
#[derive(Clone)]
pub struct RedisLimits {
    pub(super) client: Client,
    /// How long a call waits for Redis.
    pub(super) timeout: Duration,
    /// How long a connection may take to open, in the background.
    pub(super) connect_timeout: Duration,
    views: Arc<NodeViews>,
    settler: Settler,
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

    fn nodes(&self) -> u32 {
        self.nodes.load(Ordering::Relaxed)
    }

    fn cluster(&self, now: Instant) -> ClusterState {
        ClusterState { nodes: self.nodes(), was_away: self.health.has_failed_recently(now) }
    }

    fn deadline(&self, now: Instant) -> tokio::time::Instant {
        (now + self.timeout).into()
    }
}

/// The limits as seen by one core, with its own connection.
pub struct RedisLimiter {
    limits: RedisLimits,
    connection: Arc<CoreConnection>,
}

/// The arguments of the script.
struct Question {
    keys: Vec<String>,
    scopes: CarriedScopes,
    requests: u64,
    tokens: u64,
    reservation: String,
    reservation_secs: u64,
}

impl RedisLimiter {
    pub(in crate::admission) fn new(limits: &RedisLimits) -> Self {
        Self { limits: limits.clone(), connection: Arc::new(CoreConnection::new(limits)) }
    }

    /// Takes a charge from Redis; from this node's share if Redis does not respond in time.
    pub(in crate::admission) async fn take(&self, charge: Charge) -> Result<(Debit, RateLimitStatus), Exceeded> {
        let now = Instant::now();
        let deadline = self.limits.deadline(now);
        let Some(connection) = self.connection.get(deadline).await else { return self.take_share(charge) };
        let cluster = self.limits.cluster(now);
        let question = Question {
            keys: bucket_keys(&charge),
            scopes: self.limits.views.carry(&charge, cluster, now),
            requests: 1,
            tokens: charge.tokens,
            reservation: reservation_key(&charge),
            reservation_secs: RESERVATION_SECS,
        };
        let unconfirmed = UnconfirmedCharge { settler: &self.limits.settler, charge: Some(charge.clone()) };
        match self.ask(connection, deadline, question).await {
            Some(levels) => {
                unconfirmed.confirm();
                self.limits.views.note_response(&charge, cluster.nodes, levels.scopes());
                let status = levels.check(&charge)?;
                Ok((Debit { charge, source: DebitSource::Redis }, status))
            }
            None => self.take_share(charge),
        }
    }

    fn take_share(&self, charge: Charge) -> Result<(Debit, RateLimitStatus), Exceeded> {
        let status = self.limits.views.take_share(&charge, self.limits.nodes())?;
        Ok((Debit { charge, source: DebitSource::Share }, status))
    }

    pub(in crate::admission) async fn look(&self, workspace: &WorkspaceId, limits: PerMinute) -> RateLimitStatus {
        let now = Instant::now();
        let deadline = self.limits.deadline(now);
        let levels = match self.connection.get(deadline).await {
            Some(connection) => {
                let cluster = self.limits.cluster(now);
                let question = Question {
                    keys: workspace_bucket_keys(workspace),
                    scopes: self.limits.views.carry_workspace(workspace, limits, cluster, now),
                    requests: 0,
                    tokens: 0,
                    reservation: look_key(workspace),
                    reservation_secs: 1,
                };
                self.ask(connection, deadline, question).await
            }
            None => None,
        };
        match levels {
            Some(levels) => levels.status(std::iter::once(limits)),
            None => self.limits.views.look(workspace, limits, self.limits.nodes()),
        }
    }

    /// Raises the reservation of the call by `more` tokens, to those of its charge.
    pub(in crate::admission) fn take_more(&self, charge: &Charge, more: i64, now: Instant) {
        self.limits.views.settle_shared(charge, 0, -more, now);
        self.limits.settler.push(Work::Raise(charge.clone()));
    }

    pub(in crate::admission) fn settle(&self, charge: Charge, settlement: Settlement) {
        self.limits.settler.push(Work::Settle(charge, settlement));
    }

    /// Notes what a settlement returns to the buckets in Redis.
    pub(in crate::admission) fn note_settlement(&self, charge: &Charge, requests: i64, tokens: i64, now: Instant) {
        self.limits.views.settle_shared(charge, requests, tokens, now);
    }

    /// Returns requests and tokens to this node's share; takes them if negative.
    pub(in crate::admission) fn settle_share(&self, charge: &Charge, requests: i64, tokens: i64, now: Instant) {
        self.limits.views.settle_share(charge, self.limits.nodes(), requests, tokens, now);
    }

    /// Runs the script. `None` if Redis does not respond in time.
    async fn ask(
        &self,
        mut connection: OpenConnection,
        deadline: tokio::time::Instant,
        question: Question,
    ) -> Option<BucketLevels> {
        let Question { keys, scopes, requests, tokens, reservation, reservation_secs } = question;
        let mut call = TAKE.prepare_invoke();
        for key in &keys {
            call.key(key);
        }
        call.key(reservation);
        for CarriedScope { limits, carried } in scopes.iter() {
            let buckets = [(limits.requests, requests, carried.requests), (limits.tokens, tokens, carried.tokens)];
            for (capacity, cost, CarriedLevel { start_milli, drawn_milli }) in buckets {
                call.arg(capacity).arg(cost).arg(start_milli).arg(drawn_milli);
            }
        }
        call.arg(tokens).arg(reservation_secs);
        match timeout_at(deadline, call.invoke_async::<Vec<i64>>(&mut connection.redis)).await {
            Ok(Ok(response)) if response.len() >= 4 => {
                self.limits.note_response();
                return Some(BucketLevels(response));
            }
            Ok(Ok(_)) => self.connection.close("malformed response"),
            Ok(Err(error)) => self.connection.close(&error),
            Err(_elapsed) if connection.is_new => {}
            Err(_elapsed) => self.connection.close("response timeout"),
        }
        None
    }
}

/// A charge sent to Redis. If its response is lost, because of a timeout or a client that disconnected, Redis may have
/// taken it nevertheless, so it is undone on drop.
struct UnconfirmedCharge<'a> {
    settler: &'a Settler,
    charge: Option<Charge>,
}

impl UnconfirmedCharge<'_> {
    fn confirm(mut self) {
        self.charge = None;
    }
}

impl Drop for UnconfirmedCharge<'_> {
    fn drop(&mut self) {
        if let Some(charge) = self.charge.take() {
            self.settler.push(Work::Settle(charge, Settlement::Undone));
        }
    }
}

/// The response of the script: milliseconds to wait, the number of the bucket that requires it, and the levels.
///
/// Example: `[1500, 2, 59, -40]` means that the second bucket (tokens of the workspace) is 40 below zero, and that the
/// call may be tried again in 1.5 s. `[0, 0, 58, 900]` means that the call was admitted.
struct BucketLevels(Vec<i64>);

impl BucketLevels {
    fn check(&self, charge: &Charge) -> Result<RateLimitStatus, Exceeded> {
        let rate_limits = self.status(charge.limits());
        let wait_millis = self.0[0].max(0).unsigned_abs();
        if wait_millis == 0 {
            return Ok(rate_limits);
        }
        let slowest = usize::try_from(self.0[1]).unwrap_or(1).clamp(1, self.0.len() - 2) - 1;
        let scope = if slowest < 2 { Scope::Workspace } else { Scope::Key };
        let unit = if slowest.is_multiple_of(2) { Unit::Requests } else { Unit::Tokens };
        let limits = charge.limits().nth(slowest / 2).unwrap_or(charge.workspace_limits);
        let limit = if unit == Unit::Requests { limits.requests } else { limits.tokens };
        let used = i64::try_from(limit).unwrap_or(i64::MAX).saturating_sub(self.0[slowest + 2]);
        Err(Exceeded { scope, unit, limit, used: used.max(0).unsigned_abs(), wait_millis, rate_limits })
    }

    /// The levels of the workspace, then those of the key.
    fn scopes(&self) -> impl Iterator<Item = SharedLevels> {
        self.0[2..].chunks_exact(2).map(|levels| SharedLevels { requests: levels[0], tokens: levels[1] })
    }

    fn status(&self, limits: impl Iterator<Item = PerMinute>) -> RateLimitStatus {
        let scopes = self.scopes().zip(limits).map(|(levels, limits)| RateLimitStatus {
            requests: LimitStatus::of_level(limits.requests, levels.requests),
            tokens: LimitStatus::of_level(limits.tokens, levels.tokens),
        });
        scopes.reduce(RateLimitStatus::tighter).expect("the response has the buckets of the workspace")
    }
}

#[cfg(test)]
#[path = "limiter_tests.rs"]
mod tests;
