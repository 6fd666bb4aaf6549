//! The memory test: the gateway under a memory limit, attacked in several ways, while other tenants' calls go on.
//!
//! Prints, for each attack, the latency of the others' calls and the peak of the gateway's memory. Fails if the gateway is
//! killed, or if a call of the others fails. Needs no other program than forebay, and openssl for the attack over HTTP/2.
//! Where no control group can be created, there is no limit, and the resident memory of the process is shown.

mod attacks;
mod cgroup;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use clap::{Parser, ValueEnum};
use testkit::fake_engine::Script;
use tokio::task::JoinSet;
use watch::Watch;

use crate::hostile::gateway::{Confinement, Gateway, Setup};
use crate::hostile::{bystander, host, requests};

/// How long the gateway may take to return its memory after an attack.
const RECOVERY: Duration = Duration::from_secs(60);
const SAMPLE_PERIOD: Duration = Duration::from_millis(200);
/// Descriptors for everything but the attackers' connections, most of all connections to the engine.
const OTHER_FILES: usize = 5_000;
/// High enough that the rate limits reject no call.
const REQUESTS_PER_MINUTE: u64 = 100_000_000;
/// The part of its memory that the gateway takes for bodies if it sees the limit.
const BUDGET_DIVISOR: u64 = 4;

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
    /// 480 bodies of which one byte is sent, half of them by 20 workspaces of one organization, half without a credential.
    Announced,
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
    /// 32 responses of 8 MiB that are not streamed, of 20 workspaces of one organization whose clients do not read.
    LargeResponses,
    /// Prompts of 12 MB of 20 workspaces of one organization for a context of 8,192 tokens, on 32 connections.
    HopelessPrompts,
    /// Tokens of prompts of 1 MB of 20 workspaces of one organization that are counted, on 64 connections.
    CountedTokens,
    /// Stored conversations of 1 MB that 20 workspaces of one organization continue on 64 connections.
    StoredResponses,
}

impl Attack {
    const ALL: [Self; 11] = [
        Self::Bodies,
        Self::Announced,
        Self::Heads,
        Self::Gzip,
        Self::Held,
        Self::SlowHttp1,
        Self::SlowHttp2,
        Self::LargeResponses,
        Self::HopelessPrompts,
        Self::CountedTokens,
        Self::StoredResponses,
    ];

    /// Further workspaces of the attacker's organization.
    const fn siblings(self) -> usize {
        match self {
            Self::Announced
            | Self::LargeResponses
            | Self::HopelessPrompts
            | Self::CountedTokens
            | Self::StoredResponses => 20,
            Self::Bodies | Self::Heads | Self::Gzip | Self::Held | Self::SlowHttp1 | Self::SlowHttp2 => 0,
        }
    }

    const fn needs_tls(self) -> bool {
        matches!(self, Self::SlowHttp2)
    }

    /// How the model of the attackers responds.
    fn script(self) -> Script {
        match self {
            Self::LargeResponses => Script { huge_bytes: attacks::RESPONSE_BYTES, ..Script::default() },
            Self::CountedTokens => Script { prompt_tokens: requests::COUNTED_TOKENS, ..Script::default() },
            Self::HopelessPrompts | Self::StoredResponses => Script::default(),
            Self::Bodies
            | Self::Announced
            | Self::Heads
            | Self::Gzip
            | Self::Held
            | Self::SlowHttp1
            | Self::SlowHttp2 => paced_stream(),
        }
    }

    /// The kind of the attackers' engine. Only engines of a known kind are asked to count tokens.
    fn engine(self) -> Option<&'static str> {
        (self == Self::CountedTokens).then_some("vllm")
    }
}

/// Runs the selected attacks and prints a table.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let attacks = Attack::ALL.into_iter().filter(|attack| options.only.is_empty() || options.only.contains(attack));
    let attacks: Vec<Attack> = attacks.collect();
    let connections = attacks.iter().map(|attack| attacks::connections(*attack, options.percent));
    host::raise_open_files(connections.max().unwrap_or(0) + OTHER_FILES)?;
    println!("| attack | calls of others | failed | p50 | p99 | peak memory | of sockets | limit |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut failures = Vec::new();
    for attack in attacks {
        match run_attack(&options, attack).await {
            Ok(wrong) => failures.extend(wrong),
            Err(error) => failures.push(format!("{attack:?}: {error:#}")),
        }
    }
    if !failures.is_empty() {
        bail!("{}", failures.join("; "));
    }
    Ok(())
}

/// Runs one attack against a fresh gateway; returns what is wrong.
async fn run_attack(options: &Options, attack: Attack) -> anyhow::Result<Vec<String>> {
    let limit = options.limit_mib << 20;
    let watch = Watch::new(&format!("{attack:?}"), limit);
    let members = watch.members();
    let setup = Setup {
        binary: &options.forebay,
        has_tls: attack.needs_tls(),
        requests_per_minute: REQUESTS_PER_MINUTE,
        allotment: 1,
        siblings: attack.siblings(),
        memory_budget: members.is_none().then_some(limit / BUDGET_DIVISOR),
        confinement: members.map_or(Confinement::Anywhere, Confinement::Group),
        attacked: attack.script(),
        attacked_engine: attack.engine(),
    };
    let mut gateway = Gateway::start(&setup).await?;
    let pid = gateway.forebay.child.pid();
    let idle = watch.anonymous_bytes(pid)?;
    let mut attackers = JoinSet::new();
    attacks::start(attack, options.percent, &gateway.target, &mut attackers).await?;
    let bystander = bystander::start(gateway.target.clone(), Duration::from_secs(options.seconds))?;
    let (mut peak, mut of_sockets) = (0, None);
    while !bystander.is_finished() && !gateway.has_ended() {
        peak = peak.max(watch.anonymous_bytes(pid)?);
        of_sockets = of_sockets.max(watch.socket_bytes());
        tokio::time::sleep(SAMPLE_PERIOD).await;
    }
    let seen = bystander.join().map_err(|_| anyhow::anyhow!("the thread of the others panicked"))??;
    attackers.shutdown().await;
    let mib = |bytes: u64| bytes >> 20;
    println!(
        "| {attack:?} | {} | {} | {:.1} ms | {:.1} ms | {} MiB | {} | {} |",
        seen.calls(),
        seen.failed,
        seen.percentile(0.50),
        seen.percentile(0.99),
        mib(peak),
        of_sockets.map_or_else(|| "unknown".to_owned(), |bytes| format!("{} MiB", mib(bytes))),
        if matches!(watch, Watch::Group(_)) { format!("{} MiB", options.limit_mib) } else { "none".to_owned() },
    );
    let mut wrong = Vec::new();
    if watch.kills()? > 0 || gateway.has_ended() {
        wrong.push(format!("{attack:?}: the gateway was killed"));
    } else if !gateway.wait_until_idle(RECOVERY).await? {
        wrong.push(format!(
            "{attack:?}: {} MiB at the start, {} MiB after it",
            mib(idle),
            mib(watch.anonymous_bytes(pid)?)
        ));
    }
    if seen.failed > 0 {
        wrong.push(format!("{attack:?}: {} of {} calls of others failed: {}", seen.failed, seen.calls(), seen.example));
    }
    Ok(wrong)
}

/// Paced, so that what the test measures is not the speed of the engine: 80 KB per second and stream. The engine renders
/// a stream ahead, so it is not longer than what no socket buffer holds: 1 MB.
fn paced_stream() -> Script {
    Script { chunks: 128, chunk_delay_ms: 100, text: "x".repeat(8_000), ..Script::default() }
}
