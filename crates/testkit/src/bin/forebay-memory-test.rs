//! `make test-memory`: attacks the gateway under a memory limit and prints how it and its other callers fare.

use std::process::ExitCode;

use clap::Parser;
use testkit::memory_test::{Options, run};

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match runtime.block_on(run(options)) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            eprintln!("forebay-memory-test: {error:#}");
            Ok(ExitCode::FAILURE)
        }
    }
}
