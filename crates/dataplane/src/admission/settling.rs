//! Settles and raises reservations in Redis, off the path of calls and many at a time.

use super::minute::{Charge, Settlement};
use super::shared::{RESERVATION_SECS, bounded_by, charge_keys, limits_of, reservation_key};
use redis::aio::MultiplexedConnection;
use redis::{Client, Cmd, Pipeline, RedisError, Script};
use std::sync::LazyLock;
use std::time::Duration;
use tokio::sync::mpsc;

/// Settlements that wait while Redis is away; those past this heal by refilling.
const MAX_WAITING: usize = 100_000;
const MAX_AT_ONCE: usize = 256;
const TIMEOUT: Duration = Duration::from_secs(2);
/// A Redis that is away comes back; one that says no goes on saying it.
const MAX_REFUSALS: u32 = 3;
const RETRY: Duration = Duration::from_millis(500);

static SETTLE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("settle.lua")));

pub(super) enum Work {
    /// The call now counts with what its charge says.
    Raise(Charge),
    Settle(Charge, Settlement),
}

#[derive(Clone)]
pub(super) struct Settler {
    queue: mpsc::Sender<Work>,
}

impl Settler {
    pub(super) fn start(client: Client) -> Self {
        let (queue, waiting) = mpsc::channel(MAX_WAITING);
        #[expect(clippy::disallowed_methods, reason = "what it leaves undone heals by refilling")]
        tokio::spawn(run(client, waiting));
        Self { queue }
    }

    pub(super) fn push(&self, work: Work) {
        if self.queue.try_send(work).is_err() {
            tracing::debug!("a settlement found no room; its bucket heals by refilling");
        }
    }
}

/// Works until every sender is gone.
async fn run(client: Client, mut waiting: mpsc::Receiver<Work>) {
    let mut connection: Option<MultiplexedConnection> = None;
    let mut batch = Vec::new();
    while waiting.recv_many(&mut batch, MAX_AT_ONCE).await > 0 {
        // Again on a fresh connection: a reservation that was settled is gone, so nothing counts twice.
        let mut refusals = 0;
        while let Err(error) = settle(&client, &mut connection, &batch).await {
            tracing::debug!(%error, "settlements did not reach Redis");
            let is_away = error.is_io_error() || error.is_timeout() || error.is_connection_dropped();
            refusals += u32::from(!is_away);
            if refusals >= MAX_REFUSALS {
                break;
            }
            connection = None;
            tokio::time::sleep(RETRY).await;
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
            let config = bounded_by(TIMEOUT);
            let mut fresh = client.get_multiplexed_async_connection_with_config(&config).await?;
            SETTLE.prepare_invoke().load_async(&mut fresh).await?;
            connection.insert(fresh)
        }
    };
    let mut pipeline = Pipeline::new();
    for work in batch {
        pipeline.add_command(command(work)).ignore();
    }
    pipeline.query_async::<()>(connection).await
}

fn command(work: &Work) -> Cmd {
    let (charge, used, requests, life) = match work {
        Work::Raise(charge) => (charge, charge.tokens, 0, RESERVATION_SECS),
        Work::Settle(charge, Settlement::Used(tokens)) => (charge, *tokens, 0, 0),
        Work::Settle(charge, Settlement::Undone) => (charge, 0, 1, 0),
    };
    let buckets = charge_keys(charge);
    let mut command = redis::cmd("EVALSHA");
    command.arg(SETTLE.get_hash()).arg(buckets.len() + 1).arg(buckets).arg(reservation_key(charge));
    for limits in limits_of(charge) {
        command.arg(limits.requests).arg(limits.tokens);
    }
    command.arg(used).arg(requests).arg(life);
    command
}
