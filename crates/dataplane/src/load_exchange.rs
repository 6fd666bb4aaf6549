//! Carries the loads of nodes through Redis: each publishes its own and subscribes to those of the others.
//!
//! Calls wait for none of this. While Redis is away, what others have reported ages out and each node goes on alone.

use fleet::LoadSharing;
use futures_util::StreamExt;
use redis::{AsyncConnectionConfig, Client, RedisError};
use std::io;
use std::pin::pin;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

const CHANNEL: &str = "forebay:loads";
/// How often news is published, and looked for while there is none.
const BUSY_PERIOD: Duration = Duration::from_millis(10);
const IDLE_PERIOD: Duration = Duration::from_millis(50);
const TIMEOUT: Duration = Duration::from_secs(2);
/// Pause after a failure before Redis is tried again.
pub const RETRY_DELAY: Duration = Duration::from_secs(1);

pub struct LoadExchange {
    client: Client,
    sharing: LoadSharing,
}

impl LoadExchange {
    pub fn open(url: &str, sharing: LoadSharing) -> Result<Self, RedisError> {
        Ok(Self { client: Client::open(url)?, sharing })
    }

    /// Exchanges loads until the connection fails.
    pub async fn round(&mut self) -> Result<(), RedisError> {
        self.sharing.apply(Instant::now());
        let config =
            AsyncConnectionConfig::new().set_connection_timeout(Some(TIMEOUT)).set_response_timeout(Some(TIMEOUT));
        let mut publisher = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        let mut subscriber = timeout(TIMEOUT, self.client.get_async_pubsub()).await.map_err(timed_out)??;
        timeout(TIMEOUT, subscriber.subscribe(CHANNEL)).await.map_err(timed_out)??;
        let (_sink, mut messages) = subscriber.split();
        let mut pause = pin!(sleep(IDLE_PERIOD));
        loop {
            tokio::select! {
                message = messages.next() => match message {
                    Some(message) => self.sharing.receive(message.get_payload_bytes(), Instant::now()),
                    None => return Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
                },
                () = &mut pause => {
                    let messages = self.sharing.collect(Instant::now());
                    let period = if messages.is_empty() { IDLE_PERIOD } else { BUSY_PERIOD };
                    for message in messages {
                        redis::cmd("PUBLISH").arg(CHANNEL).arg(message).query_async::<()>(&mut publisher).await?;
                    }
                    self.sharing.apply(Instant::now());
                    pause.as_mut().reset(tokio::time::Instant::now() + period);
                }
            }
        }
    }
}

fn timed_out(_: tokio::time::error::Elapsed) -> RedisError {
    io::Error::from(io::ErrorKind::TimedOut).into()
}
