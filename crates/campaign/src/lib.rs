//! The campaign: three nodes under load while processes, disks, clocks and networks fail, and a checker over what
//! happened.
//!
//! The schedule of faults is a pure function of the seed ([`schedule`]), the checks are pure functions of the recorded
//! history ([`history`], [`checker`]). Everything in between is real: PostgreSQL with a streaming replica, Redis, gateways,
//! engines, signals, nftables, file systems in files, and libfaketime.

pub mod checker;
mod cluster;
mod generator;
pub mod history;
mod namespace;
mod nemesis;
mod observer;
pub mod random;
pub mod schedule;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use checker::Check;
use clap::Parser;
use cluster::{Cluster, Programs};
use generator::{Load, Tenants};
use history::{History, Outcome, Recorder};
pub use namespace::enter;
use nemesis::Nemesis;
use observer::Observer;
use schedule::Schedule;
use tokio::task::JoinSet;

/// A campaign in which the month changes waits for this long after it began to start everything.
const START_UP: Duration = Duration::from_secs(45);
/// How often a line shows that the campaign goes on.
const PROGRESS_EVERY: Duration = Duration::from_secs(30);

/// Three nodes under load, faults, and checks of what happened. Needs root.
#[derive(Parser, Debug, Clone)]
#[command(name = "forebay-campaign")]
pub struct Options {
    /// Length of the campaign.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// Determines the faults and their times; default: the current time. A failed campaign is repeated with its seed.
    #[arg(long)]
    seed: Option<u64>,
    /// The fixed faults of CI instead: about 65 seconds.
    #[arg(long)]
    short: bool,
    /// The gateway of the previous release, forebay-engine beside it. Nodes begin with it, are upgraded one by one, rolled
    /// back and upgraded again, under load and without other faults: about three minutes.
    #[arg(long, value_name = "PROGRAM", conflicts_with_all = ["short", "seconds"])]
    previous: Option<PathBuf>,
    /// Print the schedule and do nothing.
    #[arg(long)]
    print_schedule: bool,
    /// Check the history in this folder again and do nothing else.
    #[arg(long, value_name = "FOLDER")]
    check: Option<PathBuf>,
    /// The gateway; forebay-engine must be beside it.
    #[arg(long, default_value = "target/debug/forebay")]
    forebay: PathBuf,
    #[arg(long, default_value = "target/debug/fake-engine")]
    fake_engine: PathBuf,
    /// Weights of a small chat model.
    #[arg(long, default_value = "data/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf")]
    weights: PathBuf,
    /// Where the history and all logs are written.
    #[arg(long, default_value = "target/campaign")]
    results: PathBuf,
}

impl Options {
    /// Whether processes are started, which needs namespaces.
    pub fn runs(&self) -> bool {
        self.check.is_none() && !self.print_schedule
    }
}

/// Runs a campaign, or only a part of it. Returns whether every check held.
pub async fn run(options: &Options) -> anyhow::Result<bool> {
    if let Some(folder) = &options.check {
        return Ok(report(&History::read(folder)?));
    }
    let seed =
        options.seed.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs()));
    let schedule = match options {
        Options { previous: Some(_), .. } => schedule::upgrade(),
        Options { short: true, .. } => schedule::short(),
        Options { seconds, .. } => schedule::plan(seed, *seconds),
    };
    println!("==> Campaign of {} s, seed {seed}", schedule.length / 1_000);
    if options.print_schedule {
        for planned in &schedule.faults {
            println!("{:>7.1} s to {:>7.1} s  {}", seconds(planned.at), seconds(planned.until), planned.fault);
        }
        return Ok(true);
    }
    let results = prepare_results(&options.results)?;
    let programs = programs(options)?;
    // PostgreSQL's user may not read our folder.
    env::set_current_dir("/")?;
    let history = conduct(&programs, &results, seed, schedule).await?;
    let holds = report(&history);
    println!("==> History and logs are in {}", results.display());
    if !holds {
        let command = match options {
            Options { previous: Some(_), .. } => "make test-upgrade".to_owned(),
            Options { short: true, .. } => "make campaign-short".to_owned(),
            Options { seconds, .. } => format!("make campaign CAMPAIGN_SEED={seed} CAMPAIGN_SECONDS={seconds}"),
        };
        println!("==> FAILED; to repeat it: {command}");
    }
    Ok(holds)
}

fn prepare_results(folder: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    // Logs of an earlier campaign would be mistaken for those of this one.
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_ours =
            path.extension().is_some_and(|end| ["stdout", "stderr", "toml", "jsonl"].iter().any(|own| end == *own));
        if is_ours {
            fs::remove_file(path)?;
        }
    }
    Ok(fs::canonicalize(folder)?)
}

fn programs(options: &Options) -> anyhow::Result<Programs> {
    let find = |path: &Path| fs::canonicalize(path).with_context(|| format!("{} does not exist", path.display()));
    let find_gateway = |path: &Path| {
        let gateway = find(path)?;
        let engine = gateway.with_file_name("forebay-engine");
        ensure!(engine.is_file(), "{} does not exist", engine.display());
        Ok(gateway)
    };
    let forebay = find_gateway(&options.forebay)?;
    let previous = options.previous.as_deref().map(find_gateway).transpose()?;
    let weights = find(&options.weights).context("`make models` downloads the weights")?;
    Ok(Programs { forebay, previous, fake_engine: find(&options.fake_engine)?, weights })
}

/// Starts everything, lets load and faults run, waits until all has settled, and reads what is left.
async fn conduct(programs: &Programs, results: &Path, seed: u64, schedule: Schedule) -> anyhow::Result<History> {
    let (begun, began_at) = (Instant::now(), wall_millis()?);
    let base = match schedule.rollover() {
        Some(at) => cluster::clock::base_for_rollover(began_at / 1_000 + START_UP.as_secs().cast_signed(), at)?,
        None => 0,
    };
    println!("==> Starting PostgreSQL with a replica, Redis and three nodes");
    let cluster = Arc::new(Cluster::start(programs, results, base).await?);
    let tenants = Tenants::create(&cluster, schedule.length / 1_000).await?;
    if base != 0 {
        tokio::time::sleep(START_UP.saturating_sub(begun.elapsed())).await;
    }
    let recorder = Recorder::create(results)?;
    let wall = wall_millis()? + base * 1_000;
    let load = Load::new(Arc::clone(&cluster), recorder.clone(), tenants, seed, wall)?;
    let observer = Observer::new(Arc::clone(&cluster), recorder.clone());
    let mut watching = JoinSet::new();
    watching.spawn(Arc::clone(&observer).watch());
    println!("==> Load and faults");
    let mut callers = load.start();
    let mut progress = JoinSet::new();
    progress.spawn(show_progress(Arc::clone(&load)));
    let nemesis =
        Nemesis { cluster: Arc::clone(&cluster), recorder: recorder.clone(), observer: Arc::clone(&observer) };
    Arc::new(nemesis).run(schedule).await?;
    load.stop();
    drop(progress);
    finish(&mut callers).await?;
    println!("==> Waiting until everything has settled");
    load.delete_endpoints().await?;
    observer.settle().await?;
    observer.stop();
    finish(&mut watching).await?;
    observer::read_rows(&cluster, &recorder).await?;
    recorder.flush()?;
    History::read(results)
}

async fn finish(tasks: &mut JoinSet<anyhow::Result<()>>) -> anyhow::Result<()> {
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(())
}

async fn show_progress(load: Arc<Load>) {
    loop {
        tokio::time::sleep(PROGRESS_EVERY).await;
        println!("{:>7.1} s  {} calls", seconds(load.recorder.now()), load.call_count());
    }
}

fn wall_millis() -> anyhow::Result<i64> {
    Ok(i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?)
}

fn seconds(millis: u64) -> f64 {
    millis as f64 / 1_000.0
}

/// Prints the table of checks. Returns whether all of them held.
fn report(history: &History) -> bool {
    let served = history.calls.iter().filter(|call| matches!(call.outcome, Outcome::Served(_))).count();
    let rejected = history.calls.iter().filter(|call| matches!(call.outcome, Outcome::Rejected { .. })).count();
    let others = history.calls.len() - served - rejected;
    println!(
        "==> {} calls: {served} served, {rejected} rejected, {others} others; {} events, {} commands, {} faults",
        history.calls.len(),
        history.events.len(),
        history.commands.len(),
        history.faults.len()
    );
    let checks = checker::check(history);
    println!("{:<44} {:>8}  result", "check", "examined");
    for check in &checks {
        println!("{check}");
    }
    checks.iter().all(Check::holds)
}
