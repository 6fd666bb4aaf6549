//! Command line options.

use std::fmt;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use testkit::fake_engine::Simulation;

use super::generator::{self, Shape};
use super::trace::Trace;

/// Replays a trace over simulated engines through several routers and compares the time to the first token.
#[derive(Parser, Debug, Clone)]
#[command(name = "forebay-routing-bench")]
pub struct Options {
    /// A trace in Mooncake's format: lines of JSON with timestamp, input_length, output_length and hash_ids.
    #[arg(long, conflicts_with = "generate")]
    trace: Option<PathBuf>,
    /// Generate a trace of this kind instead.
    #[arg(long, default_value = "conversations")]
    generate: Shape,
    /// Give every call blocks of its own, so that the trace shares nothing.
    #[arg(long)]
    unshare: bool,
    /// Calls of the trace that are replayed.
    #[arg(long, default_value_t = 6_000)]
    calls: usize,
    #[arg(long, default_value_t = 8)]
    pub(super) replicas: usize,
    /// Blocks of 512 tokens in the cache of each replica.
    #[arg(long, default_value_t = 3_000)]
    cache_blocks: usize,
    /// Prompt tokens per second of each replica.
    #[arg(long, default_value_t = 6_500.0)]
    prefill_rate: f64,
    /// How much faster than in reality everything happens.
    #[arg(long, default_value_t = 20.0)]
    speed: f64,
    /// Routers to compare, the first of which is the baseline.
    #[arg(long, value_delimiter = ',', default_value = "nginx,forebay,forebay-3,sglang-router,smg")]
    routers: Vec<RouterKind>,
    /// Forebay's binary; by default the one in the folder of this program.
    #[arg(long)]
    pub(super) forebay: Option<PathBuf>,
    /// The folder with the programs sglang-router and smg, such as the `bin` of a virtual environment.
    #[arg(long)]
    pub(super) peers: Option<PathBuf>,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RouterKind {
    /// nginx with `random two least_conn`.
    Nginx,
    /// nginx with round robin.
    NginxRoundRobin,
    /// One node.
    Forebay,
    /// Three nodes with a Redis, which get calls in turn.
    #[value(name = "forebay-3")]
    ForebayThree,
    /// The cache-aware router of SGLang.
    SglangRouter,
    /// Its successor.
    Smg,
}

impl fmt::Display for RouterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nginx => "nginx random two least_conn",
            Self::NginxRoundRobin => "nginx round robin",
            Self::Forebay => "Forebay, one node",
            Self::ForebayThree => "Forebay, three nodes",
            Self::SglangRouter => "sglang-router cache_aware",
            Self::Smg => "smg cache_aware",
        })
    }
}

impl Options {
    pub(super) fn trace(&self) -> anyhow::Result<Trace> {
        let mut trace = match &self.trace {
            Some(path) => Trace::read(path, self.calls)?,
            None => generator::generate(self.generate, self.calls),
        };
        if self.unshare {
            trace.unshare();
        }
        Ok(trace)
    }

    pub(super) fn simulation(&self) -> Simulation {
        Simulation {
            cache_blocks: self.cache_blocks,
            prefill_tokens_per_second: self.prefill_rate,
            speed: self.speed.max(0.01),
            ..Simulation::default()
        }
    }

    pub(super) fn routers(&self) -> Vec<RouterKind> {
        self.routers.clone()
    }
}
