//! Buckets in Redis: one round trip before a call proceeds, settlement outside its path.
//!
//! If Redis does not respond in time, it is not used for a second. Meanwhile every node enforces its share of the limits
//! in memory, and whatever was taken from memory returns to memory, so nothing counts twice once Redis is back. A charge
//! whose response was lost is undone. A reservation that is never settled expires, and its bucket recovers by refilling.

use super::protocol::{RESERVATION_SECS, bucket_keys, look_key, reservation_key, with_timeout, workspace_bucket_keys};
use super::settler::{Settler, Work};
use crate::admission::charge::{Charge, Debit, DebitSource, Settlement};
use crate::admission::memory::MemoryLimits;
use domain::WorkspaceId;
use domain::limits::{Exceeded, LimitStatus, PerMinute, RateLimitStatus, Scope, Unit};
use parking_lot::Mutex;
use redis::aio::MultiplexedConnection;
use redis::{Client, RedisError, Script};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Pause after a failure before Redis is tried again.
const BACKOFF: Duration = Duration::from_secs(1);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

static TAKE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("take.lua")));

/// The part of the limits that all cores share.
#[derive(Clone)]
pub struct RedisLimits {
    pub(super) client: Client,
    /// How long a call waits for Redis.
    pub(super) timeout: Duration,
    local: Arc<MemoryLimits>,
    settler: Settler,
    nodes: Arc<AtomicU32>,
    degraded: Arc<AtomicBool>,
}

impl RedisLimits {
    /// `nodes` is the number of live nodes, kept up to date by the caller. The settler runs on the current runtime.
    pub fn open(url: &str, timeout: Duration, nodes: Arc<AtomicU32>) -> Result<Self, RedisError> {
        let client = Client::open(url)?;
        let settler = Settler::start(client.clone());
        Ok(Self { client, timeout, local: Arc::default(), settler, nodes, degraded: Arc::default() })
    }

    /// Whether each node enforces only its share of the limits.
    pub fn is_degraded(&self) -> bool {
        self.degraded.load(Ordering::Relaxed)
    }

    pub(super) fn note_response(&self) {
        if self.degraded.swap(false, Ordering::Relaxed) {
            tracing::info!("Redis responds again: rate limits are shared by all nodes");
        }
    }

    pub(super) fn note_degraded(&self, cause: impl std::fmt::Display) {
        if !self.degraded.swap(true, Ordering::Relaxed) {
            let nodes = self.nodes.load(Ordering::Relaxed);
            tracing::error!(%cause, nodes, "Redis is unreachable: each node enforces its share of the rate limits");
        }
    }
}

/// The limits as seen by one core, with its own connection.
pub struct RedisLimiter {
    limits: RedisLimits,
    connection: Mutex<ConnectionState>,
    connection_changed: Notify,
}

#[derive(Default)]
struct ConnectionState {
    open: Option<MultiplexedConnection>,
    is_connecting: bool,
    retry_at: Option<Instant>,
}

impl RedisLimiter {
    pub(in crate::admission) fn new(limits: &RedisLimits) -> Self {
        Self { limits: limits.clone(), connection: Mutex::default(), connection_changed: Notify::new() }
    }

    pub(in crate::admission) fn local(&self) -> &MemoryLimits {
        &self.limits.local
    }

    pub(in crate::admission) async fn take(
        self: &Arc<Self>,
        charge: Charge,
    ) -> Result<(Debit, RateLimitStatus), Exceeded> {
        let Some(connection) = self.connection().await else { return self.take_share(charge) };
        let (keys, reservation) = (bucket_keys(&charge), reservation_key(&charge));
        let unconfirmed = UnconfirmedCharge { settler: &self.limits.settler, charge: Some(charge.clone()) };
        match self.run(connection, &keys, charge.limits(), 1, charge.tokens, &reservation, RESERVATION_SECS).await {
            Some(levels) => {
                unconfirmed.confirm();
                let status = levels.check(&charge)?;
                Ok((Debit { charge, source: DebitSource::Redis }, status))
            }
            None => self.take_share(charge),
        }
    }

    fn take_share(&self, charge: Charge) -> Result<(Debit, RateLimitStatus), Exceeded> {
        let nodes = self.limits.nodes.load(Ordering::Relaxed);
        let status = self.limits.local.take(&charge, nodes)?;
        Ok((Debit { charge, source: DebitSource::MemoryShare(nodes) }, status))
    }

    pub(in crate::admission) async fn look(
        self: &Arc<Self>,
        workspace: &WorkspaceId,
        limits: PerMinute,
    ) -> RateLimitStatus {
        let levels = match self.connection().await {
            Some(connection) => {
                let keys = workspace_bucket_keys(workspace);
                self.run(connection, &keys, [limits].into_iter(), 0, 0, &look_key(workspace), 1).await
            }
            None => None,
        };
        match levels {
            Some(levels) => levels.status([limits].into_iter()),
            None => self.limits.local.look(workspace, limits, self.limits.nodes.load(Ordering::Relaxed)),
        }
    }

    /// Raises the reservation of the call to the tokens of its charge.
    pub(in crate::admission) fn take_more(&self, charge: &Charge) {
        self.limits.settler.push(Work::Raise(charge.clone()));
    }

    pub(in crate::admission) fn settle(&self, charge: Charge, settlement: Settlement) {
        self.limits.settler.push(Work::Settle(charge, settlement));
    }

    /// Runs the script. `None` if Redis is unreachable.
    #[expect(clippy::too_many_arguments, reason = "they are the arguments of the script")]
    async fn run(
        &self,
        mut connection: MultiplexedConnection,
        keys: &[String],
        limits: impl Iterator<Item = PerMinute>,
        requests: u64,
        tokens: u64,
        reservation: &str,
        reservation_secs: u64,
    ) -> Option<BucketLevels> {
        let mut call = TAKE.prepare_invoke();
        for key in keys {
            call.key(key);
        }
        call.key(reservation);
        for limits in limits {
            call.arg(limits.requests).arg(requests).arg(limits.tokens).arg(tokens);
        }
        call.arg(tokens).arg(reservation_secs);
        let response = tokio::time::timeout(self.limits.timeout, call.invoke_async::<Vec<i64>>(&mut connection)).await;
        match response {
            Ok(Ok(response)) if response.len() >= 4 => {
                self.limits.note_response();
                Some(BucketLevels(response))
            }
            Ok(Ok(_)) => self.disconnect("malformed response"),
            Ok(Err(error)) => self.disconnect(&error),
            Err(_elapsed) => self.disconnect("response timeout"),
        }
    }

    /// Drops the connection and starts the backoff.
    fn disconnect<T>(&self, cause: impl std::fmt::Display) -> Option<T> {
        {
            let mut state = self.connection.lock();
            state.open = None;
            state.retry_at = Some(Instant::now() + BACKOFF);
        }
        self.limits.note_degraded(cause);
        None
    }

    /// The connection of this core. Calls wait only for the first one: after a failure, it is opened in the background.
    async fn connection(self: &Arc<Self>) -> Option<MultiplexedConnection> {
        let changed = self.connection_changed.notified();
        {
            let mut state = self.connection.lock();
            if let Some(connection) = &state.open {
                return Some(connection.clone());
            }
            if !state.is_connecting {
                if state.retry_at.is_some_and(|at| Instant::now() < at) {
                    return None;
                }
                state.is_connecting = true;
                #[expect(clippy::disallowed_methods, reason = "bounded by a timeout, and losing it loses nothing")]
                tokio::spawn(Arc::clone(self).connect());
            }
        }
        if self.limits.is_degraded() {
            return None;
        }
        let _ = tokio::time::timeout(CONNECT_TIMEOUT, changed).await;
        self.connection.lock().open.clone()
    }

    async fn connect(self: Arc<Self>) {
        let config = with_timeout(CONNECT_TIMEOUT);
        let connected = self.limits.client.get_multiplexed_async_connection_with_config(&config).await;
        let error = {
            let mut state = self.connection.lock();
            state.is_connecting = false;
            state.retry_at = Some(Instant::now() + BACKOFF);
            connected.map(|connection| state.open = Some(connection)).err()
        };
        if let Some(error) = error {
            self.limits.note_degraded(error);
        }
        self.connection_changed.notify_waiters();
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

    fn status(&self, limits: impl Iterator<Item = PerMinute>) -> RateLimitStatus {
        let pairs = self.0[2..].chunks_exact(2).zip(limits);
        let scopes = pairs.map(|(levels, limits)| RateLimitStatus {
            requests: LimitStatus::of_level(limits.requests, levels[0]),
            tokens: LimitStatus::of_level(limits.tokens, levels[1]),
        });
        scopes.reduce(RateLimitStatus::tighter).expect("the response has the buckets of the workspace")
    }
}
