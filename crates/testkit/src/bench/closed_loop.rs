//! Closed loop: a fixed number of calls over a fixed number of connections, each waiting for its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::task::JoinSet;

use super::connection::Connection;
use super::gateways::Gateway;
use super::process_stat::CpuTime;

/// Work that a gateway leaves for after the answer gets this long to be done, and is counted; but not what it does in as
/// long a time when nobody calls.
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

/// What makes a gateway work: connections that are ready, and what happens on them.
pub(super) trait Load {
    async fn connect(&self, gateway: &Gateway) -> anyhow::Result<Vec<Connection>>;

    /// Returns how many calls or events came of it.
    async fn run(&self, gateway: &Gateway, connections: Vec<Connection>) -> anyhow::Result<u64>;
}

/// What the load costs one gateway.
pub(super) async fn cost_of(gateway: &Gateway, load: &impl Load) -> anyhow::Result<Cost> {
    let [cost] = costs_of([gateway], 1, load).await?;
    Ok(cost)
}

/// What the load costs each of the gateways, which take turns so many times.
pub(super) async fn costs_of<const N: usize>(
    gateways: [&Gateway; N],
    turns: usize,
    load: &impl Load,
) -> anyhow::Result<[Cost; N]> {
    let mut meters = gateways.map(Meter::new);
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
    tokio::time::sleep(SETTLE).await;
    let elapsed = started.elapsed();
    let costs = meters.iter().map(|meter| meter.cost(elapsed)).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(costs.try_into().unwrap_or_else(|_| unreachable!("one for each")))
}

/// Reads what a gateway spends.
struct Meter<'a> {
    gateway: &'a Gateway,
    before: Option<CpuTime>,
    /// The share of a core that it takes when nobody calls.
    idle: f64,
    units: u64,
    /// For how long there was load on it, and what it spent in that time.
    loaded: Duration,
    spent_loaded: Duration,
    /// What it spent on connecting, which is no part of the load.
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
