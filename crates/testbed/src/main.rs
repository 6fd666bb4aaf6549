//! Starts engines and gateways for tests that are not written in Rust.
//!
//! Each line of standard input is a request, each line of standard output the response to one, both JSON objects:
//!
//! - `{"engine": {}}` starts a scripted engine. Response: `id`, `url`.
//! - `{"forebayEngine": {"arguments": ["--model", …]}}` starts a real one. Response: `id`, `url`.
//! - `{"gateway": {"tables": "[[models]]…"}}` starts a gateway and waits until its models are available; its other members
//!   are those of [`GatewayRequest`]. Response: `id`, `url`, `ops`, `config`, `dataDir`, `log`, and, if this is the first
//!   start on its store, the members of `bootstrap.json`.
//! - `{"hub": {"repository": "acme/smol", "file": "smol.gguf", "path": "/…", "members": {…}}}` starts a hub with one file
//!   and these members of its description. Response: `id`, `url`.
//! - `{"stop": {"id": 2}}` ends what has this id, with a `signal` other than `INT` if it names one. Response: `exitCode`.
//!
//! A request that fails is answered by `{"error": "…"}`. Everything ends with standard input. To restart a gateway, stop
//! it and start one with the same `port` and `dataDir`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use testkit::fake_engine::FakeEngine;
use testkit::fake_hub::{FakeHub, HubFile};
use testkit::gateway_config::GatewayConfig;
use testkit::http::Client;
use testkit::process::{Child, Forebay, ForebayLaunch, Launch};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

const START_TIMEOUT: Duration = Duration::from_secs(60);
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Request {
    Engine {},
    ForebayEngine {
        arguments: Vec<String>,
    },
    Gateway(GatewayRequest),
    Hub {
        repository: String,
        file: String,
        path: PathBuf,
        members: Value,
    },
    Stop {
        id: usize,
        #[serde(default = "interrupt")]
        signal: String,
    },
}

/// SIGINT also stops the replicas of dedicated endpoints.
fn interrupt() -> String {
    "INT".to_owned()
}

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct GatewayRequest {
    /// 0 picks a free port.
    port: u16,
    /// Lines of `[server]`.
    server: String,
    /// The rest of the configuration.
    tables: String,
    environment: BTreeMap<String, String>,
    /// Outlives the gateway; a scratch folder by default.
    data_dir: Option<PathBuf>,
    /// Default: `FOREBAY_BIN`, else the program beside this one.
    binary: Option<PathBuf>,
}

impl Default for GatewayRequest {
    fn default() -> Self {
        Self {
            port: 0,
            server: "drain_timeout = \"1s\"".to_owned(),
            tables: String::new(),
            environment: BTreeMap::new(),
            data_dir: None,
            binary: None,
        }
    }
}

enum Part {
    Engine(#[expect(dead_code, reason = "dropping it ends it")] FakeEngine),
    ForebayEngine(Child),
    Gateway(Box<Forebay>),
    Hub(#[expect(dead_code, reason = "as above")] FakeHub),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let scratch = tempfile::Builder::new().prefix("forebay-testbed-").tempdir()?;
    let mut testbed = Testbed { parts: BTreeMap::new(), last_id: 0, scratch: scratch.path().to_owned() };
    let (sender, mut lines) = mpsc::channel(1);
    // Not a task: a runtime waits for the end of a read of standard input.
    std::thread::spawn(move || {
        io::stdin().lines().map_while(Result::ok).try_for_each(|line| sender.blocking_send(line))
    });
    let mut terminate = signal(SignalKind::terminate())?;
    while let Some(line) = tokio::select! {
        line = lines.recv() => line,
        _ = terminate.recv() => None,
        _ = tokio::signal::ctrl_c() => None,
    } {
        let response = testbed.respond(&line).await.unwrap_or_else(|error| json!({"error": format!("{error:#}")}));
        writeln!(io::stdout(), "{response}")?;
    }
    while let Some((_, part)) = testbed.parts.pop_last() {
        stop(part, "INT").await?;
    }
    Ok(())
}

struct Testbed {
    parts: BTreeMap<usize, Part>,
    last_id: usize,
    /// The output of engines.
    scratch: PathBuf,
}

impl Testbed {
    async fn respond(&mut self, line: &str) -> anyhow::Result<Value> {
        match serde_json::from_str(line)? {
            Request::Engine {} => {
                let engine = FakeEngine::for_load(SocketAddr::from(([127, 0, 0, 1], 0)), 1)?;
                let response = json!({"url": format!("http://{}", engine.address())});
                Ok(self.keep(Part::Engine(engine), response))
            }
            Request::ForebayEngine { arguments } => {
                let program = std::env::current_exe()?.with_file_name("forebay-engine");
                let name = format!("engine-{}", self.last_id);
                let mut child = Launch::new(program).arguments(arguments).start(&name, &self.scratch)?;
                let address = |child: &Child| {
                    let output = child.stdout();
                    Some(output.split_once("listening on ")?.1.split_once('\n')?.0.trim().to_owned())
                };
                let address = child.wait_for("the engine's address", START_TIMEOUT, address).await?;
                Ok(self.keep(Part::ForebayEngine(child), json!({"url": format!("http://{address}")})))
            }
            Request::Gateway(request) => {
                let (forebay, response) = start_gateway(request).await?;
                Ok(self.keep(Part::Gateway(Box::new(forebay)), response))
            }
            Request::Hub { repository, file, path, members } => {
                let content = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
                let sha256 = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
                let hub = FakeHub::start().await;
                let file = HubFile { name: file, content, sha256: Some(sha256), reported_bytes: None };
                hub.add(&repository, members, vec![file]);
                let response = json!({"url": hub.url()});
                Ok(self.keep(Part::Hub(hub), response))
            }
            Request::Stop { id, signal } => {
                stop(self.parts.remove(&id).with_context(|| format!("nothing has the id {id}"))?, &signal).await
            }
        }
    }

    fn keep(&mut self, part: Part, mut response: Value) -> Value {
        self.last_id += 1;
        self.parts.insert(self.last_id, part);
        response["id"] = self.last_id.into();
        response
    }
}

async fn start_gateway(request: GatewayRequest) -> anyhow::Result<(Forebay, Value)> {
    let mut config = GatewayConfig::default().port(request.port).server(&request.server).tables(&request.tables);
    if request.binary.is_some() {
        config = config.released();
    }
    let mut launch = ForebayLaunch::default();
    for (name, value) in &request.environment {
        launch = launch.environment(name, value);
    }
    if let Some(path) = request.data_dir {
        launch = launch.data_dir(path);
    }
    if let Some(path) = request.binary {
        launch = launch.binary(path);
    }
    let mut forebay = launch.start(&config.render()).await?;
    wait_for_models(&mut forebay).await?;
    let mut response = match forebay.bootstrap() {
        Value::Object(members) => Value::Object(members),
        _ => json!({}),
    };
    response["url"] = format!("http://{}", forebay.public).into();
    response["ops"] = format!("http://{}", forebay.ops).into();
    response["config"] = forebay.config.to_string_lossy().into();
    response["dataDir"] = forebay.data_dir.to_string_lossy().into();
    response["log"] = forebay.config.with_file_name("forebay.stderr").to_string_lossy().into();
    Ok((forebay, response))
}

/// Only the first start on a store knows a key to ask with.
async fn wait_for_models(forebay: &mut Forebay) -> anyhow::Result<()> {
    let Ok(key) = forebay.api_key() else { return Ok(()) };
    let client = Client::new(forebay.public).key(&key);
    let deadline = Instant::now() + START_TIMEOUT;
    loop {
        let models = client.try_send(Method::GET, "/v1/models", Bytes::new()).await?.json();
        if models["data"].as_array().is_some_and(|all| all.iter().all(|model| model["status"] == "available")) {
            return Ok(());
        }
        let is_waiting = forebay.child.ended().is_none() && Instant::now() < deadline;
        ensure!(is_waiting, "the models are not available: {models}\n{}", forebay.child.stderr());
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

async fn stop(part: Part, signal: &str) -> anyhow::Result<Value> {
    let end = async |child: &mut Child| {
        if child.ended().is_none() {
            child.signal(signal)?;
        }
        let status = child.wait_for_end(STOP_TIMEOUT).await;
        anyhow::Ok(json!({"exitCode": status.and_then(|status| status.code())}))
    };
    match part {
        Part::Engine(_) | Part::Hub(_) => Ok(json!({})),
        Part::ForebayEngine(mut child) => end(&mut child).await,
        Part::Gateway(mut forebay) => end(&mut forebay.child).await,
    }
}
