//! The benchmark: Forebay compared with nginx as a plain proxy, in front of the same fake engine, alternately.
//!
//! The ratio within a round counts, since absolute numbers drift with the machine. The gateway under test runs alone on
//! core 0; the engine and this load generator share core 1. Load goes to 127.0.0.1 only, and every loop is bounded.

pub(crate) mod load;
mod options;
mod phases;
mod report;
pub(crate) mod setup;

use anyhow::Context;
pub use options::Options;
use report::data::{self, Conditions};

/// Runs the selected phases and prints the table.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let cores = setup::host::prepare()?;
    let scratch = tempfile::Builder::new().prefix("forebay-bench-").tempdir()?;
    let setup = setup::gateways::Setup::start(&options, cores, scratch.path()).await?;
    let figures = phases::run(&setup, &options).await?;
    println!("{}", report::table::render(&figures, setup.contender.name));
    println!("Medians of {} rounds; ratios are taken within a round.", figures.rounds());
    for note in &figures.notes {
        println!("{note}");
    }
    if let Some(file) = &options.data {
        let forebay = options.forebay.as_ref().context("--data needs --forebay")?;
        std::fs::write(file, data::render(&figures, &Conditions::now(forebay)?))
            .with_context(|| file.display().to_string())?;
    }
    Ok(())
}
