//! Open loop: sends calls at a fixed rate, whether or not earlier ones have completed, and measures latency.

use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::task::JoinSet;

use crate::proxy_bench::load::connection::Connection;

/// Connections that share the rate; enough that each is idle when its next call is due.
pub(crate) const CONNECTIONS: usize = 64;

/// Latencies in milliseconds, sorted.
pub(crate) struct Latencies(Vec<f64>);

impl Latencies {
    pub(crate) fn of(mut milliseconds: Vec<f64>) -> Self {
        milliseconds.sort_by(f64::total_cmp);
        Self(milliseconds)
    }

    /// All of several measurements.
    pub(crate) fn join(parts: Vec<Self>) -> Self {
        Self::of(parts.into_iter().flat_map(|part| part.0).collect())
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The latency that this share of the calls does not exceed.
    pub(crate) fn percentile(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index between 0 and last")]
        let index = (share * last as f64).round() as usize;
        self.0.get(index.min(last)).copied().unwrap_or(f64::NAN)
    }
}

/// Sends the request at the given rate for the given duration.
pub(crate) async fn run(
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
        // Our timer may be up to a millisecond late, which is not the gateway's fault, so the clock starts at the
        // actual sending. If the previous call is overdue, the clock starts when this call was due.
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
