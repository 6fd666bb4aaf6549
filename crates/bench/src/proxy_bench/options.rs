//! Command line options and amounts of load.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};

/// Compares Forebay with nginx as a plain proxy and prints a table.
#[derive(Parser, Debug, Clone)]
#[command(name = "forebay-bench")]
pub struct Options {
    /// Forebay's binary. Without it, nginx is compared with direct calls to the engine.
    #[arg(long)]
    pub forebay: Option<PathBuf>,
    /// The fake engine's binary; by default the one in the folder of this program.
    #[arg(long)]
    pub fake_engine: Option<PathBuf>,
    /// Rounds per phase; figures are medians.
    #[arg(long, default_value_t = 5)]
    pub rounds: usize,
    /// One short round, about twenty seconds.
    #[arg(long)]
    pub quick: bool,
    /// Run only these phases.
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<Phase>,
    /// Directives to add to nginx's location, such as `proxy_socket_keepalive on;`.
    #[arg(long, default_value = "")]
    pub nginx_extra: String,
    /// Lines to add to Forebay's configuration.
    #[arg(long)]
    pub extra_config: Option<PathBuf>,
    /// File for the figures, with date, machine and version: docs/data/performance.toml.
    #[arg(long, requires = "forebay")]
    pub data: Option<PathBuf>,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// CPU per unary call with three prompt sizes, and calls per second.
    Unary,
    /// CPU per stream event, paced and unpaced.
    Sse,
    /// Latency at a fixed rate.
    Latency,
    /// Time to the first event of a stream.
    FirstToken,
    /// CPU per rejected call: 401 and 429.
    #[value(alias = "refusals")]
    Rejections,
    /// CPU per embedding call.
    Embeddings,
    /// CPU per unary call with many keys and many models.
    Size,
    /// CPU per unary call with eight upstreams, and with limits in Redis.
    Variants,
    /// Resident memory, idle and with many open streams.
    Memory,
}

/// Amount of load per phase.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Amounts {
    pub(crate) rounds: usize,
    pub(crate) small_prompts: usize,
    /// Enough for every one of many keys to call again and again while their usage is written.
    pub(crate) calls_in_turn: usize,
    pub(crate) medium_prompts: usize,
    pub(crate) large_prompts: usize,
    pub(crate) paced_streams: usize,
    pub(crate) unpaced_streams: usize,
    pub(crate) first_tokens: usize,
    pub(crate) open_loop: Duration,
    pub(crate) open_streams: usize,
}

impl Options {
    pub(crate) fn includes(&self, phase: Phase) -> bool {
        self.only.is_empty() || self.only.contains(&phase)
    }

    pub(crate) fn amounts(&self) -> Amounts {
        let full = Amounts {
            rounds: self.rounds.clamp(1, 100),
            small_prompts: 60_000,
            calls_in_turn: 240_000,
            medium_prompts: 24_000,
            large_prompts: 8_000,
            paced_streams: 200,
            unpaced_streams: 2_000,
            first_tokens: 400,
            open_loop: Duration::from_secs(5),
            open_streams: 2_000,
        };
        if !self.quick {
            return full;
        }
        Amounts {
            rounds: 1,
            small_prompts: 10_000,
            calls_in_turn: 40_000,
            medium_prompts: 2_000,
            large_prompts: 500,
            unpaced_streams: 200,
            first_tokens: 200,
            open_loop: Duration::from_secs(2),
            ..full
        }
    }
}
