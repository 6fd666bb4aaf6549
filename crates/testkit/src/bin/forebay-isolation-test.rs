//! `make test-isolation`: measures how far one tenant's attacks move the latency of another one's calls.

use std::process::ExitCode;

use clap::Parser;
use testkit::isolation_test::{Options, run};

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match runtime.block_on(run(options)) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            eprintln!("forebay-isolation-test: {error:#}");
            Ok(ExitCode::FAILURE)
        }
    }
}
