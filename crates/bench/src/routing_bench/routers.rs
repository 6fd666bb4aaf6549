//! The routers under comparison, each started in front of the same engines.

use std::any::Any;
use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::Method;
use serde_json::json;
use testkit::gateway_config::{GatewayConfig, upstreams};
use testkit::http::Client;
use testkit::process::{ForebayLaunch, Launch};

use super::options::{Options, RouterKind};
use crate::proxy_bench::setup::redis::Redis;

const START_TIMEOUT: Duration = Duration::from_secs(60);
const NODES: usize = 3;

/// A router that serves calls; dropping it ends it.
pub(super) struct StartedRouter {
    /// Calls go to them in turn.
    pub(super) addresses: Vec<SocketAddr>,
    /// One for each address.
    pub(super) keys: Vec<String>,
    pub(super) model: String,
    /// The processes and their folders.
    _parts: Vec<Box<dyn Any>>,
}

pub(super) async fn start(
    router: RouterKind,
    options: &Options,
    engines: &[SocketAddr],
) -> anyhow::Result<StartedRouter> {
    let started = match router {
        RouterKind::Nginx => start_nginx("random two least_conn;", engines)?,
        RouterKind::NginxRoundRobin => start_nginx("", engines)?,
        RouterKind::Forebay => start_forebay(1, options, engines).await?,
        RouterKind::ForebayThree => start_forebay(NODES, options, engines).await?,
        RouterKind::SglangRouter => start_peer("sglang-router", options, engines)?,
        RouterKind::Smg => start_peer("smg", options, engines)?,
    };
    started.wait_until_it_serves().await?;
    Ok(started)
}

impl StartedRouter {
    fn plain(address: SocketAddr, parts: Vec<Box<dyn Any>>) -> Self {
        Self { addresses: vec![address], keys: vec!["sk-none".into()], model: "fake-model".into(), _parts: parts }
    }

    async fn wait_until_it_serves(&self) -> anyhow::Result<()> {
        let call = json!({"model": self.model, "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]});
        let body = Bytes::from(call.to_string());
        for (address, key) in self.addresses.iter().zip(&self.keys) {
            let client = Client::new(address).key(key);
            let deadline = Instant::now() + START_TIMEOUT;
            loop {
                let response = client.try_send(Method::POST, "/v1/chat/completions", body.clone()).await;
                if response.as_ref().is_ok_and(|response| response.status == 200) {
                    break;
                }
                let shown = response.map_or_else(|error| error.to_string(), |response| response.text());
                ensure!(Instant::now() < deadline, "it does not serve: {shown}");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
        Ok(())
    }
}

async fn start_forebay(nodes: usize, options: &Options, engines: &[SocketAddr]) -> anyhow::Result<StartedRouter> {
    let mut parts: Vec<Box<dyn Any>> = Vec::new();
    let mut redis_line = String::new();
    if nodes > 1 {
        let scratch = tempfile::tempdir()?;
        let redis = Redis::start(None, scratch.path()).await?;
        redis_line = format!("url = \"{}\"\n", redis.url);
        parts.extend([Box::new(redis) as Box<dyn Any>, Box::new(scratch)]);
    }
    let config = configuration(engines, &redis_line);
    let (mut addresses, mut keys) = (Vec::new(), Vec::new());
    for _ in 0..nodes {
        let launch = match &options.forebay {
            Some(binary) => ForebayLaunch::default().binary(binary),
            None => ForebayLaunch::default(),
        };
        let node = launch.start(&config).await?;
        addresses.push(node.public);
        keys.push(node.api_key()?);
        parts.push(Box::new(node));
    }
    Ok(StartedRouter { addresses, keys, model: "bench/chat".into(), _parts: parts })
}

/// Each node has a store and a workspace of its own, so the model shares cached prefixes between workspaces.
fn configuration(engines: &[SocketAddr], redis_line: &str) -> String {
    let upstreams = upstreams(engines.iter().map(|engine| format!("http://{engine}/v1")), "fake-model");
    let limits = format!(
        "[workspace_defaults]\nrequests_per_minute = 1_000_000_000\ntokens_per_minute = 1_000_000_000_000\n\
         monthly_tokens = 1_000_000_000_000_000\n\n[limits]\n{redis_line}"
    );
    let model = format!(
        "context_length = 1_048_576\ninput_per_1m = \"0.10\"\noutput_per_1m = \"0.40\"\nshare_prefix_cache = true\n{upstreams}"
    );
    let config = GatewayConfig::default().server("max_connections_per_address = 0").tables(&limits);
    config.model("bench/chat", &model).render()
}

fn start_nginx(balance: &str, engines: &[SocketAddr]) -> anyhow::Result<StartedRouter> {
    let scratch = tempfile::tempdir()?;
    let address = free_address()?;
    let folder = scratch.path();
    let config = folder.join("nginx.conf");
    let mut servers = String::new();
    for engine in engines {
        // Writing to a string cannot fail.
        let _ = write!(servers, "server {engine}; ");
    }
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {}/{name};", folder.display()))
        .join(" ");
    let text = format!(
        "daemon off; worker_processes 1; user root; pid {folder}/nginx.pid; error_log stderr warn;
events {{ worker_connections 8192; }}
http {{
    access_log off; client_max_body_size 64m; client_body_buffer_size 1m; {paths}
    upstream engines {{ {balance} {servers} keepalive 256; }}
    server {{
        listen {address} backlog=4096;
        location / {{
            proxy_pass http://engines; proxy_http_version 1.1; proxy_set_header Connection \"\";
            proxy_buffering off; proxy_read_timeout 600s;
        }}
    }}
}}
",
        folder = folder.display()
    );
    std::fs::write(&config, text)?;
    let launch = Launch::new("/usr/sbin/nginx");
    let launch = launch.arguments(["-p".as_ref(), folder.as_os_str(), "-c".as_ref(), config.as_os_str()]);
    let child = launch.start("nginx", folder)?;
    Ok(StartedRouter::plain(address, vec![Box::new(NginxProcess(child)), Box::new(scratch)]))
}

/// SIGKILL would leave nginx's worker behind; SIGTERM stops both.
struct NginxProcess(testkit::process::Child);

impl Drop for NginxProcess {
    fn drop(&mut self) {
        if self.0.signal("TERM").is_ok() {
            self.0.wait();
        }
    }
}

fn start_peer(program: &str, options: &Options, engines: &[SocketAddr]) -> anyhow::Result<StartedRouter> {
    let path = options.peers.as_ref().map_or_else(|| PathBuf::from(program), |folder| folder.join(program));
    let scratch = tempfile::tempdir()?;
    let address = free_address()?;
    let (port, metrics_port) = (address.port().to_string(), free_address()?.port().to_string());
    let urls = engines.iter().map(|engine| format!("http://{engine}"));
    let arguments: Vec<String> = ["launch", "--policy", "cache_aware", "--host", "127.0.0.1", "--port", &port]
        .into_iter()
        .chain(["--prometheus-port", &metrics_port, "--worker-urls"])
        .map(str::to_owned)
        .chain(urls)
        .collect();
    let child = Launch::new(&path).arguments(arguments).start(program, scratch.path());
    let child = child.with_context(|| format!("install it with: pip install {program}"))?;
    Ok(StartedRouter::plain(address, vec![Box::new(child), Box::new(scratch)]))
}

fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?)
}
