//! Asks Redis now and then, so that its state is known also while nobody calls.

use super::shared::{RedisLimits, bounded_by};
use domain::Timestamp;
use redis::RedisError;
use redis::aio::MultiplexedConnection;
use std::time::{Duration, Instant};

const ASK_EVERY: Duration = Duration::from_secs(5);
/// Far longer than a call waits: a Redis that is merely slow is for calls to complain about.
const PATIENCE: Duration = Duration::from_secs(2);

/// What time it is for the Redis at this address, if it answers at all. For a person who wants to know.
pub async fn clock_of_redis(url: &str) -> Result<Timestamp, RedisError> {
    let client = redis::Client::open(url)?;
    let mut connection = client.get_multiplexed_async_connection_with_config(&bounded_by(PATIENCE)).await?;
    let (seconds, micros): (i64, i64) = redis::cmd("TIME").query_async(&mut connection).await?;
    Ok(Timestamp::from_millis(seconds * 1_000 + micros / 1_000))
}

impl RedisLimits {
    /// Asks for ever, on a connection of its own.
    pub async fn keep_asking(self) {
        let mut connection = None;
        loop {
            tokio::time::sleep(ASK_EVERY).await;
            let asked = Instant::now();
            match self.ask(&mut connection).await {
                Ok(()) if asked.elapsed() <= self.patience => self.note_answer(),
                Ok(()) => {}
                Err(error) => {
                    connection = None;
                    self.note_degraded(error);
                }
            }
        }
    }

    async fn ask(&self, connection: &mut Option<MultiplexedConnection>) -> Result<(), RedisError> {
        let connection = match connection {
            Some(connection) => connection,
            None => {
                let config = bounded_by(PATIENCE);
                connection.insert(self.client.get_multiplexed_async_connection_with_config(&config).await?)
            }
        };
        redis::cmd("PING").query_async::<()>(connection).await
    }
}
