//! Streams: concurrent and paced, sequential for the time to the first token, and held open for memory.

use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::task::JoinSet;

use crate::proxy_bench::load::connection::Connection;
use crate::proxy_bench::load::open_loop::Latencies;
use crate::proxy_bench::setup::gateways::Gateway;

/// Streams opened concurrently by `hold_open`.
const OPEN_CONCURRENTLY: usize = 50;

/// Starts one stream per connection, spread over `spread`, and returns the number of events.
pub(crate) async fn run_paced(connections: Vec<Connection>, request: &Bytes, spread: Duration) -> anyhow::Result<u64> {
    let step = spread / u32::try_from(connections.len().max(1))?;
    let start = tokio::time::Instant::now();
    let mut workers = JoinSet::new();
    for (number, mut connection) in connections.into_iter().enumerate() {
        let request = request.clone();
        let at = start + step * u32::try_from(number)?;
        workers.spawn(async move {
            tokio::time::sleep_until(at).await;
            connection.exchange(&request, 200).await
        });
    }
    let mut events = 0;
    while let Some(worker) = workers.join_next().await {
        events += worker??.events;
    }
    Ok(events)
}

/// Runs streams sequentially and measures the time to the first payload byte.
pub(crate) async fn first_tokens(gateway: &Gateway, request: &Bytes, count: usize) -> anyhow::Result<Latencies> {
    let mut connection = Connection::open(gateway.address).await?;
    connection.exchange(request, 200).await?;
    let mut waits = Vec::with_capacity(count);
    for _ in 0..count {
        let sent = Instant::now();
        let exchange = connection.exchange(request, 200).await?;
        waits.push(exchange.first_payload.duration_since(sent).as_secs_f64() * 1e3);
    }
    Ok(Latencies::of(waits))
}

/// Opens this many streams and returns them once each has received its first events.
pub(crate) async fn hold_open(gateway: &Gateway, request: &Bytes, count: usize) -> anyhow::Result<Vec<Connection>> {
    let mut open = Vec::with_capacity(count);
    while open.len() < count {
        let mut opening = JoinSet::new();
        for _ in 0..OPEN_CONCURRENTLY.min(count - open.len()) {
            let (request, address) = (request.clone(), gateway.address);
            opening.spawn(async move {
                let mut connection = Connection::open(address).await?;
                connection.begin(&request, 2).await?;
                anyhow::Ok(connection)
            });
        }
        while let Some(connection) = opening.join_next().await {
            open.push(connection??);
        }
    }
    Ok(open)
}
