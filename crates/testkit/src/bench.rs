//! The benchmark: Forebay beside plain nginx, in front of the same fake engine, in the same minutes.
//!
//! What counts is the ratio within a round; bare numbers drift with the machine. The gateway under test has core 0 to
//! itself; the engine and this load generator share core 1. Load goes to 127.0.0.1 only and every loop is bounded.

mod closed_loop;
mod connection;
mod figures;
mod gateways;
mod host;
mod keys;
mod nginx;
mod open_loop;
mod options;
mod own_cost;
mod phases;
mod process_stat;
mod requests;
mod size;
mod streams;
mod table;

use anyhow::bail;
use tokio::signal::unix::{SignalKind, signal};

pub use options::Options;

/// Runs everything that was asked for and prints the table.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        done = measure(options) => done,
        // Returning drops, and so ends, every process that was started.
        _ = terminate.recv() => bail!("terminated"),
        _ = tokio::signal::ctrl_c() => bail!("interrupted"),
    }
}

async fn measure(options: Options) -> anyhow::Result<()> {
    let cores = host::prepare()?;
    let scratch = tempfile::Builder::new().prefix("forebay-bench-").tempdir()?;
    let setup = gateways::Setup::start(&options, cores, scratch.path()).await?;
    let figures = phases::run(&setup, &options).await?;
    println!("{}", table::render(&figures, setup.contender.name));
    println!("Medians of {} rounds; ratios are taken within a round.", figures.rounds());
    for note in &figures.notes {
        println!("{note}");
    }
    Ok(())
}
