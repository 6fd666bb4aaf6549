//! Load generator with concurrent streams against a real engine.

use crate::cpu::CpuTime;
use anyhow::{Context, ensure};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use testkit::http::Client;
use testkit::process::{Child, Launch};
use tokio::task::JoinSet;

const START_TIMEOUT: Duration = Duration::from_secs(300);
const CHAT: &str = "/v1/chat/completions";

/// The engine under test; dropping it kills it.
pub(crate) struct Engine {
    child: Child,
    client: Client,
    _folder: TempDir,
}

impl Engine {
    pub(crate) async fn start(model: &Path, threads: usize) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("listen");
        let arguments =
            ["--model-name", "bench", "--parallel", "8", "--threads", &threads.to_string()].map(str::to_owned);
        let paths = ["--model", &model.to_string_lossy(), "--listen-file", &file.to_string_lossy()].map(str::to_owned);
        let launch = Launch::new(env!("CARGO_BIN_EXE_forebay-engine")).arguments(paths).arguments(arguments);
        let mut child = launch.start("engine", folder.path())?;
        let address = child.wait_for("its address", START_TIMEOUT, |_| std::fs::read_to_string(&file).ok()).await?;
        let address: SocketAddr = address.trim().parse()?;
        let client = Client::from(address);
        child.wait_for("the model", START_TIMEOUT, |child| child.stderr().contains("ready").then_some(())).await?;
        Ok(Self { child, client, _folder: folder })
    }

    pub(crate) fn cpu_time(&self) -> anyhow::Result<CpuTime> {
        CpuTime::of(self.child.pid())
    }

    /// Prompt tokens per second over all streams; no prompt is cached.
    pub(crate) async fn prefill(&self, streams: usize, tokens: usize) -> anyhow::Result<f64> {
        let started = Instant::now();
        let mut calls = JoinSet::new();
        for _ in 0..streams {
            let client = self.client.clone();
            let call = call(&prompt(tokens), 1);
            calls.spawn(async move { client.post_json(CHAT, call).await });
        }
        let mut computed = 0;
        while let Some(response) = calls.join_next().await {
            let response = response?;
            ensure!(response.status == 200, "{}", response.text());
            let usage = response.json()["usage"].clone();
            let cached = usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap_or(0);
            computed += usage["prompt_tokens"].as_u64().unwrap_or(0) - cached;
        }
        Ok(computed as f64 / started.elapsed().as_secs_f64())
    }

    /// Generated tokens per second over all streams, from the start of the last one until the end of the first one.
    pub(crate) async fn decode(&self, streams: usize, tokens: usize) -> anyhow::Result<f64> {
        let mut calls = JoinSet::new();
        for _ in 0..streams {
            let client = self.client.clone();
            let mut call = call("Tell a story.", tokens);
            call["stream"] = json!(true);
            calls.spawn(async move {
                let mut stream = client.open_stream(CHAT, call).await;
                let mut times = Vec::with_capacity(tokens);
                while let Some(event) = stream.next_event().await {
                    if event.json()["choices"][0]["delta"]["content"].as_str().is_some_and(|text| !text.is_empty()) {
                        times.push(Instant::now());
                    }
                }
                times
            });
        }
        let times: Vec<Vec<Instant>> = calls.join_all().await;
        let from = times.iter().filter_map(|times| times.first()).max().context("no tokens")?;
        let to = times.iter().filter_map(|times| times.last()).min().context("no tokens")?;
        let tokens = times.iter().flatten().filter(|time| *time > from && *time <= to).count();
        Ok(tokens as f64 / (*to - *from).as_secs_f64())
    }
}

fn call(question: &str, max_tokens: usize) -> Value {
    json!({
        "model": "bench",
        "messages": [{"role": "user", "content": question}],
        "max_tokens": max_tokens,
        "temperature": 0,
        "ignore_eos": true,
    })
}

/// A random prompt of about this many tokens.
fn prompt(tokens: usize) -> String {
    let words = ["river", "stone", "light", "green", "house", "north", "seven", "cloud", "bread", "music"];
    (0..tokens.saturating_sub(30)).map(|_| words[fastrand::usize(..words.len())]).collect::<Vec<_>>().join(" ")
}
