//! The processes of the benchmark: the engine, nginx as the baseline, and the contender.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;
use testkit::fake_engine::Script;
use testkit::gateway_config::GatewayConfig;
use testkit::http::Client;
use testkit::process::{Child, Forebay, ForebayLaunch, Launch};

use crate::proxy_bench::options::Options;
use crate::proxy_bench::setup::host::Cores;
use crate::proxy_bench::setup::keys;
use crate::proxy_bench::setup::nginx::Nginx;
use crate::proxy_bench::setup::process_stat;

const HIGH_LIMITS: &str = "[workspace_defaults]
requests_per_minute = 1_000_000_000
tokens_per_minute = 1_000_000_000_000
monthly_tokens = 1_000_000_000_000_000
";
const ONE_CALL_PER_MINUTE: &str = "[workspace_defaults]
requests_per_minute = 1
tokens_per_minute = 1_000_000_000_000
monthly_tokens = 1_000_000_000_000_000
";

/// Name of the contender without Forebay: calls go directly to the engine, and its own cost is shown.
pub(crate) const DIRECT: &str = "direct";

/// Configuration of a Forebay; the default is that of the contender.
pub(crate) struct Variant<'a> {
    pub(crate) limits: &'a str,
    /// Chat models, of which the last is called.
    pub(crate) models: usize,
    /// Upstreams of each model. All of them are the same engine.
    pub(crate) upstreams: usize,
    /// URL of the shared rate limits; `None` keeps them in memory.
    pub(crate) redis_url: Option<&'a str>,
}

impl Default for Variant<'_> {
    fn default() -> Self {
        Self { limits: HIGH_LIMITS, models: 1, upstreams: 1, redis_url: None }
    }
}

/// Something that serves calls, and its processes.
#[derive(Debug, Clone)]
pub(crate) struct Gateway {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    /// Where Forebay shows its metrics.
    pub(crate) ops: Option<SocketAddr>,
    pub(crate) pids: Vec<u32>,
    pub(crate) key: String,
    pub(crate) chat_model: String,
}

/// All processes of the benchmark; dropping it ends them.
pub(crate) struct Setup {
    pub(crate) nginx: Gateway,
    /// Forebay, or the engine itself without Forebay.
    pub(crate) contender: Gateway,
    /// Resident memory in megabytes before any call: nginx, contender.
    pub(crate) idle_megabytes: (f64, f64),
    engine: SocketAddr,
    gateway_core: Option<usize>,
    pub(crate) engine_core: Option<usize>,
    forebay_binary: Option<PathBuf>,
    extra_config: String,
    _forebay: Option<Forebay>,
    _nginx: Nginx,
    _engine: Child,
}

impl Setup {
    pub(crate) async fn start(options: &Options, cores: Cores, scratch: &Path) -> anyhow::Result<Self> {
        let (engine, engine_address) = start_engine(options.fake_engine.clone(), cores.engine, scratch).await?;
        let nginx = Nginx::start(engine_address, cores.gateway, &options.nginx_extra, scratch).await?;
        let floor = plain("nginx", nginx.address, nginx.pids.clone());
        let extra_config = options.extra_config.as_ref().map(std::fs::read_to_string).transpose()?.unwrap_or_default();
        let mut setup = Self {
            contender: plain(DIRECT, engine_address, vec![engine.pid()]),
            idle_megabytes: (process_stat::resident_megabytes(&floor.pids)?, f64::NAN),
            nginx: floor,
            engine: engine_address,
            gateway_core: cores.gateway,
            engine_core: cores.engine,
            forebay_binary: options.forebay.clone(),
            extra_config,
            _forebay: None,
            _nginx: nginx,
            _engine: engine,
        };
        if let Some((forebay, gateway)) = setup.start_forebay(Variant::default()).await? {
            // Wait for background work of the startup.
            tokio::time::sleep(Duration::from_secs(1)).await;
            setup.contender = gateway;
            setup._forebay = Some(forebay);
        }
        setup.idle_megabytes.1 = process_stat::resident_megabytes(&setup.contender.pids)?;
        Ok(setup)
    }

    /// Sets the engine's script.
    pub(crate) async fn script(&self, script: &Script) -> anyhow::Result<()> {
        set_script(self.engine, script).await
    }

    /// Starts another Forebay with a limit of one call per minute; `None` without a binary.
    pub(crate) async fn start_limited(&self) -> anyhow::Result<Option<(Forebay, Gateway)>> {
        self.start_forebay(Variant { limits: ONE_CALL_PER_MINUTE, ..Variant::default() }).await
    }

    /// Starts another Forebay with this many chat models, of which the last is called.
    pub(crate) async fn start_with_models(&self, models: usize) -> anyhow::Result<Option<(Forebay, Gateway)>> {
        self.start_forebay(Variant { models, ..Variant::default() }).await
    }

    /// Starts another Forebay with this many upstreams per model.
    pub(crate) async fn start_with_upstreams(&self, upstreams: usize) -> anyhow::Result<Option<(Forebay, Gateway)>> {
        self.start_forebay(Variant { upstreams, ..Variant::default() }).await
    }

    /// Starts another Forebay that keeps its rate limits in Redis.
    pub(crate) async fn start_with_redis(&self, url: &str) -> anyhow::Result<Option<(Forebay, Gateway)>> {
        self.start_forebay(Variant { redis_url: Some(url), ..Variant::default() }).await
    }

    /// Starts another Forebay with this many additional keys. Returns the keys used by callers, spread over all of them.
    pub(crate) async fn start_with_keys(
        &self,
        count: usize,
        callers: usize,
    ) -> anyhow::Result<Option<(Forebay, Gateway, Vec<String>)>> {
        let Some((forebay, gateway)) = self.start_forebay(Variant::default()).await? else { return Ok(None) };
        let secret = gateway.key.rsplit('-').next().context("a key contains a secret")?;
        keys::fill(&forebay.data_dir.join("forebay.db"), count)?;
        let keys = (0..callers).map(|number| keys::text(1 + number * (count / callers), secret)).collect();
        Ok(Some((forebay, gateway, keys)))
    }

    /// Starts another Forebay with keys whose calls name the people behind them. Returns one of the keys.
    pub(crate) async fn start_with_end_users(&self) -> anyhow::Result<Option<(Forebay, Gateway, String)>> {
        let Some((forebay, gateway, mut keys)) = self.start_with_keys(1, 1).await? else { return Ok(None) };
        keys::trust_end_users(&forebay.data_dir.join("forebay.db"))?;
        let key = keys.pop().context("there is one key")?;
        Ok(Some((forebay, gateway, key)))
    }

    async fn start_forebay(&self, variant: Variant<'_>) -> anyhow::Result<Option<(Forebay, Gateway)>> {
        let Some(binary) = &self.forebay_binary else { return Ok(None) };
        let config = configuration(self.engine, &variant, &self.extra_config);
        let launch = ForebayLaunch::default().binary(binary).core(self.gateway_core);
        let forebay = launch.start(&config).await?;
        let gateway = gateway_of(&forebay, &variant)?;
        Ok(Some((forebay, gateway)))
    }
}

/// Starts the fake engine; by default the one in the folder of this program.
pub(crate) async fn start_engine(
    binary: Option<PathBuf>,
    core: Option<usize>,
    scratch: &Path,
) -> anyhow::Result<(Child, SocketAddr)> {
    let binary = binary.map_or_else(default_engine_binary, Ok)?;
    let mut engine = Launch::new(binary).core(core).start("fake-engine", scratch)?;
    let listening = |engine: &Child| engine.stdout().trim().strip_prefix("listening on ")?.parse().ok();
    let address = engine.wait_for("address of the engine", Duration::from_secs(10), listening).await?;
    Ok((engine, address))
}

/// Sets the script of an engine.
pub(crate) async fn set_script(engine: SocketAddr, script: &Script) -> anyhow::Result<()> {
    let script: Value = serde_json::to_value(script)?;
    let response = Client::new(engine).post_json("/script", script).await;
    ensure!(response.status == 200, "the engine rejected its script: {}", response.text());
    Ok(())
}

/// How a Forebay with the configuration of the variant is called.
pub(crate) fn gateway_of(forebay: &Forebay, variant: &Variant<'_>) -> anyhow::Result<Gateway> {
    let (address, pids, key) = (forebay.public, vec![forebay.child.pid()], forebay.api_key()?);
    let suffix = if variant.models > 1 { variant.models.to_string() } else { String::new() };
    Ok(Gateway {
        name: "forebay",
        address,
        ops: Some(forebay.ops),
        pids,
        key,
        chat_model: format!("bench/chat{suffix}"),
    })
}

fn plain(name: &'static str, address: SocketAddr, pids: Vec<u32>) -> Gateway {
    // As long as a real key, so that requests have the same size.
    let key = format!("sk-{}-{}", "1".repeat(12), "1".repeat(32));
    Gateway { name, address, ops: None, pids, key, chat_model: "bench/chat".to_owned() }
}

fn default_engine_binary() -> anyhow::Result<PathBuf> {
    Ok(std::env::current_exe()?.parent().context("the program has a folder")?.join("fake-engine"))
}

pub(crate) fn configuration(engine: SocketAddr, variant: &Variant<'_>, extra: &str) -> String {
    let Variant { limits, models, upstreams, redis_url } = variant;
    let redis = redis_url.map_or_else(String::new, |url| format!("url = \"{url}\"\n"));
    let config = GatewayConfig::default().server("max_connections_per_address = 0").tables(limits);
    let config = config.tables(&format!("[limits]\nfailed_credentials_per_minute = 1_000_000_000\n{redis}\n{extra}"));
    // The fake engine serves any model name; different names make different upstreams.
    let upstream = |number| format!("{{ url = \"http://{engine}/v1\", model = \"fake-model-{number}\" }}");
    let upstreams = (1..=*upstreams).map(upstream).collect::<Vec<_>>().join(", ");
    let add = |config: GatewayConfig, id: &str, modality: &str| {
        let limits = format!("name = \"{id}\"\nmodality = \"{modality}\"\ncontext_length = 1_048_576");
        let prices = "input_per_1m = \"0.10\"\noutput_per_1m = \"0.40\"";
        config.model(id, &format!("{limits}\n{prices}\nupstreams = [{upstreams}]"))
    };
    let config = add(add(config, "bench/chat", "chat"), "bench/embed", "embedding");
    (2..=*models).fold(config, |config, number| add(config, &format!("bench/chat{number}"), "chat")).render()
}
