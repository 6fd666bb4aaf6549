//! Programs that measure the gateway: against nginx as a plain proxy, against other routers, by its parts, with a full queue, and
//! under attack.
//!
//! All load goes to the loopback network.

pub mod fairness_bench;
mod hostile;
pub mod isolation_test;
pub mod memory_test;
pub mod profile;
pub mod proxy_bench;
pub mod routing_bench;

use std::process::ExitCode;

use anyhow::bail;
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

/// Parses the options and measures on one thread. An error is printed after the program's name.
pub fn execute<O: Parser, M: Future<Output = anyhow::Result<()>>>(measure: impl FnOnce(O) -> M) -> ExitCode {
    match run(measure(O::parse())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error:#}", O::command().get_name());
            ExitCode::FAILURE
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn run(measurement: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        done = measurement => done,
        // Returning drops, and thereby ends, all started processes.
        _ = terminate.recv() => bail!("terminated"),
        _ = tokio::signal::ctrl_c() => bail!("interrupted"),
    }
}
