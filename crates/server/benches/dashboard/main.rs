//! `make bench-dashboard`: latency of a 30-day dashboard over a million requests.
//!
//! The store is filled through the functions of the usage writer, then a running gateway is queried over HTTP as the
//! console does.

mod fill;
mod queries;

use anyhow::Context;
use clap::Parser;
use domain::WorkspaceId;
use fill::Plan;
use std::time::Duration;
use store::Store;
use testkit::process::ForebayLaunch;

/// Fills a store and measures the latency of dashboards and lists.
#[derive(Parser)]
struct Arguments {
    /// Store to fill: `sqlite:forebay.db` in a temporary folder, or an empty database such as postgres://user@host/name.
    #[arg(long, default_value = "sqlite:forebay.db")]
    store: String,
    #[arg(long, default_value_t = 1_000_000)]
    requests: u64,
    #[arg(long, default_value_t = 30)]
    days: u32,
    #[arg(long, default_value_t = 10)]
    models: u32,
    #[arg(long, default_value_t = 20)]
    keys: u32,
    /// Number of repetitions of each query; the median and the slowest are shown.
    #[arg(long, default_value_t = 20)]
    rounds: usize,
    /// Cargo passes this to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nops_listen = \"127.0.0.1:0\"\n[store]\nurl = \"{}\"\n\
         [[models]]\nid = \"acme/none\"\nupstreams = [{{ url = \"http://127.0.0.1:9/v1\" }}]\n",
        arguments.store
    );
    let forebay = ForebayLaunch::default().binary(env!("CARGO_BIN_EXE_forebay")).start(&config).await?;
    let bootstrap = forebay.bootstrap();
    let text = |name: &str| bootstrap[name].as_str().map(str::to_owned).context("the store is not empty");
    let (workspace, organization) = (WorkspaceId::parse(&text("workspaceId")?)?, text("organizationId")?);

    let store = Store::open(&arguments.store, &forebay.data_dir).await?;
    let plan = Plan {
        organization: domain::OrganizationId::parse(&organization)?,
        workspace: workspace.clone(),
        requests: arguments.requests,
        days: arguments.days,
        models: arguments.models,
        keys: arguments.keys,
    };
    let filled = fill::fill(&store, &plan).await?;
    println!(
        "{} requests of {} days, {} models, {} keys on {}: written in {:.0} s, {:.0} a second\n",
        arguments.requests,
        arguments.days,
        arguments.models,
        arguments.keys,
        arguments.store.split(':').next().unwrap_or_default(),
        filled.as_secs_f64(),
        arguments.requests as f64 / filled.as_secs_f64().max(Duration::from_millis(1).as_secs_f64())
    );
    let session = queries::sign_in(forebay.public, &text("email")?, &text("password")?).await?;
    queries::run_all(&session, &workspace, &organization, arguments.days, arguments.rounds).await
}
