//! The memory test: the gateway under a memory limit, attacked in several ways, while other tenants' calls go on.
//!
//! Prints, for each attack, the latency of the others' calls and the peak of the gateway's memory. Fails if the gateway is
//! killed, or if a call of the others fails. All load goes to the loopback network.

mod attacks;
mod bystander;
mod cgroup;
mod gateway;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use cgroup::Cgroup;
use clap::{Parser, ValueEnum};
use gateway::Gateway;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

/// How long the gateway may take to return its memory after an attack.
const RECOVERY: Duration = Duration::from_secs(60);
const SAMPLE_PERIOD: Duration = Duration::from_millis(200);

/// Attacks the gateway under a memory limit while others call it.
#[derive(Parser, Debug, Clone)]
#[command(name = "forebay-memory-test")]
pub struct Options {
    /// Forebay's binary.
    #[arg(long)]
    pub forebay: PathBuf,
    /// Seconds per attack.
    #[arg(long, default_value_t = 120)]
    pub seconds: u64,
    /// The memory limit of the gateway, in MiB.
    #[arg(long, default_value_t = 512)]
    pub limit_mib: u64,
    /// Attackers in percent of the full number, for machines with few file descriptors.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub percent: u32,
    /// Run only these attacks.
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<Attack>,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attack {
    /// 2,000 bodies of 16 MiB that never end.
    Bodies,
    /// 50,000 heads that never end.
    Heads,
    /// 500 gzip bombs at once.
    Gzip,
    /// 5,000 calls of 1 MiB that are held for an endpoint.
    Held,
    /// 2,000 streams over HTTP/1 whose clients do not read.
    SlowHttp1,
    /// 2,000 streams over HTTP/2 whose clients do not read.
    SlowHttp2,
}

impl Attack {
    const ALL: [Self; 6] = [Self::Bodies, Self::Heads, Self::Gzip, Self::Held, Self::SlowHttp1, Self::SlowHttp2];

    const fn needs_tls(self) -> bool {
        matches!(self, Self::SlowHttp2)
    }
}

/// Runs the selected attacks and prints a table.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        done = attack_all(&options) => done,
        // Returning drops, and thereby ends, the gateway.
        _ = terminate.recv() => bail!("terminated"),
        _ = tokio::signal::ctrl_c() => bail!("interrupted"),
    }
}

async fn attack_all(options: &Options) -> anyhow::Result<()> {
    let attacks = Attack::ALL.into_iter().filter(|attack| options.only.is_empty() || options.only.contains(attack));
    let attacks: Vec<Attack> = attacks.collect();
    check_descriptors(&attacks, options.percent)?;
    println!("| attack | calls of others | failed | p50 | p99 | peak memory | limit |");
    println!("|---|---|---|---|---|---|---|");
    let mut failures = Vec::new();
    for attack in attacks {
        failures.extend(run_attack(options, attack).await.with_context(|| format!("{attack:?}"))?);
    }
    if !failures.is_empty() {
        bail!("{}", failures.join("; "));
    }
    Ok(())
}

/// Without enough descriptors the attack would be weaker than its name says.
fn check_descriptors(attacks: &[Attack], percent: u32) -> anyhow::Result<()> {
    /// For everything but the attackers' connections, most of all connections to the engine.
    const OTHERS: usize = 5_000;
    let text = fs::read_to_string("/proc/self/limits").context("cannot read /proc/self/limits")?;
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"));
    let limit: usize = line
        .and_then(|line| line.split_whitespace().next()?.parse().ok())
        .context("/proc/self/limits has no number of open files")?;
    let needed = attacks.iter().map(|attack| attacks::connections(*attack, percent)).max().unwrap_or(0) + OTHERS;
    if needed > limit {
        bail!("the attacks need {needed} open files, and {limit} are allowed: raise `ulimit -n`, or set --percent");
    }
    Ok(())
}

/// Runs one attack against a fresh gateway; returns what is wrong.
async fn run_attack(options: &Options, attack: Attack) -> anyhow::Result<Vec<String>> {
    let group = Cgroup::create(&format!("{attack:?}"), options.limit_mib << 20)?;
    let mut gateway = Gateway::start(&options.forebay, &group, attack.needs_tls()).await?;
    let idle = group.anonymous_bytes()?;
    let mut attackers = JoinSet::new();
    attacks::start(attack, options.percent, &gateway.target, &mut attackers).await?;
    let bystander = bystander::start(gateway.target.clone(), Duration::from_secs(options.seconds))?;
    let mut peak = 0;
    while !bystander.is_finished() {
        peak = peak.max(group.anonymous_bytes()?);
        tokio::time::sleep(SAMPLE_PERIOD).await;
    }
    let seen = bystander.join().map_err(|_| anyhow::anyhow!("the thread of the others panicked"))??;
    attackers.shutdown().await;
    let mib = |bytes: u64| bytes >> 20;
    println!(
        "| {attack:?} | {} | {} | {:.1} ms | {:.1} ms | {} MiB | {} MiB |",
        seen.calls(),
        seen.failed,
        seen.percentile(0.50),
        seen.percentile(0.99),
        mib(peak),
        options.limit_mib
    );
    let mut wrong = Vec::new();
    let kills = group.kills()?;
    if kills > 0 || gateway.has_ended() {
        wrong.push(format!("{attack:?}: the gateway was killed"));
    } else if !gateway.wait_until_idle(RECOVERY).await? {
        wrong.push(format!(
            "{attack:?}: {} MiB at the start, {} MiB after it",
            mib(idle),
            mib(group.anonymous_bytes()?)
        ));
    }
    if seen.failed > 0 {
        wrong.push(format!("{attack:?}: {} of {} calls of others failed: {}", seen.failed, seen.calls(), seen.example));
    }
    Ok(wrong)
}
