//! The isolation test: one tenant attacks a gateway on one core, while another one calls it at a steady rate.
//!
//! For each attack, quiet and attacked spans alternate on the same gateway, so that the noise of the machine is in both.
//! Prints the latency of the victim's calls in either, the ratio of the 99th percentiles, the CPU time of the gateway, and
//! how the attackers fared. Fails if a ratio is too high or a call of the victim fails. During the attack on
//! memory, calls of 200 KB and sign-ins are sent as well: of the calls, 99 % have to pass, and all sign-ins.
//!
//! The gateway has a core of its own. Everything else shares the other cores: the victim and its engine at normal
//! priority, the attackers and theirs at the lowest, and each attack has a bound on its rate. So what the victim sees is
//! the gateway, as far as the machine allows; the row `None`, without an attack, shows how far that is.

mod attackers;
mod attacks;
mod victim;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Parser, ValueEnum};
use testkit::fake_engine::Script;

use crate::hostile::gateway::{Confinement, Gateway, Setup};
use crate::hostile::{bystander, host, requests};
use crate::proxy_bench::load::open_loop::Latencies;
use crate::proxy_bench::setup::process_stat;
use attackers::{Attackers, Outcomes, Plan};

/// The core of the gateway.
const GATEWAY_CORE: usize = 0;
const NEEDED_FILES: usize = 4_096;
/// From the end of an attack until the victim's calls count as quiet. They count as attacked from the start.
const RECOVERY: Duration = Duration::from_secs(1);
/// The memory for bodies, of which announced bodies would take all.
const ANNOUNCED_BUDGET: u64 = 512 << 20;
/// A large customer: ten times the default.
const REQUESTS_PER_MINUTE: u64 = 6_000;

/// Attacks the gateway as one tenant and measures the calls of another.
#[derive(Parser, Debug, Clone)]
#[command(name = "forebay-isolation-test")]
pub struct Options {
    /// Forebay's binary.
    #[arg(long)]
    pub forebay: PathBuf,
    /// Seconds per span, quiet or attacked.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub seconds: u64,
    /// Pairs of spans per attack.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// The victim's calls per second.
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=90))]
    pub rate: u32,
    /// The highest accepted ratio of the 99th percentiles, attacked to quiet.
    #[arg(long, default_value_t = 2.0)]
    pub max_ratio: f64,
    /// Run only these attacks.
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<Attack>,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attack {
    /// Nothing, for comparison.
    None,
    /// Calls with invalid keys.
    RejectedKeys,
    /// Calls with a valid key and an invalid body.
    FailingCalls,
    /// Bodies of which one byte is sent, on 240 connections by 20 workspaces of one organization, on 240 without a credential.
    Announced,
    /// Changes of an endpoint and of a key in a loop.
    Edits,
    /// Gzip bombs.
    Bombs,
    /// Prompts of 4 MB of 20 workspaces of one organization, which are served.
    LongPrompts,
    /// Prompts of 12 MB of 20 workspaces for a context of 8,192 tokens.
    HopelessPrompts,
    /// Tokens of 20 workspaces' prompts of 1 MB that are counted.
    CountedTokens,
    /// Calls of 20 workspaces whose responses are too large.
    LargeResponses,
    /// 100 endpoints that are created, deleted and called, and never become ready.
    Endpoints,
    /// Stored conversations of 1 MB that 20 workspaces of one organization continue.
    StoredResponses,
}

impl Attack {
    const ALL: [Self; 12] = [
        Self::None,
        Self::RejectedKeys,
        Self::FailingCalls,
        Self::Announced,
        Self::Edits,
        Self::Bombs,
        Self::LongPrompts,
        Self::HopelessPrompts,
        Self::CountedTokens,
        Self::LargeResponses,
        Self::Endpoints,
        Self::StoredResponses,
    ];

    /// Further workspaces of the attacker's organization.
    const fn siblings(self) -> usize {
        match self {
            Self::Announced
            | Self::LongPrompts
            | Self::HopelessPrompts
            | Self::CountedTokens
            | Self::LargeResponses
            | Self::StoredResponses => 20,
            Self::None | Self::RejectedKeys | Self::FailingCalls | Self::Edits | Self::Bombs | Self::Endpoints => 0,
        }
    }

    /// How the model of the attackers responds.
    fn script(self) -> Script {
        let usual = Script::default();
        match self {
            // Without its length, most of it has to be read.
            Self::LargeResponses => Script { huge_bytes: attacks::RESPONSE_BYTES, chunked: true, ..usual },
            Self::CountedTokens => Script { prompt_tokens: requests::COUNTED_TOKENS, ..usual },
            Self::None
            | Self::RejectedKeys
            | Self::FailingCalls
            | Self::Announced
            | Self::Edits
            | Self::Bombs
            | Self::LongPrompts
            | Self::HopelessPrompts
            | Self::Endpoints
            | Self::StoredResponses => usual,
        }
    }

    /// The kind of the attackers' engine. Only engines of a known kind are asked to count tokens.
    fn engine(self) -> Option<&'static str> {
        (self == Self::CountedTokens).then_some("vllm")
    }

    /// Smaller than what is announced, whatever memory the machine has.
    fn memory_budget(self) -> Option<u64> {
        (self == Self::Announced).then_some(ANNOUNCED_BUDGET)
    }
}

/// The spans of one kind.
#[derive(Default)]
struct Spans {
    latencies: Vec<Latencies>,
    cpu: Duration,
    /// What others saw, beside attacks that could keep them out.
    others: bystander::Seen,
}

impl Spans {
    /// Measures one more span of the victim's calls.
    async fn add(&mut self, options: &Options, attack: Attack, gateway: &Gateway) -> anyhow::Result<()> {
        let pid = gateway.forebay.child.pid();
        let before = process_stat::total_cpu(pid)?;
        let start = || bystander::start(gateway.target.clone(), options.span());
        let others = (attack == Attack::Announced).then(start).transpose()?;
        self.latencies.push(victim::call(&gateway.target, options.rate, options.span()).await?);
        self.cpu += process_stat::total_cpu(pid)?.saturating_sub(before);
        if let Some(others) = others {
            self.others.extend(others.join().map_err(|_| anyhow::anyhow!("the thread of the others panicked"))??);
        }
        Ok(())
    }

    fn figures(self) -> Figures {
        let all = Latencies::join(self.latencies);
        let cpu_per_call = self.cpu.as_secs_f64() * 1e3 / all.count().max(1) as f64;
        Figures { calls: all.count(), p50: all.percentile(0.50), p99: all.percentile(0.99), cpu_per_call }
    }
}

/// Times in milliseconds.
struct Figures {
    calls: usize,
    p50: f64,
    p99: f64,
    /// CPU time of the gateway for everything, divided by the victim's calls.
    cpu_per_call: f64,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { p50, p99, cpu_per_call, .. } = self;
        write!(f, "{p50:.2} ms | {p99:.2} ms | {cpu_per_call:.2} ms")
    }
}

impl Options {
    fn span(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

/// Runs the selected attacks and prints a table.
pub async fn run(options: Options) -> anyhow::Result<()> {
    host::raise_open_files(NEEDED_FILES)?;
    host::stay_off(GATEWAY_CORE)?;
    println!(
        "| attack | calls | quiet p50 | p99 | CPU per call | attacked p50 | p99 | CPU per call | p99 ratio \
         | responses to the attackers |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut failures = Vec::new();
    for attack in Attack::ALL.into_iter().filter(|attack| options.only.is_empty() || options.only.contains(attack)) {
        let ratio = run_attack(&options, attack).await.with_context(|| format!("{attack:?}"))?;
        if attack != Attack::None && ratio > options.max_ratio {
            failures.push(format!("{attack:?}: the ratio is {ratio:.2}, above {}", options.max_ratio));
        }
    }
    if !failures.is_empty() {
        bail!("{}", failures.join("; "));
    }
    Ok(())
}

/// Runs one attack against a fresh gateway; the ratio of the 99th percentiles.
async fn run_attack(options: &Options, attack: Attack) -> anyhow::Result<f64> {
    let gateway = Gateway::start(&Setup {
        binary: &options.forebay,
        confinement: Confinement::Core(GATEWAY_CORE),
        has_tls: false,
        requests_per_minute: REQUESTS_PER_MINUTE,
        allotment: attacks::ENDPOINTS,
        siblings: attack.siblings(),
        memory_budget: attack.memory_budget(),
        attacked: attack.script(),
        attacked_engine: attack.engine(),
    })
    .await?;
    let plans = attacks::plans(attack, &gateway).await?;
    victim::call(&gateway.target, options.rate, RECOVERY).await?;
    let (mut quiet, mut attacked, mut outcomes) = (Spans::default(), Spans::default(), Outcomes::default());
    for _ in 0..options.rounds {
        quiet.add(options, attack, &gateway).await?;
        let start = |plan: &Plan| Attackers::start(gateway.target.address, plan.clone());
        let attackers: Vec<Attackers> = plans.iter().map(start).collect::<anyhow::Result<_>>()?;
        attacked.add(options, attack, &gateway).await?;
        for attackers in attackers {
            outcomes.add(attackers.stop()?);
        }
        tokio::time::sleep(RECOVERY).await;
    }
    let others = std::mem::take(&mut attacked.others);
    let (quiet, attacked) = (quiet.figures(), attacked.figures());
    let ratio = attacked.p99 / quiet.p99;
    let seconds = options.span().as_secs_f64() * f64::from(options.rounds);
    let (calls, outcomes) = (quiet.calls + attacked.calls, outcomes.per_second(seconds));
    println!("| {attack:?} | {calls} | {quiet} | {attacked} | {ratio:.2} | {outcomes} |");
    if others.breaks_promise() {
        bail!("{} of {} calls of others failed: {}", others.failed, others.calls(), others.example);
    }
    Ok(ratio)
}
