//! Closed loop: a fixed number of calls over a fixed number of connections, each waiting for its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::task::JoinSet;

use super::connection::Connection;
use super::gateways::Gateway;
use super::process_stat::CpuTime;

/// Work that a gateway leaves for after the answer gets this long to be done, and is counted.
const SETTLE: Duration = Duration::from_millis(1_600);

/// What a phase cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// CPU time of the gateway per call or event.
    pub(super) microseconds_each: f64,
    pub(super) per_second: f64,
    /// Share of the time that the gateway was on its core.
    pub(super) busy: f64,
}

/// Runs the calls and returns their cost; `units` of work are counted by the load itself.
pub(super) async fn cost_of(
    gateway: &Gateway,
    load: impl Future<Output = anyhow::Result<u64>>,
) -> anyhow::Result<Cost> {
    let before = CpuTime::now(&gateway.pids)?;
    let started = Instant::now();
    let units = load.await? as f64;
    let elapsed = started.elapsed().as_secs_f64();
    let busy = CpuTime::now(&gateway.pids)?.since(&before).as_secs_f64() / elapsed;
    tokio::time::sleep(SETTLE).await;
    let spent = CpuTime::now(&gateway.pids)?.since(&before);
    Ok(Cost { microseconds_each: spent.as_secs_f64() * 1e6 / units, per_second: units / elapsed, busy })
}

/// Connections that have answered once, so that what is measured is the steady state.
pub(super) async fn warm_connections(
    gateway: &Gateway,
    count: usize,
    request: &Bytes,
    status: u16,
) -> anyhow::Result<Vec<Connection>> {
    let mut connections = Vec::with_capacity(count);
    for _ in 0..count {
        let mut connection = Connection::open(gateway.address).await?;
        connection.exchange(request, status).await?;
        connections.push(connection);
    }
    Ok(connections)
}

/// Sends the requests in turn, `calls` of them; returns how many events came (for unary answers: how many answers).
pub(super) async fn run(
    connections: Vec<Connection>,
    requests: &[Bytes],
    calls: usize,
    status: u16,
) -> anyhow::Result<Done> {
    let requests: Arc<[Bytes]> = requests.into();
    let started = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for mut connection in connections {
        let (requests, started) = (Arc::clone(&requests), Arc::clone(&started));
        workers.spawn(async move {
            let mut done = Done::default();
            loop {
                let number = started.fetch_add(1, Relaxed);
                if number >= calls {
                    return anyhow::Ok(done);
                }
                done.events += connection.exchange(&requests[number % requests.len()], status).await?.events;
                done.calls += 1;
            }
        });
    }
    let mut all = Done::default();
    while let Some(worker) = workers.join_next().await {
        let done = worker??;
        all.calls += done.calls;
        all.events += done.events;
    }
    Ok(all)
}

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Done {
    pub(super) calls: u64,
    pub(super) events: u64,
}
