//! Everything that a campaign runs on: three nodes with their disks and clocks, PostgreSQL with a replica, Redis, engines.

pub(super) mod clock;
pub(super) mod disk;
pub(super) mod network;
pub(super) mod node;
pub(super) mod postgres;
pub(super) mod redis;

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;
use testkit::fake_engine::FakeEngine;
use tokio::sync::{Mutex, watch};

use super::namespace::run;
use super::schedule::{NODES, Release};
use clock::Clock;
use disk::Disk;
use network::{ENGINE_PORT, Network, POSTGRES_PORT, REDIS_PORT, operations, public, services};
use node::Node;
use postgres::Postgres;
use redis::Redis;

/// In memory, and private to the campaign's mounts.
const SCRATCH: &str = "/run/forebay-campaign";
/// The scripted model of the catalogue, and the models of dedicated endpoints.
pub(super) const MODEL: &str = "acme/tiny";
pub(super) const SCRIPTED_REPLICAS: &str = "acme/own";
pub(super) const REAL_REPLICAS: &str = "acme/real";
pub(super) const FLAVOR: &str = "one";
/// GPUs that the organization may commit.
pub(super) const ALLOTMENT: u64 = 4;

/// The programs and files under test.
#[derive(Debug, Clone)]
pub(super) struct Programs {
    pub(super) forebay: PathBuf,
    /// The gateway of the previous release, with which all nodes begin.
    pub(super) previous: Option<PathBuf>,
    pub(super) fake_engine: PathBuf,
    /// Weights of a small chat model, for replicas of the real engine.
    pub(super) weights: PathBuf,
}

impl Programs {
    /// The gateway with which nodes begin.
    fn first(&self) -> &PathBuf {
        self.previous.as_ref().unwrap_or(&self.forebay)
    }
}

pub(super) struct Cluster {
    pub(super) network: Network,
    pub(super) nodes: Vec<Mutex<Node>>,
    pub(super) postgres: Mutex<Postgres>,
    pub(super) redis: Mutex<Redis>,
    /// The port of the primary.
    pub(super) store: watch::Receiver<u16>,
    /// PostgreSQL's programs.
    pub(super) binaries: PathBuf,
    admin: Admin,
    current: PathBuf,
    previous: Option<PathBuf>,
    _engine: FakeEngine,
}

impl Cluster {
    /// Starts everything. The clock of PostgreSQL, which all nodes follow, is `base` seconds ahead of the machine's.
    pub(super) async fn start(programs: &Programs, output: &Path, base: i64) -> anyhow::Result<Self> {
        let scratch = Path::new(SCRATCH);
        fs::create_dir_all(scratch).with_context(|| format!("cannot create {SCRATCH}"))?;
        run("mount", ["-t", "tmpfs", "-o", "size=2g,mode=755", "none", SCRATCH])?;
        // libfaketime names its shared memory by process ids, which begin at 1 in here.
        run("mount", ["-t", "tmpfs", "-o", "mode=1777", "none", "/dev/shm"])?;
        let network = Network::create()?;
        let postgres = Postgres::start(scratch, output, base).await?;
        let redis = Redis::start(output).await?;
        let engine = FakeEngine::for_load(SocketAddr::from((Ipv4Addr::UNSPECIFIED, ENGINE_PORT)), 1)?;
        let mut nodes = Vec::new();
        for index in 0..NODES {
            let mut node = create_node(programs, scratch, output, index)?;
            node.start().await?;
            nodes.push(node);
        }
        let config = output.join("admin.toml");
        fs::write(&config, configuration(programs, 0, Ipv4Addr::LOCALHOST))?;
        let admin = Admin {
            binary: programs.first().clone(),
            config,
            data_folder: nodes[0].data_folder(),
            clock: Clock::create(scratch, "admin", base)?,
        };
        let store = postgres.port();
        Ok(Self {
            network,
            nodes: nodes.into_iter().map(Mutex::new).collect(),
            postgres: Mutex::new(postgres),
            redis: Mutex::new(redis),
            store,
            binaries: postgres::find_binaries()?,
            admin,
            current: programs.forebay.clone(),
            previous: programs.previous.clone(),
            _engine: engine,
        })
    }

    /// The program of a release.
    pub(super) fn gateway(&self, release: Release) -> anyhow::Result<PathBuf> {
        match release {
            Release::Current => Ok(self.current.clone()),
            Release::Previous => self.previous.clone().context("--previous is needed for the previous release"),
        }
    }

    /// Whether some nodes run the previous release at first.
    pub(super) fn has_previous(&self) -> bool {
        self.previous.is_some()
    }

    /// The first node's `bootstrap.json`.
    pub(super) fn bootstrap(&self) -> anyhow::Result<Value> {
        Ok(serde_json::from_slice(&fs::read(self.admin.data_folder.join("bootstrap.json"))?)?)
    }

    /// Runs `forebay admin … --json`.
    pub(super) async fn admin(&self, line: &str) -> anyhow::Result<Value> {
        let mut command = self.admin.command(line);
        let output = tokio::task::spawn_blocking(move || command.output()).await??;
        ensure!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr).trim());
        serde_json::from_slice(&output.stdout).with_context(|| format!("{line} printed no JSON"))
    }

    /// Rows of the store as lines of text, read at the primary itself.
    pub(super) async fn query(&self, sql: &str) -> anyhow::Result<String> {
        let port = *self.store.borrow();
        postgres::query(&self.binaries, port, sql).await
    }
}

/// The operator's commands, which no partition of a node affects.
struct Admin {
    binary: PathBuf,
    config: PathBuf,
    data_folder: PathBuf,
    clock: Clock,
}

impl Admin {
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg("admin").args(line.split_whitespace()).arg("--json").arg("--config").arg(&self.config);
        command.arg("--data-dir").arg(&self.data_folder).envs(self.clock.environment());
        command
    }
}

fn create_node(programs: &Programs, scratch: &Path, output: &Path, index: usize) -> anyhow::Result<Node> {
    let name = format!("node-{index}");
    let config = output.join(format!("{name}.toml"));
    fs::write(&config, configuration(programs, index, services(index)))?;
    Ok(Node {
        index,
        disk: Disk::create(scratch, &name)?,
        // That of the machine, like the clocks of its replicas: they date their own ends.
        clock: Clock::create(scratch, &name, 0)?,
        binary: programs.first().clone(),
        config,
        output: output.to_owned(),
        child: None,
        runs: 0,
        unexpected: Vec::new(),
    })
}

fn configuration(programs: &Programs, node: usize, services: Ipv4Addr) -> String {
    let (public, operations) = (public(node), operations(node));
    let (fake_engine, weights) = (programs.fake_engine.display(), programs.weights.display());
    let first_port = 21_000 + 1_000 * node;
    let last_port = first_port + 999;
    format!(
        r#"[server]
listen = "{public}"
probe = false
ops_listen = "{operations}"
drain_timeout = "30s"

[store]
url = "postgres://forebay@{services}:{POSTGRES_PORT}/postgres"

[limits]
url = "redis://{services}:{REDIS_PORT}/0"
timeout = "500ms"

[journal]
max_bytes = "16MiB"

[edge]
hold_timeout = "15s"

[workspace_defaults]
requests_per_minute = 1_000_000
tokens_per_minute = 1_000_000_000
monthly_tokens = 1_000_000_000_000
max_api_keys = 10_000

[allotment_defaults]
"local/cpu" = {ALLOTMENT}

[drivers.process]
slots = {{ "local/cpu" = {ALLOTMENT} }}
ports = "{first_port}-{last_port}"

[[models]]
id = "{MODEL}"
context_length = 4096
input_per_1m = "1.00"
cached_input_per_1m = "0.50"
output_per_1m = "4.00"
upstreams = [ {{ url = "http://{services}:{ENGINE_PORT}/v1", model = "tiny" }} ]

[[models]]
id = "{SCRIPTED_REPLICAS}"
context_length = 4096

[[models.flavors]]
name = "{FLAVOR}"
gpu_type = "local/cpu"
gpu_count = 1
precision = "q4"
price_per_gpu_hour = "3.60"
argv = ["{fake_engine}", "--listen", "127.0.0.1:{{port}}"]

[[models]]
id = "{REAL_REPLICAS}"
context_length = 2048

[[models.flavors]]
name = "{FLAVOR}"
gpu_type = "local/cpu"
gpu_count = 1
precision = "q4"
price_per_gpu_hour = "3.60"
engine = "forebay-engine"
weights = "{weights}"
"#
    )
}
