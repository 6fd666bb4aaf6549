//! Serverless pools of child processes: they start, fail, restart, and end with the gateway.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use testkit::gateway_config::GatewayConfig;
use testkit::http::Client;
use testkit::process::{Forebay, ForebayLaunch};

use crate::app::{BINARY, TIMEOUT, chat, wait_until};
use crate::engine_script::write_engine;

/// In the gateway's environment; no engine may see it.
const SECRET: &str = "b7b1c0d9-secret";

struct Gateway {
    forebay: Forebay,
    client: Client,
    scratch: TempDir,
}

impl Gateway {
    async fn start(weights: &str) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let engine = write_engine(scratch.path(), "");
        fs::write(scratch.path().join("weights.gguf"), "weights").unwrap();
        let weights = scratch.path().join(weights);
        let engine_table = format!("engine = {{ weights = \"{}\", replicas = 2 }}", weights.display());
        let config = GatewayConfig::default().model("acme/tiny", &engine_table).render();
        let launch = ForebayLaunch::default().binary(BINARY).environment("FOREBAY_ENGINE", engine.to_str().unwrap());
        let launch = launch.environment("TINY_KEY", SECRET).environment("VLLM_API_KEY", SECRET);
        let forebay = launch.start(&config).await.unwrap();
        let client = Client::new(format!("http://{}", forebay.public)).key(&forebay.api_key().unwrap());
        Self { forebay, client, scratch }
    }

    /// How many engines have joined the pool.
    async fn ready_engines(&self) -> usize {
        let ops = Client::new(format!("http://{}", self.forebay.ops));
        ops.get("/metrics").await.text().matches("forebay_replica_up{").count()
    }

    async fn wait_for_engines(&self, count: usize) {
        wait_until(&format!("{count} engines"), TIMEOUT, async || self.ready_engines().await == count).await;
    }

    /// Process ids of the servers inside the engines.
    fn servers(&self) -> Vec<String> {
        children_of(&self.forebay.child.pid().to_string())
            .iter()
            .flat_map(|engine| children_of(engine))
            .filter(|id| fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| name.trim() == "fake-engine"))
            .collect()
    }
}

/// Process ids of the children of a process.
pub(crate) fn children_of(parent: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().into_string().ok());
    ids.filter(|id| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.split_whitespace().nth(1) == Some(parent))
    })
    .collect()
}

pub(crate) fn is_running(process: &str) -> bool {
    Path::new(&format!("/proc/{process}/exe")).exists()
}

#[tokio::test]
async fn engines_serve_come_back_when_killed_and_end_with_the_gateway() {
    let mut gateway = Gateway::start("weights.gguf").await;
    gateway.wait_for_engines(2).await;
    let mut body = chat("hi");
    body["model"] = "acme/tiny".into();
    assert_eq!(gateway.client.post_json("/v1/chat/completions", body.clone()).await.status, 200);

    let killed = gateway.servers();
    assert_eq!(killed.len(), 2);
    Command::new("kill").arg("-KILL").args(&killed).status().unwrap();
    wait_until("the killed engines leave", TIMEOUT, async || gateway.ready_engines().await < 2).await;
    gateway.wait_for_engines(2).await;
    assert!(gateway.servers().iter().all(|server| !killed.contains(server)));
    assert_eq!(gateway.client.post_json("/v1/chat/completions", body).await.status, 200);

    let servers = gateway.servers();
    gateway.forebay.child.signal("TERM").unwrap();
    let status = gateway.forebay.child.wait_for_end(TIMEOUT).await.unwrap();
    assert_eq!(status.code(), Some(0));
    wait_until("the engines end", TIMEOUT, async || !servers.iter().any(|server| is_running(server))).await;
}

#[tokio::test]
async fn engines_do_not_inherit_the_secrets_of_the_gateway() {
    let gateway = Gateway::start("weights.gguf").await;
    gateway.wait_for_engines(2).await;
    let environment = |process: &str| fs::read_to_string(format!("/proc/{process}/environ")).unwrap();
    let servers = gateway.servers();
    assert_eq!(servers.len(), 2);
    for server in servers {
        let environment = environment(&server);
        assert!(environment.contains("PATH=") && !environment.contains(SECRET), "{environment}");
        let others = environment.replace("FOREBAY_ENGINE_API_KEY=", "");
        assert!(!others.contains("FOREBAY_"), "only its own key: {environment}");
    }
}

#[tokio::test]
async fn engines_end_with_a_gateway_that_is_killed() {
    let mut gateway = Gateway::start("weights.gguf").await;
    gateway.wait_for_engines(2).await;
    let servers = gateway.servers();
    gateway.forebay.child.kill();
    wait_until("the engines end", TIMEOUT, async || !servers.iter().any(|server| is_running(server))).await;
}

#[tokio::test]
async fn an_engine_that_does_not_start_is_logged_and_restarted() {
    let gateway = Gateway::start("nowhere.gguf").await;
    wait_until("the log says why", TIMEOUT, async || {
        let log = gateway.forebay.child.stderr();
        log.contains("the engine of acme/tiny did not start") && log.contains("there are no weights at")
    })
    .await;
    let model = gateway.client.get("/v1/models/acme/tiny").await.json();
    assert_eq!(model["status"], "unavailable");
    fs::write(gateway.scratch.path().join("nowhere.gguf"), "here they are").unwrap();
    tokio::time::sleep(Duration::from_millis(10)).await;
    gateway.wait_for_engines(2).await;
}
