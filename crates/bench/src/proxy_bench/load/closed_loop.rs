//! Closed loop: a fixed number of calls over a fixed number of connections, one call at a time per connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytes::Bytes;
use testkit::http::Client;
use tokio::task::JoinSet;

use crate::proxy_bench::load::connection::Connection;
use crate::proxy_bench::setup::gateways::Gateway;
use crate::proxy_bench::setup::process_stat::CpuTime;

/// Time for a gateway's deferred work after the last response. It counts as part of the cost, minus the idle cost of the
/// same duration.
const SETTLE: Duration = Duration::from_millis(1_600);
/// Forebay writes the events of many keys at most every five seconds.
const WRITTEN_WITHIN: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_secs(1);
const ALL_WRITTEN: &str = "forebay_journal_waiting_bytes 0";

/// Cost of a phase.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// CPU time of the gateway per call or event.
    pub(crate) microseconds_each: f64,
    pub(crate) per_second: f64,
    /// CPU utilization of the gateway's core under load.
    pub(crate) busy: f64,
}

/// A kind of load: how to connect, and what to send.
pub(crate) trait Load {
    async fn connect(&self, gateway: &Gateway) -> anyhow::Result<Vec<Connection>>;

    /// Runs the load and returns the number of calls or events.
    async fn run(&self, gateway: &Gateway, connections: Vec<Connection>) -> anyhow::Result<u64>;
}

/// Cost of the load on one gateway.
pub(crate) async fn cost_of(gateway: &Gateway, load: &impl Load) -> anyhow::Result<Cost> {
    let [cost] = costs_of([gateway], 1, load).await?;
    Ok(cost)
}

/// Cost of the load on each gateway; they alternate for the given number of turns.
pub(crate) async fn costs_of<const N: usize>(
    gateways: [&Gateway; N],
    turns: usize,
    load: &impl Load,
) -> anyhow::Result<[Cost; N]> {
    let mut meters = gateways.map(Meter::new);
    settle(&gateways).await?;
    for meter in &mut meters {
        meter.start()?;
    }
    tokio::time::sleep(SETTLE).await;
    for meter in &mut meters {
        meter.idle = meter.spent()?.as_secs_f64() / SETTLE.as_secs_f64();
        meter.start()?;
    }
    let started = Instant::now();
    for _ in 0..turns {
        for meter in &mut meters {
            meter.load(load).await?;
        }
    }
    settle(&gateways).await?;
    tokio::time::sleep(SETTLE).await;
    let elapsed = started.elapsed();
    let costs = meters.iter().map(|meter| meter.cost(elapsed)).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(costs.try_into().unwrap_or_else(|_| unreachable!("one cost per gateway")))
}

/// Waits until all events of earlier calls are in the store, so that writing them counts for these calls and for no others.
async fn settle(gateways: &[&Gateway]) -> anyhow::Result<()> {
    for ops in gateways.iter().filter_map(|gateway| gateway.ops) {
        let deadline = Instant::now() + WRITTEN_WITHIN;
        while !Client::new(ops).get("/metrics").await.text().lines().any(|line| line == ALL_WRITTEN) {
            anyhow::ensure!(Instant::now() < deadline, "events are not written after {WRITTEN_WITHIN:?}");
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
    Ok(())
}

/// Measures the CPU time of a gateway.
struct Meter<'a> {
    gateway: &'a Gateway,
    before: Option<CpuTime>,
    /// CPU utilization while idle.
    idle: f64,
    units: u64,
    /// Duration of the load, and CPU time spent during it.
    loaded: Duration,
    spent_loaded: Duration,
    /// CPU time spent on connecting, which is excluded.
    spent_connecting: Duration,
}

impl<'a> Meter<'a> {
    fn new(gateway: &'a Gateway) -> Self {
        Self {
            gateway,
            before: None,
            idle: 0.0,
            units: 0,
            loaded: Duration::ZERO,
            spent_loaded: Duration::ZERO,
            spent_connecting: Duration::ZERO,
        }
    }

    fn start(&mut self) -> anyhow::Result<()> {
        self.before = Some(CpuTime::now(&self.gateway.pids)?);
        Ok(())
    }

    fn spent(&self) -> anyhow::Result<Duration> {
        let now = CpuTime::now(&self.gateway.pids)?;
        Ok(self.before.as_ref().map_or(Duration::ZERO, |before| now.since(before)))
    }

    async fn load(&mut self, load: &impl Load) -> anyhow::Result<()> {
        let before = self.spent()?;
        let connections = load.connect(self.gateway).await?;
        let connected = self.spent()?;
        self.spent_connecting += connected.saturating_sub(before);
        let began = Instant::now();
        self.units += load.run(self.gateway, connections).await?;
        self.loaded += began.elapsed();
        self.spent_loaded += self.spent()?.saturating_sub(connected);
        Ok(())
    }

    fn cost(&self, elapsed: Duration) -> anyhow::Result<Cost> {
        let unloaded = elapsed.saturating_sub(self.loaded).as_secs_f64();
        let spent = self.spent()?.saturating_sub(self.spent_connecting).as_secs_f64();
        let spent = (spent - self.idle * unloaded).max(0.0);
        let loaded = self.loaded.as_secs_f64();
        Ok(Cost {
            microseconds_each: spent * 1e6 / self.units as f64,
            per_second: self.units as f64 / loaded,
            busy: self.spent_loaded.as_secs_f64() / loaded,
        })
    }
}

/// Connections that have completed one call, so that the steady state is measured.
pub(crate) async fn warm_connections(
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

/// Sends `calls` requests round-robin over all connections, and counts calls and events.
pub(crate) async fn run(
    connections: Vec<Connection>,
    requests: &[Bytes],
    calls: usize,
    status: u16,
) -> anyhow::Result<Completed> {
    let requests: Arc<[Bytes]> = requests.into();
    let started = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for mut connection in connections {
        let (requests, started) = (Arc::clone(&requests), Arc::clone(&started));
        workers.spawn(async move {
            let mut done = Completed::default();
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
    let mut all = Completed::default();
    while let Some(worker) = workers.join_next().await {
        let done = worker??;
        all.calls += done.calls;
        all.events += done.events;
    }
    Ok(all)
}

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Completed {
    pub(crate) calls: u64,
    pub(crate) events: u64,
}
