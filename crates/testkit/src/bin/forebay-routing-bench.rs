//! `make bench-routing`: compares routers in front of simulated engines and prints a table.

use std::process::ExitCode;

use clap::Parser;
use testkit::routing_bench::{Options, run};

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match runtime.block_on(run(options)) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            eprintln!("forebay-routing-bench: {error:#}");
            Ok(ExitCode::FAILURE)
        }
    }
}
