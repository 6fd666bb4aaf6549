//! Carries the loads of nodes through Redis: each publishes its own and subscribes to those of the others.
//!
//! Calls wait for none of this. While Redis is away, what others have reported ages out and each node continues alone.

use fleet::LoadSharing;
use futures_util::StreamExt;
use redis::aio::{MultiplexedConnection, PubSub};
use redis::{AsyncConnectionConfig, Client, RedisError};
use std::io;
use std::pin::pin;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

const CHANNEL: &str = "forebay:loads";
/// How often news is looked for and published, while calls are running and otherwise.
const BUSY_PERIOD: Duration = Duration::from_millis(10);
const IDLE_PERIOD: Duration = Duration::from_millis(50);
const TIMEOUT: Duration = Duration::from_secs(2);
/// How often old reports are dropped while Redis does not respond.
const AGEING_PERIOD: Duration = Duration::from_millis(100);
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
        let Self { client, sharing } = self;
        sharing.apply(Instant::now());
        let connected = with_ticks(Box::pin(connect(client)), AGEING_PERIOD, || sharing.apply(Instant::now())).await;
        let (mut publisher, subscriber) = connected?;
        let (_sink, mut messages) = subscriber.split();
        let mut pause = pin!(sleep(IDLE_PERIOD));
        loop {
            tokio::select! {
                message = messages.next() => match message {
                    Some(message) => sharing.receive(message.get_payload_bytes(), Instant::now()),
                    None => return Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
                },
                () = &mut pause => {
                    let messages = sharing.collect(Instant::now());
                    let period = if sharing.has_reported_load() { BUSY_PERIOD } else { IDLE_PERIOD };
                    for message in messages {
                        let mut publish = redis::cmd("PUBLISH");
                        let published = publish.arg(CHANNEL).arg(message).query_async::<()>(&mut publisher);
                        with_ticks(published, AGEING_PERIOD, || sharing.apply(Instant::now())).await?;
                    }
                    sharing.apply(Instant::now());
                    pause.as_mut().reset(tokio::time::Instant::now() + period);
                }
            }
        }
    }
}

async fn connect(client: &Client) -> Result<(MultiplexedConnection, PubSub), RedisError> {
    let config = AsyncConnectionConfig::new().set_connection_timeout(Some(TIMEOUT)).set_response_timeout(Some(TIMEOUT));
    let publisher = client.get_multiplexed_async_connection_with_config(&config).await?;
    let mut subscriber = timeout(TIMEOUT, client.get_async_pubsub()).await.map_err(timed_out)??;
    timeout(TIMEOUT, subscriber.subscribe(CHANNEL)).await.map_err(timed_out)??;
    Ok((publisher, subscriber))
}

/// Waits for `work`, and calls `tick` every period meanwhile.
async fn with_ticks<T>(work: impl Future<Output = T>, period: Duration, mut tick: impl FnMut()) -> T {
    let mut work = pin!(work);
    loop {
        match timeout(period, work.as_mut()).await {
            Ok(done) => return done,
            Err(_elapsed) => tick(),
        }
    }
}

fn timed_out(_: tokio::time::error::Elapsed) -> RedisError {
    io::Error::from(io::ErrorKind::TimedOut).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn reports_age_out_while_redis_does_not_respond() {
        let (sender, response) = oneshot::channel();
        let (mut sender, mut ticks) = (Some(sender), 0);
        let tick = || {
            ticks += 1;
            if ticks == 3 {
                sender.take().expect("sent once").send("late").expect("still waited for");
            }
        };
        assert_eq!(with_ticks(response, Duration::from_millis(1), tick).await, Ok("late"));
    }
}
