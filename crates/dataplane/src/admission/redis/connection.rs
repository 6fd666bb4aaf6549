//! The connection of one core to Redis. It is opened in the background: a call waits for it within its own deadline, and
//! not at all once Redis is known to be unreachable.

use super::limits::RedisLimits;
use super::protocol::with_timeout;
use parking_lot::Mutex;
use redis::RedisError;
use redis::aio::MultiplexedConnection;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::timeout_at;

/// Pause after a failure before Redis is tried again.
const BACKOFF: Duration = Duration::from_secs(1);

pub(super) struct CoreConnection {
    limits: RedisLimits,
    state: Mutex<ConnectionState>,
    opened: Notify,
}

enum ConnectionState {
    /// Opened by the next call after `retry_at`.
    Closed {
        retry_at: Option<Instant>,
    },
    /// `is_late`: calls do not wait for it.
    Opening {
        is_late: bool,
    },
    Open(MultiplexedConnection),
}

pub(super) struct OpenConnection {
    pub(super) redis: MultiplexedConnection,
    /// The call has waited for this connection, which has used up a part of its time.
    pub(super) is_new: bool,
}

impl CoreConnection {
    pub(super) fn new(limits: &RedisLimits) -> Self {
        let state = Mutex::new(ConnectionState::Closed { retry_at: None });
        Self { limits: limits.clone(), state, opened: Notify::new() }
    }

    /// The connection; `None` if Redis is unreachable or does not accept a new connection before the deadline.
    pub(super) async fn get(self: &Arc<Self>, deadline: tokio::time::Instant) -> Option<OpenConnection> {
        let opened = {
            let mut state = self.state.lock();
            match &*state {
                ConnectionState::Open(redis) => {
                    return Some(OpenConnection { redis: redis.clone(), is_new: false });
                }
                ConnectionState::Opening { is_late: true } => return None,
                ConnectionState::Opening { is_late: false } => {}
                ConnectionState::Closed { retry_at } => {
                    if retry_at.is_some_and(|at| Instant::now() < at) {
                        return None;
                    }
                    let is_late = self.limits.is_degraded();
                    *state = ConnectionState::Opening { is_late };
                    #[expect(clippy::disallowed_methods, reason = "bounded by a timeout, and losing it loses nothing")]
                    tokio::spawn(Arc::clone(self).open());
                    if is_late {
                        return None;
                    }
                }
            }
            self.opened.notified()
        };
        let in_time = timeout_at(deadline, opened).await.is_ok();
        self.opened_for(in_time)
    }

    /// The connection of a call that has waited for it. After a timeout, no other call waits.
    fn opened_for(&self, in_time: bool) -> Option<OpenConnection> {
        let mut state = self.state.lock();
        match &*state {
            ConnectionState::Open(redis) if in_time => {
                return Some(OpenConnection { redis: redis.clone(), is_new: true });
            }
            ConnectionState::Opening { .. } => *state = ConnectionState::Opening { is_late: true },
            ConnectionState::Open(_) | ConnectionState::Closed { .. } => return None,
        }
        drop(state);
        self.limits.note_degraded("connect timeout");
        None
    }

    /// Drops a connection that failed, and starts the backoff.
    pub(super) fn close(&self, cause: impl std::fmt::Display) {
        {
            let mut state = self.state.lock();
            if let ConnectionState::Open(_) = &*state {
                *state = ConnectionState::Closed { retry_at: Some(Instant::now() + BACKOFF) };
            }
        }
        self.limits.note_degraded(cause);
    }

    async fn open(self: Arc<Self>) {
        let connected = connect(&self.limits, self.limits.connect_timeout).await;
        let error = {
            let mut state = self.state.lock();
            match connected {
                Ok(redis) => {
                    *state = ConnectionState::Open(redis);
                    None
                }
                Err(error) => {
                    *state = ConnectionState::Closed { retry_at: Some(Instant::now() + BACKOFF) };
                    Some(error)
                }
            }
        };
        if let Some(error) = error {
            self.limits.note_degraded(error);
        }
        self.opened.notify_waiters();
    }
}

/// Opens a connection, and notes which process of Redis it leads to.
pub(super) async fn connect(limits: &RedisLimits, timeout: Duration) -> Result<MultiplexedConnection, RedisError> {
    let mut redis = limits.client.get_multiplexed_async_connection_with_config(&with_timeout(timeout)).await?;
    // An access list may forbid it. Restarts then show only in connections that they end.
    if let Ok(info) = redis::cmd("INFO").arg("server").query_async::<String>(&mut redis).await
        && let Some(run) = info.lines().find_map(|line| line.strip_prefix("run_id:"))
    {
        limits.note_run(run.trim());
    }
    Ok(redis)
}
