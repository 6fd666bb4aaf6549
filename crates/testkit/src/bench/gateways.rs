//! What is measured: the engine behind, nginx as the floor, and the contender.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::host::Cores;
use super::keys;
use super::nginx::Nginx;
use super::options::Options;
use super::process_stat;
use crate::fake_engine::Script;
use crate::http::Client;
use crate::process::{Child, Forebay, ForebayLaunch, Launch};

const LIMITS_FAR_AWAY: &str = "[workspace_defaults]
requests_per_minute = 1_000_000_000
tokens_per_minute = 1_000_000_000_000
monthly_tokens = 1_000_000_000_000_000
";
const ONE_CALL_A_MINUTE: &str = "[workspace_defaults]
requests_per_minute = 1
tokens_per_minute = 1_000_000_000_000
monthly_tokens = 1_000_000_000_000_000
";

/// The contender's name when there is no Forebay: calls go straight to the engine, and the cost shown is its own.
pub(super) const DIRECT: &str = "direct";

/// Something that takes calls, and the processes whose time that costs.
#[derive(Debug, Clone)]
pub(super) struct Gateway {
    pub(super) name: &'static str,
    pub(super) address: SocketAddr,
    pub(super) pids: Vec<u32>,
    pub(super) key: String,
    pub(super) chat_model: String,
}

/// Everything that runs during the benchmark; dropping it ends it.
pub(super) struct Setup {
    pub(super) nginx: Gateway,
    /// Forebay, or the engine itself when there is none.
    pub(super) contender: Gateway,
    /// Resident megabytes before any call: nginx, contender.
    pub(super) idle_megabytes: (f64, f64),
    engine: SocketAddr,
    gateway_core: Option<usize>,
    forebay_binary: Option<PathBuf>,
    extra_config: String,
    _forebay: Option<Forebay>,
    _nginx: Nginx,
    _engine: Child,
}

impl Setup {
    pub(super) async fn start(options: &Options, cores: Cores, scratch: &Path) -> anyhow::Result<Self> {
        let binary = options.fake_engine.clone().map_or_else(engine_beside_us, Ok)?;
        let launch = Launch::new(binary).core(cores.engine);
        let mut engine = launch.start("fake-engine", scratch)?;
        let listening = |engine: &Child| engine.stdout().trim().strip_prefix("listening on ")?.parse().ok();
        let engine_address = engine.wait_for("address of the engine", Duration::from_secs(10), listening).await?;
        let nginx = Nginx::start(engine_address, cores.gateway, &options.nginx_extra, scratch).await?;
        let floor = plain("nginx", nginx.address, nginx.pids.clone());
        let extra_config = options.extra_config.as_ref().map(std::fs::read_to_string).transpose()?.unwrap_or_default();
        let mut setup = Self {
            contender: plain(DIRECT, engine_address, vec![engine.pid()]),
            idle_megabytes: (process_stat::resident_megabytes(&floor.pids)?, f64::NAN),
            nginx: floor,
            engine: engine_address,
            gateway_core: cores.gateway,
            forebay_binary: options.forebay.clone(),
            extra_config,
            _forebay: None,
            _nginx: nginx,
            _engine: engine,
        };
        if let Some((forebay, gateway)) = setup.start_forebay(LIMITS_FAR_AWAY, 1).await? {
            // What start leaves to do in the background is not idle.
            tokio::time::sleep(Duration::from_secs(1)).await;
            setup.contender = gateway;
            setup._forebay = Some(forebay);
        }
        setup.idle_megabytes.1 = process_stat::resident_megabytes(&setup.contender.pids)?;
        Ok(setup)
    }

    /// What the engine does from now on.
    pub(super) async fn script(&self, script: &Script) -> anyhow::Result<()> {
        let script: Value = serde_json::to_value(script)?;
        let answer = Client::new(self.engine).post_json("/script", script).await;
        ensure!(answer.status == 200, "the engine refused its script: {}", answer.text());
        Ok(())
    }

    /// One more Forebay whose workspace may call once a minute; `None` when there is no binary.
    pub(super) async fn start_limited(&self) -> anyhow::Result<Option<(Forebay, Gateway)>> {
        self.start_forebay(ONE_CALL_A_MINUTE, 1).await
    }

    /// One more Forebay with this many chat models; its gateway calls the last.
    pub(super) async fn start_with_models(&self, models: usize) -> anyhow::Result<Option<(Forebay, Gateway)>> {
        self.start_forebay(LIMITS_FAR_AWAY, models).await
    }

    /// One more Forebay with this many keys more, and the texts of those that call, spread over all.
    pub(super) async fn start_with_keys(
        &self,
        count: usize,
        callers: usize,
    ) -> anyhow::Result<Option<(Forebay, Gateway, Vec<String>)>> {
        let Some((forebay, gateway)) = self.start_forebay(LIMITS_FAR_AWAY, 1).await? else { return Ok(None) };
        let secret = gateway.key.rsplit('-').next().context("a key has a secret")?;
        keys::fill(&forebay.data_dir.join("forebay.db"), count)?;
        let keys = (0..callers).map(|number| keys::text(1 + number * (count / callers), secret)).collect();
        Ok(Some((forebay, gateway, keys)))
    }

    async fn start_forebay(&self, limits: &str, models: usize) -> anyhow::Result<Option<(Forebay, Gateway)>> {
        let Some(binary) = &self.forebay_binary else { return Ok(None) };
        let config = configuration(self.engine, limits, models, &self.extra_config);
        let launch = ForebayLaunch::default().binary(binary).core(self.gateway_core);
        let forebay = launch.start(&config).await?;
        let (address, pids, key) = (forebay.public, vec![forebay.child.pid()], forebay.api_key()?);
        let chat_model = format!("bench/chat{}", if models > 1 { models.to_string() } else { String::new() });
        Ok(Some((forebay, Gateway { name: "forebay", address, pids, key, chat_model })))
    }
}

fn plain(name: &'static str, address: SocketAddr, pids: Vec<u32>) -> Gateway {
    // As long as a real key, so that requests have the same size.
    let key = format!("sk-{}-{}", "1".repeat(12), "1".repeat(32));
    Gateway { name, address, pids, key, chat_model: "bench/chat".to_owned() }
}

fn engine_beside_us() -> anyhow::Result<PathBuf> {
    Ok(std::env::current_exe()?.parent().context("a program lies in a folder")?.join("fake-engine"))
}

fn configuration(engine: SocketAddr, limits: &str, models: usize, extra: &str) -> String {
    let mut config = format!("[server]\nlisten = \"127.0.0.1:0\"\nops_listen = \"127.0.0.1:0\"\n\n{limits}\n{extra}\n");
    let mut add = |id: &str, modality: &str| {
        // Writing to a text cannot fail.
        let _ = write!(
            config,
            "\n[[models]]\nid = \"{id}\"\nname = \"{id}\"\nmodality = \"{modality}\"\ncontext_length = 1_048_576\n\
             input_per_1m = \"0.10\"\noutput_per_1m = \"0.40\"\n\
             upstreams = [{{ url = \"http://{engine}/v1\", model = \"fake-model\" }}]\n"
        );
    };
    add("bench/chat", "chat");
    add("bench/embed", "embedding");
    (2..=models).for_each(|number| add(&format!("bench/chat{number}"), "chat"));
    config
}
