//! Pings Redis periodically, so that its state is known even without traffic.

use super::connection::connect;
use super::limits::RedisLimits;
use super::protocol::with_timeout;
use domain::Timestamp;
use redis::RedisError;
use redis::aio::MultiplexedConnection;
use std::time::{Duration, Instant};

/// Period of [`RedisPing::round`].
pub const PING_PERIOD: Duration = Duration::from_secs(5);
/// Much longer than the timeout of a call: a slow Redis is reported by the calls themselves.
const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// The clock of the Redis server at this address, for `admin doctor`.
pub async fn redis_time(url: &str) -> Result<Timestamp, RedisError> {
    let client = redis::Client::open(url)?;
    let mut connection = client.get_multiplexed_async_connection_with_config(&with_timeout(PING_TIMEOUT)).await?;
    let (seconds, micros): (i64, i64) = redis::cmd("TIME").query_async(&mut connection).await?;
    Ok(Timestamp::from_millis(seconds * 1_000 + micros / 1_000))
}

/// Pings Redis on its own connection.
pub struct RedisPing {
    limits: RedisLimits,
    connection: Option<MultiplexedConnection>,
}

impl RedisPing {
    pub fn new(limits: RedisLimits) -> Self {
        Self { limits, connection: None }
    }

    pub async fn round(&mut self) -> Result<(), RedisError> {
        let began = Instant::now();
        let result = self.ping().await;
        self.limits.note_ping(result.is_ok().then(|| began.elapsed()));
        match &result {
            Ok(()) if began.elapsed() <= self.limits.timeout => self.limits.note_response(),
            Ok(()) => {}
            Err(error) => {
                self.connection = None;
                self.limits.note_degraded(error);
            }
        }
        result
    }

    async fn ping(&mut self) -> Result<(), RedisError> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => {
                let opened = connect(&self.limits, PING_TIMEOUT).await?;
                self.connection.insert(opened)
            }
        };
        redis::cmd("PING").query_async::<()>(connection).await
    }
}
