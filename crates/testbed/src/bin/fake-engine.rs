//! The scripted engine as a program, for load tests and external tests.

use std::io::Write as _;
use std::net::SocketAddr;

use clap::Parser;
use testkit::fake_engine::{FakeEngine, Simulation};

/// An OpenAI-compatible engine that responds immediately, or as scripted with `POST /script`.
#[derive(Parser)]
struct Arguments {
    /// Listen address; port 0 picks a free port.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Listener threads, each with its own connections.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Take time for prompts and keep this many blocks of 512 tokens in a cache.
    #[arg(long)]
    cache_blocks: Option<usize>,
    /// Prompt tokens per second of a simulated engine.
    #[arg(long, default_value_t = 6_500.0)]
    prefill_rate: f64,
    /// Divides all times of a simulated engine.
    #[arg(long, default_value_t = 1.0)]
    speed: f64,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let engine = match arguments.cache_blocks {
        Some(cache_blocks) => {
            let (prefill_tokens_per_second, speed) = (arguments.prefill_rate, arguments.speed);
            let simulation = Simulation { cache_blocks, prefill_tokens_per_second, speed, ..Simulation::default() };
            FakeEngine::simulated(arguments.listen, simulation)?
        }
        None => FakeEngine::for_load(arguments.listen, arguments.threads)?,
    };
    let mut output = std::io::stdout().lock();
    writeln!(output, "listening on {}", engine.address())?;
    output.flush()?;
    drop(output);
    engine.join();
    Ok(())
}
