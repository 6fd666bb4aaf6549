//! The phases: for each round, every phase on nginx and on the contender, in turn.

use std::time::Duration;

use bytes::Bytes;

use super::closed_loop::{self, Cost, Load, cost_of, costs_of, warm_connections};
use super::connection::Connection;
use super::figures::{self, Figures, Kind};
use super::gateways::{Gateway, Setup};
use super::open_loop;
use super::options::{Amounts, Options, Phase};
use super::process_stat::resident_megabytes;
use super::{requests, streams};
use crate::fake_engine::Script;

const CONNECTIONS: usize = 32;
/// Concurrent streams of the unpaced phase.
const UNPACED_CONNECTIONS: usize = 16;
const EVENTS_PER_STREAM: usize = 50;
const PACE: Duration = Duration::from_millis(20);
const OPEN_LOOP_PER_SECOND: f64 = 2_000.0;
const KIB: usize = 1024;
/// How often both gateways take turns within a round.
const TURNS: usize = 6;
/// Below this share of its core, the gateway was not what limited the calls per second.
const SATURATED: f64 = 0.9;

pub(super) struct Bench<'a> {
    pub(super) setup: &'a Setup,
    pub(super) amounts: Amounts,
    /// The contender goes first in every other round.
    contender_first: bool,
    pub(super) figures: Figures,
}

/// All rounds.
pub(super) async fn run(setup: &Setup, options: &Options) -> anyhow::Result<Figures> {
    let amounts = options.amounts();
    let mut bench = Bench { setup, amounts, contender_first: false, figures: Figures::default() };
    for round in 0..amounts.rounds {
        eprintln!("round {} of {}", round + 1, amounts.rounds);
        bench.contender_first = round % 2 == 1;
        bench.round(options).await?;
    }
    if options.wants(Phase::Size) {
        bench.size().await?;
    }
    if options.wants(Phase::Memory) {
        bench.memory().await?;
    }
    Ok(bench.figures)
}

impl Bench<'_> {
    async fn round(&mut self, options: &Options) -> anyhow::Result<()> {
        self.setup.script(&Script::default()).await?;
        if options.wants(Phase::Unary) {
            self.unary().await?;
        }
        if options.wants(Phase::Embeddings) {
            self.embeddings().await?;
        }
        if options.wants(Phase::Latency) {
            self.latency().await?;
        }
        if options.wants(Phase::FirstToken) {
            self.first_token().await?;
        }
        if options.wants(Phase::Refusals) {
            self.refusals().await?;
        }
        if options.wants(Phase::Sse) {
            self.events().await?;
        }
        Ok(())
    }

    /// What the same load costs both, a part of it at a time: the machine's speed changes within seconds.
    async fn costs(&self, load: impl Load) -> anyhow::Result<(Cost, Cost)> {
        let Setup { nginx, contender, .. } = self.setup;
        if self.contender_first {
            let [second, first] = costs_of([contender, nginx], TURNS, &load).await?;
            return Ok((first, second));
        }
        let [first, second] = costs_of([nginx, contender], TURNS, &load).await?;
        Ok((first, second))
    }

    /// The same on both, the order changing with the round.
    async fn on_both<T>(&self, phase: impl AsyncFn(&Gateway) -> anyhow::Result<T>) -> anyhow::Result<(T, T)> {
        let Setup { nginx, contender, .. } = self.setup;
        if self.contender_first {
            let second = phase(contender).await?;
            return Ok((phase(nginx).await?, second));
        }
        Ok((phase(nginx).await?, phase(contender).await?))
    }

    fn add_costs(&mut self, kind: Kind, (nginx, contender): (Cost, Cost)) {
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
                let note = "kept its core less than 90% busy: calls per second are limited by the load generator.";
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
        let costs = self.costs(Calls { request: requests::embedding, count, status: 200 }).await?;
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
        let unpaced = Script { chunks: EVENTS_PER_STREAM, ..Script::default() };
        let pace_ms = u64::try_from(PACE.as_millis())?;
        let paced = Script { chunk_delay_ms: pace_ms, ..unpaced.clone() };
        let Amounts { paced_streams, unpaced_streams, .. } = self.amounts;
        self.setup.script(&paced).await?;
        let costs = self.costs(PacedStreams(paced_streams)).await?;
        self.add_costs(figures::SSE_PACED, costs);
        self.setup.script(&unpaced).await?;
        let costs = self.costs(UnpacedStreams(unpaced_streams / TURNS)).await?;
        self.add_costs(figures::SSE_UNPACED, costs);
        self.setup.script(&Script::default()).await
    }

    async fn memory(&mut self) -> anyhow::Result<()> {
        let (nginx, contender) = self.setup.idle_megabytes;
        self.figures.add(figures::MEMORY_IDLE, nginx, contender);
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

/// The cost of served unary calls with a prompt of this size.
pub(super) async fn served(gateway: &Gateway, prompt_bytes: usize, count: usize) -> anyhow::Result<Cost> {
    cost_of(gateway, &chats(prompt_bytes, count)).await
}

/// The cost of calls that take the requests in turn, after each of them was answered once.
pub(super) async fn in_turn(gateway: &Gateway, requests: &[Bytes], count: usize) -> anyhow::Result<Cost> {
    let connections = warm_connections(gateway, CONNECTIONS, &requests[0], 200).await?;
    closed_loop::run(connections, requests, requests.len(), 200).await?;
    cost_of(gateway, &InTurn { requests, count }).await
}

fn chats(prompt_bytes: usize, count: usize) -> Calls<impl Fn(&Gateway) -> Bytes> {
    Calls { request: move |gateway: &Gateway| requests::chat(gateway, prompt_bytes), count, status: 200 }
}

/// One call again and again, which is answered with the status.
pub(super) struct Calls<R> {
    pub(super) request: R,
    pub(super) count: usize,
    pub(super) status: u16,
}

impl<R: Fn(&Gateway) -> Bytes> Load for Calls<R> {
    async fn connect(&self, gateway: &Gateway) -> anyhow::Result<Vec<Connection>> {
        warm_connections(gateway, CONNECTIONS, &(self.request)(gateway), self.status).await
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

/// So many at once.
struct PacedStreams(usize);

impl Load for PacedStreams {
    async fn connect(&self, gateway: &Gateway) -> anyhow::Result<Vec<Connection>> {
        warm_connections(gateway, self.0, &requests::chat(gateway, KIB), 200).await
    }

    async fn run(&self, gateway: &Gateway, connections: Vec<Connection>) -> anyhow::Result<u64> {
        streams::run_paced(connections, &requests::stream(gateway), PACE).await
    }
}

struct UnpacedStreams(usize);

impl Load for UnpacedStreams {
    async fn connect(&self, gateway: &Gateway) -> anyhow::Result<Vec<Connection>> {
        warm_connections(gateway, UNPACED_CONNECTIONS, &requests::stream(gateway), 200).await
    }

    async fn run(&self, gateway: &Gateway, connections: Vec<Connection>) -> anyhow::Result<u64> {
        Ok(closed_loop::run(connections, &[requests::stream(gateway)], self.0, 200).await?.events)
    }
}
