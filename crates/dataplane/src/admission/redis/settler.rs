//! Settles and raises reservations in Redis, in batches and outside the path of calls.

use super::protocol::{RESERVATION_SECS, bucket_keys, reservation_key, with_timeout};
use crate::admission::charge::{Charge, Settlement};
use redis::aio::MultiplexedConnection;
use redis::{Client, Cmd, Pipeline, RedisError, Script};
use std::sync::LazyLock;
use std::time::Duration;
use tokio::sync::mpsc;

/// Settlements queued while Redis is unreachable. Those beyond are dropped; their buckets recover by refilling.
const MAX_QUEUED: usize = 100_000;
const MAX_BATCH: usize = 256;
const TIMEOUT: Duration = Duration::from_secs(2);
/// An unreachable Redis is retried without a limit, but a batch that Redis rejects is dropped after this many tries.
const MAX_REJECTIONS: u32 = 3;
const RETRY_DELAY: Duration = Duration::from_millis(500);

static SETTLE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("settle.lua")));

pub(super) enum Work {
    /// Raises the reservation of the call to the tokens of its charge.
    Raise(Charge),
    Settle(Charge, Settlement),
}

#[derive(Clone)]
pub(super) struct Settler {
    queue: mpsc::Sender<Work>,
}

impl Settler {
    pub(super) fn start(client: Client) -> Self {
        let (queue, queued) = mpsc::channel(MAX_QUEUED);
        #[expect(
            clippy::disallowed_methods,
            reason = "buckets recover by refilling from settlements lost at shutdown"
        )]
        tokio::spawn(run(client, queued));
        Self { queue }
    }

    pub(super) fn push(&self, work: Work) {
        if self.queue.try_send(work).is_err() {
            tracing::debug!("the settlement queue is full; the bucket recovers by refilling");
        }
    }
}

/// Runs until every sender is dropped.
async fn run(client: Client, mut queued: mpsc::Receiver<Work>) {
    let mut connection: Option<MultiplexedConnection> = None;
    let mut batch = Vec::new();
    while queued.recv_many(&mut batch, MAX_BATCH).await > 0 {
        // Retrying is safe: settling deletes the reservation, and without it the script does nothing.
        let mut rejections = 0;
        while let Err(error) = settle(&client, &mut connection, &batch).await {
            tracing::debug!(%error, "settlements did not reach Redis");
            let is_unreachable = error.is_io_error() || error.is_timeout() || error.is_connection_dropped();
            rejections += u32::from(!is_unreachable);
            if rejections >= MAX_REJECTIONS {
                break;
            }
            connection = None;
            tokio::time::sleep(RETRY_DELAY).await;
        }
        batch.clear();
    }
}

async fn settle(
    client: &Client,
    connection: &mut Option<MultiplexedConnection>,
    batch: &[Work],
) -> Result<(), RedisError> {
    let connection = match connection {
        Some(connection) => connection,
        None => {
            let mut opened = client.get_multiplexed_async_connection_with_config(&with_timeout(TIMEOUT)).await?;
            SETTLE.prepare_invoke().load_async(&mut opened).await?;
            connection.insert(opened)
        }
    };
    let mut pipeline = Pipeline::new();
    for work in batch {
        pipeline.add_command(command(work)).ignore();
    }
    pipeline.query_async::<()>(connection).await
}

fn command(work: &Work) -> Cmd {
    let (charge, used, requests, ttl_secs) = match work {
        Work::Raise(charge) => (charge, charge.tokens, 0, RESERVATION_SECS),
        Work::Settle(charge, Settlement::Used(tokens)) => (charge, *tokens, 0, 0),
        Work::Settle(charge, Settlement::Undone) => (charge, 0, charge.requests, 0),
    };
    let buckets = bucket_keys(charge);
    let mut command = redis::cmd("EVALSHA");
    command.arg(SETTLE.get_hash()).arg(buckets.len() + 1).arg(buckets).arg(reservation_key(charge));
    for (_, limits) in charge.limits() {
        command.arg(limits.requests).arg(limits.tokens);
    }
    command.arg(used).arg(requests).arg(ttl_secs);
    command
}
