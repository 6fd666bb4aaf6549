//! `make bench-routing`: replays a trace over simulated engines through several routers and compares the waiting times.
//!
//! All routers get the same calls at the same times in front of fresh engines, one after another in one run. Engines and
//! their times are simulated with a speed factor; the routers are real programs.

mod generator;
mod options;
mod replay;
mod report;
mod routers;
mod trace;

use std::net::SocketAddr;

use testkit::fake_engine::{FakeEngine, Simulation};

use replay::Figures;

pub use options::Options;

/// Replays the trace through each router and prints the table.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let trace = options.trace()?;
    let simulation = options.simulation();
    eprintln!("{}", trace.describe(&simulation, options.replicas));
    let mut rows: Vec<(String, Figures)> = Vec::new();
    for router in options.routers() {
        eprintln!("{router}: {:.0} s", trace.duration().as_secs_f64() / simulation.speed);
        let engines = start_engines(options.replicas, simulation)?;
        let addresses: Vec<SocketAddr> = engines.iter().map(FakeEngine::address).collect();
        match routers::start(router, &options, &addresses).await {
            Ok(started) => {
                let figures = replay::run(&trace, &started, simulation.speed).await?;
                let work = engines.iter().map(FakeEngine::simulated_work).collect();
                rows.push((router.to_string(), figures.with_work(work)));
            }
            Err(error) => eprintln!("{router} is left out: {error:#}"),
        }
    }
    println!("{}", report::render(&rows));
    Ok(())
}

fn start_engines(count: usize, simulation: Simulation) -> anyhow::Result<Vec<FakeEngine>> {
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    (0..count).map(|_| FakeEngine::simulated(any_port, simulation)).collect()
}
