//! The phases. Each round runs every phase on nginx and on the contender, alternately.

mod rejections;
mod size;
mod variants;

use std::time::Duration;

use bytes::Bytes;
use testkit::fake_engine::Script;

use crate::proxy_bench::load::closed_loop::{self, Cost, Load, cost_of, costs_of, warm_connections};
use crate::proxy_bench::load::connection::Connection;
use crate::proxy_bench::load::open_loop;
use crate::proxy_bench::load::{requests, streams};
use crate::proxy_bench::options::{Amounts, Options, Phase};
use crate::proxy_bench::report::figures::{self, FigureKind, Figures};
use crate::proxy_bench::setup::gateways::{Gateway, Setup};
use crate::proxy_bench::setup::process_stat::{CpuTime, resident_megabytes};

const CONNECTIONS: usize = 32;
/// Concurrent streams of the unpaced phase.
const UNPACED_CONNECTIONS: usize = 16;
const EVENTS_PER_STREAM: usize = 50;
const PACE: Duration = Duration::from_millis(20);
const OPEN_LOOP_PER_SECOND: f64 = 2_000.0;
/// How long a gateway may write after its last call, and for how long its idle CPU time is measured.
const SETTLING: Duration = Duration::from_secs(10);
const IDLE_FOR: Duration = Duration::from_secs(30);
const KIB: usize = 1024;
/// Alternations of the gateways within a round.
const TURNS: usize = 6;
/// Below this utilization, the gateway was not the bottleneck of the throughput.
const SATURATED: f64 = 0.9;

pub(crate) struct Bench<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) amounts: Amounts,
    /// The contender goes first in every second round.
    contender_first: bool,
    pub(crate) figures: Figures,
}

/// Runs all rounds.
pub(crate) async fn run(setup: &Setup, options: &Options) -> anyhow::Result<Figures> {
    let amounts = options.amounts();
    let mut bench = Bench { setup, amounts, contender_first: false, figures: Figures::default() };
    for round in 0..amounts.rounds {
        eprintln!("round {} of {}", round + 1, amounts.rounds);
        bench.contender_first = round % 2 == 1;
        bench.round(options).await?;
    }
    if options.includes(Phase::Size) {
        bench.size().await?;
    }
    if options.includes(Phase::Variants) {
        bench.variants().await?;
    }
    if options.includes(Phase::Memory) {
        bench.memory().await?;
    }
    Ok(bench.figures)
}

impl Bench<'_> {
    async fn round(&mut self, options: &Options) -> anyhow::Result<()> {
        self.setup.script(&Script::default()).await?;
        if options.includes(Phase::Unary) {
            self.unary().await?;
        }
        if options.includes(Phase::Embeddings) {
            self.embeddings().await?;
        }
        if options.includes(Phase::Latency) {
            self.latency().await?;
        }
        if options.includes(Phase::FirstToken) {
            self.first_token().await?;
        }
        if options.includes(Phase::Rejections) {
            self.rejections().await?;
        }
        if options.includes(Phase::Sse) {
            self.events().await?;
        }
        Ok(())
    }

    /// Cost of the same load on both gateways, alternating, because the machine's speed changes within seconds.
    async fn costs(&self, load: impl Load) -> anyhow::Result<(Cost, Cost)> {
        let Setup { nginx, contender, .. } = self.setup;
        if self.contender_first {
            let [second, first] = costs_of([contender, nginx], TURNS, &load).await?;
            return Ok((first, second));
        }
        let [first, second] = costs_of([nginx, contender], TURNS, &load).await?;
        Ok((first, second))
    }

    /// Runs a phase on both gateways, in an order that alternates with the round.
    async fn on_both<T>(&self, phase: impl AsyncFn(&Gateway) -> anyhow::Result<T>) -> anyhow::Result<(T, T)> {
        let Setup { nginx, contender, .. } = self.setup;
        if self.contender_first {
            let second = phase(contender).await?;
            return Ok((phase(nginx).await?, second));
        }
        Ok((phase(nginx).await?, phase(contender).await?))
    }

    fn add_costs(&mut self, kind: FigureKind, (nginx, contender): (Cost, Cost)) {
        self.figures.add(kind, nginx.microseconds_each, contender.microseconds_each);
    }

    async fn unary(&mut self) -> anyhow::Result<()> {
        let Amounts { small_prompts, medium_prompts, large_prompts, .. } = self.amounts;
        let small = self.costs(chats(KIB, small_prompts / TURNS)).await?;
        self.add_costs(figures::UNARY, small);
        self.figures.add(figures::THROUGHPUT, small.0.per_second, small.1.per_second);
        for (gateway, cost) in [(&self.setup.nginx, small.0), (&self.setup.contender, small.1)] {
            if cost.busy < SATURATED {
                let name = gateway.name;
                let note = "used less than 90% of its core: calls per second are limited by the load generator.";
                self.figures.note(format!("{name} {note}"));
            }
        }
        let medium = self.costs(chats(32 * KIB, medium_prompts / TURNS)).await?;
        self.add_costs(figures::UNARY_32K, medium);
        let large = self.costs(chats(256 * KIB, large_prompts / TURNS)).await?;
        self.add_costs(figures::UNARY_256K, large);
        Ok(())
    }

    async fn embeddings(&mut self) -> anyhow::Result<()> {
        let count = self.amounts.small_prompts / 2 / TURNS;
        let load = Calls { request: requests::embedding, connections: CONNECTIONS, count, status: 200 };
        let costs = self.costs(load).await?;
        self.add_costs(figures::EMBEDDING, costs);
        Ok(())
    }

    async fn latency(&mut self) -> anyhow::Result<()> {
        let length = self.amounts.open_loop;
        let measure = async |gateway: &Gateway| {
            let request = requests::chat(gateway, KIB);
            let connections = warm_connections(gateway, open_loop::CONNECTIONS, &request, 200).await?;
            open_loop::run(connections, &request, OPEN_LOOP_PER_SECOND, length).await
        };
        let (nginx, contender) = self.on_both(measure).await?;
        self.figures.add(figures::LATENCY_P50, nginx.percentile(0.5), contender.percentile(0.5));
        self.figures.add(figures::LATENCY_P99, nginx.percentile(0.99), contender.percentile(0.99));
        Ok(())
    }

    async fn first_token(&mut self) -> anyhow::Result<()> {
        let count = self.amounts.first_tokens;
        let measure = async |gateway: &Gateway| {
            let waits = streams::first_tokens(gateway, &requests::stream(gateway), count).await?;
            Ok(waits.percentile(0.5))
        };
        let (nginx, contender) = self.on_both(measure).await?;
        self.figures.add(figures::FIRST_TOKEN, nginx, contender);
        Ok(())
    }

    async fn events(&mut self) -> anyhow::Result<()> {
        let unpaced = unpaced();
        let pace_ms = u64::try_from(PACE.as_millis())?;
        let paced = Script { chunk_delay_ms: pace_ms, ..unpaced.clone() };
        let Amounts { paced_streams, unpaced_streams, .. } = self.amounts;
        self.setup.script(&paced).await?;
        let costs = self.costs(PacedStreams(paced_streams)).await?;
        self.add_costs(figures::SSE_PACED, costs);
        self.setup.script(&unpaced).await?;
        let costs = self.costs(UnpacedStreams { request: requests::stream, count: unpaced_streams / TURNS }).await?;
        self.add_costs(figures::SSE_UNPACED, costs);
        self.setup.script(&Script::default()).await
    }

    async fn memory(&mut self) -> anyhow::Result<()> {
        let (nginx, contender) = self.setup.idle_megabytes;
        self.figures.add(figures::MEMORY_IDLE, nginx, contender);
        let (nginx, contender) = self.on_both(idle_cpu).await?;
        self.figures.add(figures::CPU_IDLE, nginx, contender);
        self.setup.script(&Script { stall_after: Some(1), ..Script::default() }).await?;
        let count = self.amounts.open_streams;
        let measure = async |gateway: &Gateway| {
            let _open = streams::hold_open(gateway, &requests::stream(gateway), count).await?;
            resident_megabytes(&gateway.pids)
        };
        let (nginx, contender) = self.on_both(measure).await?;
        self.figures.add(figures::MEMORY_STREAMS, nginx, contender);
        Ok(())
    }
}

/// What a gateway without calls takes of a core, in percent.
async fn idle_cpu(gateway: &Gateway) -> anyhow::Result<f64> {
    // Usage of earlier calls is still being written.
    tokio::time::sleep(SETTLING).await;
    let before = CpuTime::now(&gateway.pids)?;
    tokio::time::sleep(IDLE_FOR).await;
    Ok(CpuTime::now(&gateway.pids)?.since(&before).as_secs_f64() / IDLE_FOR.as_secs_f64() * 100.0)
}

/// The script of streams without pauses.
pub(crate) fn unpaced() -> Script {
    Script { chunks: EVENTS_PER_STREAM, ..Script::default() }
}

/// Cost of served unary calls with a prompt of this size.
pub(crate) async fn served(gateway: &Gateway, prompt_bytes: usize, count: usize) -> anyhow::Result<Cost> {
    cost_of(gateway, &chats(prompt_bytes, count)).await
}

/// Cost of calls that cycle through the requests, after each of them was sent once.
pub(crate) async fn in_turn(gateway: &Gateway, requests: &[Bytes], count: usize) -> anyhow::Result<Cost> {
    let connections = warm_connections(gateway, CONNECTIONS, &requests[0], 200).await?;
    closed_loop::run(connections, requests, requests.len(), 200).await?;
    cost_of(gateway, &InTurn { requests, count }).await
}

fn chats(prompt_bytes: usize, count: usize) -> Calls<impl Fn(&Gateway) -> Bytes> {
    let request = move |gateway: &Gateway| requests::chat(gateway, prompt_bytes);
    Calls { request, connections: CONNECTIONS, count, status: 200 }
}

/// Repeats one call, which must return the status.
pub(crate) struct Calls<R> {
    pub(crate) request: R,
    pub(crate) connections: usize,
    pub(crate) count: usize,
    pub(crate) status: u16,
}

impl<R: Fn(&Gateway) -> Bytes> Load for Calls<R> {
    async fn connect(&self, gateway: &Gateway) -> anyhow::Result<Vec<Connection>> {
        warm_connections(gateway, self.connections, &(self.request)(gateway), self.status).await
    }

    async fn run(&self, gateway: &Gateway, connections: Vec<Connection>) -> anyhow::Result<u64> {
        let request = (self.request)(gateway);
        Ok(closed_loop::run(connections, &[request], self.count, self.status).await?.calls)
    }
}

struct InTurn<'a> {
    requests: &'a [Bytes],
    count: usize,
}

impl Load for InTurn<'_> {
    async fn connect(&self, gateway: &Gateway) -> anyhow::Result<Vec<Connection>> {
        warm_connections(gateway, CONNECTIONS, &self.requests[0], 200).await
    }

    async fn run(&self, _: &Gateway, connections: Vec<Connection>) -> anyhow::Result<u64> {
        Ok(closed_loop::run(connections, self.requests, self.count, 200).await?.calls)
    }
}

/// Number of concurrent streams.
struct PacedStreams(usize);

impl Load for PacedStreams {
    async fn connect(&self, gateway: &Gateway) -> anyhow::Result<Vec<Connection>> {
        warm_connections(gateway, self.0, &requests::chat(gateway, KIB), 200).await
    }

    async fn run(&self, gateway: &Gateway, connections: Vec<Connection>) -> anyhow::Result<u64> {
        streams::run_paced(connections, &requests::stream(gateway), PACE).await
    }
}

/// Streams whose events follow each other at once.
pub(crate) struct UnpacedStreams {
    pub(crate) request: fn(&Gateway) -> Bytes,
    pub(crate) count: usize,
}

impl Load for UnpacedStreams {
    async fn connect(&self, gateway: &Gateway) -> anyhow::Result<Vec<Connection>> {
        warm_connections(gateway, UNPACED_CONNECTIONS, &(self.request)(gateway), 200).await
    }

    async fn run(&self, gateway: &Gateway, connections: Vec<Connection>) -> anyhow::Result<u64> {
        Ok(closed_loop::run(connections, &[(self.request)(gateway)], self.count, 200).await?.events)
    }
}
