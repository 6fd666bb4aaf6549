//! Buckets in Redis, shared by all nodes: one round trip before a call goes on, settlement off its path.
//!
//! A Redis that does not answer in time is left alone for a second. Meanwhile every node enforces its share in
//! memory, and whatever was taken there is given back there, so nothing counts twice when Redis is back. What Redis may
//! have taken without our hearing of it is undone. A reservation that is never settled ends by itself, and its bucket
//! heals by refilling.

use super::memory::Memory;
use super::minute::{Charge, Debit, From, Minutes, Settlement};
use super::settling::{Settler, Work};
use domain::limits::{Exceeded, LimitStatus, PerMinute, RateLimitStatus, Scope, Unit};
use domain::{KeyId, WorkspaceId};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisError, Script};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How long Redis is left alone when it did not answer.
const BREAK: Duration = Duration::from_secs(1);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// A reservation that nobody settles or raises ends.
pub(super) const RESERVATION_SECS: u64 = 900;

static TAKE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("take.lua")));

/// A connection that is neither opened nor waited on for longer.
pub(super) fn bounded_by(patience: Duration) -> AsyncConnectionConfig {
    AsyncConnectionConfig::new().set_connection_timeout(Some(patience)).set_response_timeout(Some(patience))
}

/// What all cores share.
#[derive(Clone)]
pub struct RedisLimits {
    pub(super) client: Client,
    /// How long a call waits for Redis.
    pub(super) patience: Duration,
    local: Arc<Memory>,
    settler: Settler,
    nodes: Arc<AtomicU32>,
    degraded: Arc<AtomicBool>,
}

impl RedisLimits {
    /// `nodes` is kept at the number of nodes that live. The settling runs on the present runtime.
    pub fn open(url: &str, patience: Duration, nodes: Arc<AtomicU32>) -> Result<Self, RedisError> {
        let client = Client::open(url)?;
        let settler = Settler::start(client.clone());
        Ok(Self { client, patience, local: Arc::default(), settler, nodes, degraded: Arc::default() })
    }

    /// Whether the nodes count apart, each its share.
    pub fn is_degraded(&self) -> bool {
        self.degraded.load(Ordering::Relaxed)
    }

    /// Redis did what it was asked.
    pub(super) fn note_answer(&self) {
        if self.degraded.swap(false, Ordering::Relaxed) {
            tracing::info!("Redis answers again: limits are shared by all nodes");
        }
    }

    pub(super) fn note_degraded(&self, cause: impl std::fmt::Display) {
        if !self.degraded.swap(true, Ordering::Relaxed) {
            let nodes = self.nodes.load(Ordering::Relaxed);
            tracing::error!(%cause, nodes, "Redis is away: each node enforces its share of the limits by the minute");
        }
    }

    /// The limits with a connection of one core's own.
    pub fn for_core(&self) -> Minutes {
        Minutes::Shared(Arc::new(Shared { limits: self.clone(), link: Link::default() }))
    }
}

/// The limits as one core sees them.
pub struct Shared {
    limits: RedisLimits,
    link: Link,
}

#[derive(Default)]
struct Link {
    state: Mutex<LinkState>,
    changed: Notify,
}

#[derive(Default)]
struct LinkState {
    connection: Option<MultiplexedConnection>,
    connecting: bool,
    retry_at: Option<Instant>,
}

impl Shared {
    pub(super) fn local(&self) -> &Memory {
        &self.limits.local
    }

    pub(super) async fn take(self: &Arc<Self>, charge: Charge) -> Result<(Debit, RateLimitStatus), Exceeded> {
        let Some(connection) = self.connection().await else { return self.take_share(charge) };
        let (keys, reservation) = (charge_keys(&charge), reservation_key(&charge));
        let unheard = Unheard { settler: &self.limits.settler, charge: Some(charge.clone()) };
        match self.run(connection, &keys, limits_of(&charge), 1, charge.tokens, &reservation, RESERVATION_SECS).await {
            Some(levels) => {
                unheard.heard();
                let standings = levels.judge(&charge)?;
                Ok((Debit::new(charge, From::Shared), standings))
            }
            None => self.take_share(charge),
        }
    }

    fn take_share(&self, charge: Charge) -> Result<(Debit, RateLimitStatus), Exceeded> {
        let nodes = self.limits.nodes.load(Ordering::Relaxed);
        let standings = self.limits.local.take(&charge, nodes)?;
        Ok((Debit::new(charge, From::Share(nodes)), standings))
    }

    pub(super) async fn look(self: &Arc<Self>, workspace: &WorkspaceId, limits: PerMinute) -> RateLimitStatus {
        let levels = match self.connection().await {
            Some(connection) => {
                let keys = bucket_keys(workspace, None);
                self.run(connection, &keys, [limits].into_iter(), 0, 0, &look_key(workspace), 1).await
            }
            None => None,
        };
        match levels {
            Some(levels) => levels.standings([limits].into_iter()),
            None => self.limits.local.look(workspace, limits, self.limits.nodes.load(Ordering::Relaxed)),
        }
    }

    /// The call counts with what its charge says now.
    pub(super) fn take_more(&self, charge: &Charge) {
        self.limits.settler.push(Work::Raise(charge.clone()));
    }

    pub(super) fn settle(&self, charge: Charge, settlement: Settlement) {
        self.limits.settler.push(Work::Settle(charge, settlement));
    }

    /// Runs the script, or tells that Redis is away.
    #[expect(clippy::too_many_arguments, reason = "they are those of the script")]
    async fn run(
        &self,
        mut connection: MultiplexedConnection,
        keys: &[String],
        limits: impl Iterator<Item = PerMinute>,
        requests: u64,
        tokens: u64,
        reservation: &str,
        reservation_secs: u64,
    ) -> Option<Levels> {
        let mut call = TAKE.prepare_invoke();
        for key in keys {
            call.key(key);
        }
        call.key(reservation);
        for limits in limits {
            call.arg(limits.requests).arg(requests).arg(limits.tokens).arg(tokens);
        }
        call.arg(tokens).arg(reservation_secs);
        let answer = tokio::time::timeout(self.limits.patience, call.invoke_async::<Vec<i64>>(&mut connection)).await;
        match answer {
            Ok(Ok(answer)) if answer.len() >= 4 => {
                self.limits.note_answer();
                Some(Levels(answer))
            }
            Ok(Ok(_)) => self.give_up("an answer that makes no sense"),
            Ok(Err(error)) => self.give_up(&error),
            Err(_elapsed) => self.give_up("no answer in time"),
        }
    }

    /// Leaves Redis alone for a while.
    fn give_up<T>(&self, cause: impl std::fmt::Display) -> Option<T> {
        let mut state = self.link.state();
        state.connection = None;
        state.retry_at = Some(Instant::now() + BREAK);
        drop(state);
        self.limits.note_degraded(cause);
        None
    }

    /// The connection of this core. Only the first is waited for: while Redis is away, others are opened behind the calls.
    async fn connection(self: &Arc<Self>) -> Option<MultiplexedConnection> {
        let changed = self.link.changed.notified();
        {
            let mut state = self.link.state();
            if let Some(connection) = &state.connection {
                return Some(connection.clone());
            }
            if !state.connecting {
                if state.retry_at.is_some_and(|at| Instant::now() < at) {
                    return None;
                }
                state.connecting = true;
                #[expect(clippy::disallowed_methods, reason = "it ends by itself, and nothing is lost with it")]
                tokio::spawn(Arc::clone(self).connect());
            }
        }
        if self.limits.is_degraded() {
            return None;
        }
        let _ = tokio::time::timeout(CONNECT_TIMEOUT, changed).await;
        self.link.state().connection.clone()
    }

    async fn connect(self: Arc<Self>) {
        let config = bounded_by(CONNECT_TIMEOUT);
        let connected = self.limits.client.get_multiplexed_async_connection_with_config(&config).await;
        let failed = {
            let mut state = self.link.state();
            state.connecting = false;
            state.retry_at = Some(Instant::now() + BREAK);
            match connected {
                Ok(connection) => {
                    state.connection = Some(connection);
                    None
                }
                Err(error) => Some(error),
            }
        };
        if let Some(error) = failed {
            self.limits.note_degraded(error);
        }
        self.link.changed.notify_waiters();
    }
}

/// A question to Redis. When its answer is not heard, because it came too late or its call has left, it may have been
/// done all the same, and is undone.
struct Unheard<'a> {
    settler: &'a Settler,
    charge: Option<Charge>,
}

impl Unheard<'_> {
    fn heard(mut self) {
        self.charge = None;
    }
}

impl Drop for Unheard<'_> {
    fn drop(&mut self) {
        if let Some(charge) = self.charge.take() {
            self.settler.push(Work::Settle(charge, Settlement::Undone));
        }
    }
}

impl Link {
    fn state(&self) -> MutexGuard<'_, LinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the script answers: the wait, the bucket that asks for it, and the levels.
struct Levels(Vec<i64>);

impl Levels {
    fn judge(&self, charge: &Charge) -> Result<RateLimitStatus, Exceeded> {
        let standings = self.standings(limits_of(charge));
        let wait_millis = self.0[0].max(0).unsigned_abs();
        if wait_millis == 0 {
            return Ok(standings);
        }
        let slowest = usize::try_from(self.0[1]).unwrap_or(1).clamp(1, self.0.len() - 2) - 1;
        let scope = if slowest < 2 { Scope::Workspace } else { Scope::Key };
        let unit = if slowest.is_multiple_of(2) { Unit::Requests } else { Unit::Tokens };
        let limits = limits_of(charge).nth(slowest / 2).unwrap_or(charge.workspace_limits);
        let limit = if unit == Unit::Requests { limits.requests } else { limits.tokens };
        let used = i64::try_from(limit).unwrap_or(i64::MAX).saturating_sub(self.0[slowest + 2]);
        Err(Exceeded { scope, unit, limit, used: used.max(0).unsigned_abs(), wait_millis, standings })
    }

    fn standings(&self, limits: impl Iterator<Item = PerMinute>) -> RateLimitStatus {
        let pairs = self.0[2..].chunks_exact(2).zip(limits);
        let each = pairs.map(|(levels, limits)| RateLimitStatus {
            requests: LimitStatus::of_level(limits.requests, levels[0]),
            tokens: LimitStatus::of_level(limits.tokens, levels[1]),
        });
        each.reduce(RateLimitStatus::tighter).expect("the script answers for the workspace at least")
    }
}

pub(super) fn limits_of(charge: &Charge) -> impl Iterator<Item = PerMinute> {
    std::iter::once(charge.workspace_limits).chain(charge.key().map(|(_, limits)| limits))
}

/// Requests and tokens of the workspace, then of the key. All names of a workspace share a hash tag.
fn bucket_keys(workspace: &WorkspaceId, key: Option<&KeyId>) -> Vec<String> {
    let mut keys = vec![format!("forebay:{{{workspace}}}:requests"), format!("forebay:{{{workspace}}}:tokens")];
    if let Some(key) = key {
        keys.push(format!("forebay:{{{workspace}}}:{key}:requests"));
        keys.push(format!("forebay:{{{workspace}}}:{key}:tokens"));
    }
    keys
}

pub(super) fn charge_keys(charge: &Charge) -> Vec<String> {
    bucket_keys(charge.workspace(), charge.key().map(|(key, _)| key))
}

pub(super) fn reservation_key(charge: &Charge) -> String {
    format!("forebay:{{{}}}:{}", charge.workspace(), charge.request)
}

/// Looking takes nothing, but the script wants a name for what it takes.
fn look_key(workspace: &WorkspaceId) -> String {
    format!("forebay:{{{workspace}}}:look")
}
