//! The fairness bench: how tenants, and classes of calls, share an engine that is full.
//!
//! One gateway serves a model with one scripted engine, which takes [`SLOTS`] calls at once and lets further ones wait in
//! the queue of the gateway. Three measurements, each with quiet spans and spans under load in turns on the same gateway, so
//! that the noise of the machine is in both:
//!
//! - a tenant with a call now and then, beside one with a thousand waiting calls;
//! - two tenants whose calls always wait, with prompts of different lengths, as equals and with weights;
//! - interactive calls beside a batch whose lines fill the idle time.
//!
//! Prints each figure with its bound, and fails if one is exceeded.

mod batch;
mod load;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use clap::Parser;
use testkit::fake_engine::{FakeEngine, Script};
use testkit::gateway_config::GatewayConfig;
use testkit::http::Client;
use testkit::process::{Forebay, ForebayLaunch};

use crate::hostile::gateway::{admin, text};
use crate::hostile::host;
use crate::proxy_bench::load::open_loop::Latencies;
use batch::RunningBatch;
use load::{Flood, Tenant};

const MODEL: &str = "test/chat";
/// Calls that the engine takes at once.
const SLOTS: usize = 8;
/// Until the first token of a call, and from then until its end.
const FIRST_TOKEN_MILLIS: u64 = 200;
const TOKENS: usize = 20;
const TOKEN_MILLIS: u64 = 10;
/// Waiting calls of the tenant that floods, the most that one may have.
const WAITING: usize = 1_000;
const NEEDED_FILES: usize = 8_192;
/// Until calls wait, or none.
const MOST_SECONDS_TO_BEGIN: u64 = 30;
const POLL_MILLIS: u64 = 50;
/// The bounds of the figures.
const MOST_TTFT_RATIO: f64 = 1.5;
const MOST_SHARE_ERROR: f64 = 0.10;
const MOST_BATCH_RATIO: f64 = 1.10;
const LEAST_BUSY: f64 = 0.90;

/// Measures the shares of tenants and of classes of calls.
#[derive(Parser, Debug, Clone)]
#[command(name = "forebay-fairness-bench")]
pub struct Options {
    /// Forebay's binary.
    #[arg(long)]
    pub forebay: PathBuf,
    /// Seconds per span, quiet or under load.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub seconds: u64,
    /// Pairs of spans per measurement.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,
}

/// A figure with its bound.
struct Figure {
    what: &'static str,
    value: f64,
    bound: Bound,
}

#[derive(Clone, Copy)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl Figure {
    fn is_good(&self) -> bool {
        match self.bound {
            Bound::AtMost(most) => self.value <= most,
            Bound::AtLeast(least) => self.value >= least,
        }
    }

    fn print(&self) {
        let bound = match self.bound {
            Bound::AtMost(most) => format!("≤ {most:.2}"),
            Bound::AtLeast(least) => format!("≥ {least:.2}"),
        };
        let verdict = if self.is_good() { "" } else { " | **missed**" };
        println!("| {} | {:.2} | {bound}{verdict} |", self.what, self.value);
    }
}

/// The gateway, its engine, and its tenants.
struct Bench {
    engine: FakeEngine,
    forebay: Forebay,
    binary: PathBuf,
}

impl Bench {
    async fn start(options: &Options) -> anyhow::Result<Self> {
        let engine = FakeEngine::for_load(([127, 0, 0, 1], 0).into(), 1)?;
        engine.script(Script {
            delay_ms: FIRST_TOKEN_MILLIS,
            chunks: TOKENS,
            chunk_delay_ms: TOKEN_MILLIS,
            ..Script::default()
        });
        let defaults = "[workspace_defaults]\n\
                        requests_per_minute = 1_000_000_000\ntokens_per_minute = 1_000_000_000_000\n\
                        monthly_tokens = 1_000_000_000_000_000\n";
        let upstream = format!("{{ url = \"{}\", model = \"fake\", max_in_flight = {SLOTS} }}", engine.url());
        let model = format!("context_length = 1_000_000\nqueue_timeout = \"5m\"\nupstreams = [ {upstream} ]");
        let config = GatewayConfig::default().tables(defaults).model(MODEL, &model).render();
        let binary = std::fs::canonicalize(&options.forebay)?;
        let forebay = ForebayLaunch::default().binary(&binary).start(&config).await?;
        Ok(Self { engine, forebay, binary })
    }

    /// A new tenant.
    fn tenant(&self, weight: u16, prompt_tokens: u64) -> anyhow::Result<Tenant> {
        let admin = |line: &str| admin(&self.binary, &self.forebay, line);
        let organization = text(&self.forebay.bootstrap()["organizationId"]);
        let workspace = text(&admin(&format!("workspaces create --organization {organization} --name one"))?["id"]);
        admin(&format!("workspaces set {workspace} --weight {weight}"))?;
        let key = text(&admin(&format!("keys create --workspace {workspace} --name one"))?["key"]);
        let client = Client::new(format!("http://{}/v1", self.forebay.public)).key(&key);
        Ok(Tenant { client, prompt_tokens })
    }

    /// Waits until calls wait at the gateway, or none.
    async fn wait_for_queue(&self, class: &str, least: usize) -> anyhow::Result<()> {
        let name = format!("forebay_calls_waiting{{model=\"{MODEL}\",class=\"{class}\"}} ");
        for _ in 0..MOST_SECONDS_TO_BEGIN * 1_000 / POLL_MILLIS {
            let page = Client::new(self.forebay.ops).get("/metrics").await.text();
            let line = page.lines().find_map(|line| line.strip_prefix(&name));
            let waiting: usize = line.and_then(|number| number.parse().ok()).unwrap_or(0);
            if if least == 0 { waiting == 0 && self.engine.in_flight() == 0 } else { waiting >= least } {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(POLL_MILLIS)).await;
        }
        bail!("the queue of {class} calls did not reach {least} calls")
    }

    /// A thousand calls of one tenant wait, and another one calls now and then.
    async fn flood(&self, options: &Options) -> anyhow::Result<Vec<Figure>> {
        let (steady, flooding) = (self.tenant(1, 10)?, self.tenant(1, 2_000)?);
        let (mut alone, mut beside) = (Vec::new(), Vec::new());
        for _ in 0..options.rounds {
            alone.push(steady.first_tokens(5.0, options.span()).await?);
            let flood = Flood::start(&flooding, WAITING + SLOTS);
            self.wait_for_queue("interactive", WAITING * 9 / 10).await?;
            beside.push(steady.first_tokens(5.0, options.span()).await?);
            drop(flood);
            self.wait_for_queue("interactive", 0).await?;
        }
        let [alone, beside] = [alone, beside].map(Latencies::join);
        println!(
            "beside {WAITING} waiting calls: time to first token p50 {:.0} ms → {:.0} ms, p90 {:.0} ms → {:.0} ms",
            alone.percentile(0.5),
            beside.percentile(0.5),
            alone.percentile(0.9),
            beside.percentile(0.9)
        );
        Ok(vec![Figure {
            what: "time to first token of a tenant beside another one's 1,000 waiting calls, p50, to that alone",
            value: beside.percentile(0.5) / alone.percentile(0.5),
            bound: Bound::AtMost(MOST_TTFT_RATIO),
        }])
    }

    /// Two tenants always have calls that wait, one of them with long prompts.
    async fn shares(&self, options: &Options) -> anyhow::Result<Vec<Figure>> {
        let mut figures = Vec::new();
        for (what, weight) in [
            ("error of the shares of two tenants, one of them with 50 × the concurrency and 6 × the prompts", 1),
            ("the same with a weight of 3 for one of them", 3),
        ] {
            let (long, short) = (self.tenant(1, 600)?, self.tenant(weight, 100)?);
            let floods = [Flood::start(&long, 800), Flood::start(&short, 8 + 8 * usize::from(weight))];
            // The first calls of a workspace are charged as expected of any model.
            self.wait_for_queue("interactive", 700).await?;
            tokio::time::sleep(options.span() / 2).await;
            let before = floods.each_ref().map(Flood::tokens);
            tokio::time::sleep(options.span() * options.rounds).await;
            let after = floods.each_ref().map(Flood::tokens);
            drop(floods);
            let [long, short] = [0, 1].map(|one| (after[one] - before[one]) as f64);
            println!("tokens of two tenants with weights 1 and {weight}: {long} and {short}");
            let error = (short / long / f64::from(weight) - 1.0).abs();
            figures.push(Figure { what, value: error, bound: Bound::AtMost(MOST_SHARE_ERROR) });
            self.wait_for_queue("interactive", 0).await?;
        }
        Ok(figures)
    }

    /// The lines of a batch fill the time that interactive calls leave.
    async fn batch(&self, options: &Options) -> anyhow::Result<Vec<Figure>> {
        let (interactive, offline) = (self.tenant(1, 10)?, self.tenant(1, 10)?);
        let service_millis = FIRST_TOKEN_MILLIS + TOKENS as u64 * TOKEN_MILLIS;
        // Somewhat less than the half that lines may not take.
        let rate = 0.45 * SLOTS as f64 * 1e3 / service_millis as f64;
        // More than the engine serves until the span is over.
        let lines = SLOTS as u64 * (options.seconds + MOST_SECONDS_TO_BEGIN) * 1_000 / service_millis;
        let (mut alone, mut beside, mut busy, mut succeeded) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for _ in 0..options.rounds {
            alone.push(interactive.first_tokens(rate, options.span()).await?);
            let batch = RunningBatch::start(&offline, usize::try_from(lines)?).await?;
            self.wait_for_queue("batch", 1).await?;
            let occupancy = load::occupancy(&self.engine, SLOTS, options.span());
            let (latencies, occupancy) = tokio::join!(interactive.first_tokens(rate, options.span()), occupancy);
            beside.push(latencies?);
            busy.push(occupancy);
            succeeded += batch.cancel().await?;
            self.wait_for_queue("batch", 0).await?;
        }
        let [alone, beside] = [alone, beside].map(Latencies::join);
        println!(
            "interactive calls at 45 % of the engine beside {succeeded} lines of batches: \
             time to first token p50 {:.0} ms → {:.0} ms",
            alone.percentile(0.5),
            beside.percentile(0.5)
        );
        let busy = busy.iter().sum::<f64>() / busy.len() as f64;
        Ok(vec![
            Figure {
                what: "time to first token of interactive calls beside a batch, p50, to that alone",
                value: beside.percentile(0.5) / alone.percentile(0.5),
                bound: Bound::AtMost(MOST_BATCH_RATIO),
            },
            Figure { what: "share of the engine in use meanwhile", value: busy, bound: Bound::AtLeast(LEAST_BUSY) },
        ])
    }
}

impl Options {
    fn span(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

/// Runs all measurements and prints a table.
pub async fn run(options: Options) -> anyhow::Result<()> {
    host::raise_open_files(NEEDED_FILES)?;
    let bench = Bench::start(&options).await?;
    let mut figures = bench.flood(&options).await?;
    figures.extend(bench.shares(&options).await?);
    figures.extend(bench.batch(&options).await?);
    println!("\n| figure | measured | bound |\n|---|---|---|");
    figures.iter().for_each(Figure::print);
    let missed = figures.iter().filter(|figure| !figure.is_good()).count();
    if missed > 0 {
        bail!("{missed} figures miss their bounds");
    }
    Ok(())
}
