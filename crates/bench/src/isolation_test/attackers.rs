//! Sends an attack, on a thread of the lowest priority.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Mutex, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::hostile::host;
use crate::proxy_bench::load::connection::Connection;

/// Loopback addresses from which a tenant attacks.
const ADDRESSES: usize = 8;
/// Before a connection is opened again that the gateway has closed.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

/// The request with a number.
pub(super) type Requests = Arc<dyn Fn(u64) -> Bytes + Send + Sync>;

/// What is sent, and how often at most.
#[derive(Clone)]
pub(super) struct Plan {
    /// Each sends its next request once it has the response.
    pub(super) connections: usize,
    pub(super) per_second: u32,
    pub(super) request: Requests,
}

/// How many responses there were of each status.
#[derive(Default)]
pub(super) struct Outcomes {
    by_status: BTreeMap<u16, u64>,
    /// Connections that ended without a response.
    closed: u64,
}

impl Outcomes {
    pub(super) fn add(&mut self, other: Self) {
        for (status, count) in other.by_status {
            *self.by_status.entry(status).or_default() += count;
        }
        self.closed += other.closed;
    }

    /// `429: 950/s, 401: 10/s`
    pub(super) fn per_second(&self, seconds: f64) -> String {
        let statuses = self.by_status.iter().map(|(status, count)| (status.to_string(), *count));
        let closed = (self.closed > 0).then(|| ("closed".to_owned(), self.closed));
        let shown = statuses.chain(closed).map(|(name, count)| format!("{name}: {:.1}/s", count as f64 / seconds));
        shown.collect::<Vec<_>>().join(", ")
    }
}

/// Running attackers.
pub(super) struct Attackers {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<anyhow::Result<Outcomes>>,
}

impl Attackers {
    pub(super) fn start(address: SocketAddr, plan: Plan) -> anyhow::Result<Self> {
        let (stop, stopped) = oneshot::channel();
        let attack = move || {
            host::yield_to_others()?;
            tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run(address, plan, stopped))
        };
        Ok(Self { stop, thread: std::thread::Builder::new().name("attackers".into()).spawn(attack)? })
    }

    pub(super) fn stop(self) -> anyhow::Result<Outcomes> {
        // Fails only if the thread has ended; then its result says why.
        let _ = self.stop.send(());
        self.thread.join().map_err(|_| anyhow::anyhow!("the thread of the attackers panicked"))?
    }
}

async fn run(address: SocketAddr, plan: Plan, stopped: oneshot::Receiver<()>) -> anyhow::Result<Outcomes> {
    let pace = Arc::new(Pace::new(plan.per_second));
    let outcomes = Arc::new(Mutex::new(Outcomes::default()));
    let mut attackers = JoinSet::new();
    for number in 0..plan.connections {
        let last = u8::try_from(1 + number % ADDRESSES)?;
        let own = Ipv4Addr::new(127, 0, 1, last);
        attackers.spawn(attack(own, address, plan.clone(), Arc::clone(&pace), Arc::clone(&outcomes)));
    }
    let _ = stopped.await;
    attackers.shutdown().await;
    Ok(std::mem::take(&mut *outcomes.lock().await))
}

async fn attack(own: Ipv4Addr, address: SocketAddr, plan: Plan, pace: Arc<Pace>, outcomes: Arc<Mutex<Outcomes>>) {
    let mut connection = None;
    loop {
        let number = pace.turn().await;
        let request = (plan.request)(number);
        let called = match &mut connection {
            None => match Connection::open_from(own, address).await {
                Ok(opened) => connection.insert(opened).call(&request).await,
                Err(error) => Err(error),
            },
            Some(connection) => connection.call(&request).await,
        };
        match called {
            Ok(exchange) => *outcomes.lock().await.by_status.entry(exchange.status).or_default() += 1,
            Err(_closed) => {
                connection = None;
                outcomes.lock().await.closed += 1;
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }
}

/// Spreads requests evenly over time.
struct Pace {
    period: Duration,
    next: Mutex<Instant>,
    number: AtomicU64,
}

impl Pace {
    fn new(per_second: u32) -> Self {
        let period = Duration::from_secs(1) / per_second.max(1);
        Self { period, next: Mutex::new(Instant::now()), number: AtomicU64::new(0) }
    }

    /// Waits for the next turn; its number.
    async fn turn(&self) -> u64 {
        let at = {
            let mut next = self.next.lock().await;
            let at = (*next).max(Instant::now());
            *next = at + self.period;
            at
        };
        tokio::time::sleep_until(at).await;
        self.number.fetch_add(1, Relaxed)
    }
}
