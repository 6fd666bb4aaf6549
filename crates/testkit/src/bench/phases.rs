//! The phases: for each round, every phase on nginx and on the contender, in turn.

use std::time::Duration;

use bytes::Bytes;

use super::closed_loop::{self, Cost, cost_of, warm_connections};
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
        let small = self.on_both(async |gateway| served(gateway, KIB, small_prompts).await).await?;
        self.add_costs(figures::UNARY, small);
        self.figures.add(figures::THROUGHPUT, small.0.per_second, small.1.per_second);
        for (gateway, cost) in [(&self.setup.nginx, small.0), (&self.setup.contender, small.1)] {
            if cost.busy < SATURATED {
                let name = gateway.name;
                let note = "kept its core less than 90% busy: calls per second are limited by the load generator.";
                self.figures.note(format!("{name} {note}"));
            }
        }
        let medium = self.on_both(async |gateway| served(gateway, 32 * KIB, medium_prompts).await).await?;
        self.add_costs(figures::UNARY_32K, medium);
        let large = self.on_both(async |gateway| served(gateway, 256 * KIB, large_prompts).await).await?;
        self.add_costs(figures::UNARY_256K, large);
        Ok(())
    }

    async fn embeddings(&mut self) -> anyhow::Result<()> {
        let count = self.amounts.small_prompts / 2;
        let costs =
            self.on_both(async |gateway| calls(gateway, requests::embedding(gateway), count, 200).await).await?;
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
        let costs = self.on_both(async |gateway| paced_events(gateway, paced_streams).await).await?;
        self.add_costs(figures::SSE_PACED, costs);
        self.setup.script(&unpaced).await?;
        let costs = self.on_both(async |gateway| unpaced_events(gateway, unpaced_streams).await).await?;
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
    calls(gateway, requests::chat(gateway, prompt_bytes), count, 200).await
}

/// The cost of calls that are answered with the status.
pub(super) async fn calls(gateway: &Gateway, request: Bytes, count: usize, status: u16) -> anyhow::Result<Cost> {
    let connections = warm_connections(gateway, CONNECTIONS, &request, status).await?;
    cost_of(gateway, async { Ok(closed_loop::run(connections, &[request], count, status).await?.calls) }).await
}

/// The cost of calls that take the requests in turn, after each of them was answered once.
pub(super) async fn in_turn(gateway: &Gateway, requests: &[Bytes], count: usize) -> anyhow::Result<Cost> {
    let connections = async || warm_connections(gateway, CONNECTIONS, &requests[0], 200).await;
    closed_loop::run(connections().await?, requests, requests.len(), 200).await?;
    let connections = connections().await?;
    cost_of(gateway, async { Ok(closed_loop::run(connections, requests, count, 200).await?.calls) }).await
}

async fn paced_events(gateway: &Gateway, count: usize) -> anyhow::Result<Cost> {
    let warm_up = requests::chat(gateway, KIB);
    let connections = warm_connections(gateway, count, &warm_up, 200).await?;
    let request = requests::stream(gateway);
    cost_of(gateway, streams::run_paced(connections, &request, PACE)).await
}

async fn unpaced_events(gateway: &Gateway, count: usize) -> anyhow::Result<Cost> {
    let request = requests::stream(gateway);
    let connections = warm_connections(gateway, UNPACED_CONNECTIONS, &request, 200).await?;
    cost_of(gateway, async { Ok(closed_loop::run(connections, &[request], count, 200).await?.events) }).await
}
