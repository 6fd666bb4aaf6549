//! `make campaign`: three nodes under load and faults, and a check of everything that happened.

use std::process::ExitCode;

use campaign::{Options, enter, run};
use clap::Parser;

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    if options.runs() {
        enter()?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match runtime.block_on(run(&options)) {
        Ok(true) => Ok(ExitCode::SUCCESS),
        Ok(false) => Ok(ExitCode::FAILURE),
        Err(error) => {
            eprintln!("forebay-campaign: {error:#}");
            Ok(ExitCode::FAILURE)
        }
    }
}
