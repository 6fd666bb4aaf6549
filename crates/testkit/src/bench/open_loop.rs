//! Open loop: calls leave at a fixed rate whether or not earlier ones were answered; latency is what is measured.

use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::task::JoinSet;

use super::connection::Connection;

/// Connections that share the rate; enough that none is still busy when its turn comes.
pub(super) const CONNECTIONS: usize = 64;

/// Latencies in milliseconds, sorted.
pub(super) struct Latencies(Vec<f64>);

impl Latencies {
    pub(super) fn of(mut milliseconds: Vec<f64>) -> Self {
        milliseconds.sort_by(f64::total_cmp);
        Self(milliseconds)
    }

    /// The value that this share of the calls stays below.
    pub(super) fn percentile(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index between 0 and last")]
        let index = (share * last as f64).round() as usize;
        self.0.get(index.min(last)).copied().unwrap_or(f64::NAN)
    }
}

/// Sends the request at the rate for the time given.
pub(super) async fn run(
    connections: Vec<Connection>,
    request: &Bytes,
    per_second: f64,
    length: Duration,
) -> anyhow::Result<Latencies> {
    let share = connections.len() as f64;
    let start = Instant::now() + Duration::from_millis(20);
    let mut workers = JoinSet::new();
    for (number, connection) in connections.into_iter().enumerate() {
        let first = start + Duration::from_secs_f64(number as f64 / per_second);
        let period = Duration::from_secs_f64(share / per_second);
        workers.spawn(one_connection(connection, request.clone(), first, period, length));
    }
    let mut all = Vec::new();
    while let Some(worker) = workers.join_next().await {
        all.extend(worker??);
    }
    Ok(Latencies::of(all))
}

async fn one_connection(
    mut connection: Connection,
    request: Bytes,
    first: Instant,
    period: Duration,
    length: Duration,
) -> anyhow::Result<Vec<f64>> {
    let mut latencies = Vec::new();
    let mut due = first;
    while due < first + length {
        // Our own timer is late by up to a millisecond: that is not the gateway's. An answer that keeps the
        // connection busy beyond the next turn is, so then the clock starts when the call was due.
        let mut sent = due;
        if Instant::now() < due {
            tokio::time::sleep_until(due.into()).await;
            sent = Instant::now();
        }
        connection.exchange(&request, 200).await?;
        latencies.push(sent.elapsed().as_secs_f64() * 1e3);
        due += period;
    }
    Ok(latencies)
}
