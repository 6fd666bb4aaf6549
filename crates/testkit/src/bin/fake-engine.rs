//! The scripted engine as a program, for load tests and external tests.

use std::io::Write as _;
use std::net::SocketAddr;

use clap::Parser;
use testkit::fake_engine::FakeEngine;

/// An OpenAI-compatible engine that responds immediately, or as scripted with `POST /script`.
#[derive(Parser)]
struct Arguments {
    /// Listen address; port 0 picks a free port.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Listener threads, each with its own connections.
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let engine = FakeEngine::for_load(arguments.listen, arguments.threads)?;
    let mut output = std::io::stdout().lock();
    writeln!(output, "listening on {}", engine.address())?;
    output.flush()?;
    drop(output);
    engine.join();
    Ok(())
}
