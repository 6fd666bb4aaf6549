//! End to end with real replicas: the built-in engine with real weights, and the autoscaler at its real pace.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::http::Client;
use tokio::task::JoinSet;

use super::plant::{Blueprint, Plant};
use crate::app::{BINARY, wait_until};

/// Ticks of ten seconds, means of a minute, and weights loaded by a busy machine.
const LONG: Duration = Duration::from_secs(240);

/// Engines of one thread each, with a KV cache that a few responses fill.
async fn plant() -> Plant {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let weights = root.join("data/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf");
    assert!(weights.exists(), "`make models` fetches the weights");
    let engine = Path::new(BINARY).with_file_name("forebay-engine");
    let argv = json!([
        engine,
        "--model",
        "{weights}",
        "--model-name",
        "{modelId}",
        "--listen",
        "127.0.0.1:{port}",
        "--ctx",
        "512",
        "--kv-cache-tokens",
        "1024",
        "--parallel",
        "4",
        "--threads",
        "1",
        "--drain-timeout",
        "{drain}",
    ]);
    Blueprint::new(4).launch(&format!("argv = {argv}\nweights = {}", json!(weights))).start().await
}

/// Clients that send one call after another, `most` of them concurrently. Every response must be complete.
struct Crowd {
    size: Arc<AtomicUsize>,
    clients: JoinSet<usize>,
}

impl Crowd {
    fn of(plant: &Plant, name: &'static str, most: usize) -> Self {
        let size = Arc::new(AtomicUsize::new(most));
        let mut clients = JoinSet::new();
        for number in 0..most {
            let (client, size) = (plant.client(), Arc::clone(&size));
            clients.spawn(async move {
                // Every client makes at least one call, even if it is stopped right away.
                let mut responses = 0;
                loop {
                    ask(&client, name, number * 1_000 + responses).await;
                    responses += 1;
                    if number >= size.load(Ordering::Relaxed) {
                        return responses;
                    }
                }
            });
        }
        Self { size, clients }
    }

    fn shrink_to(&self, size: usize) {
        self.size.store(size, Ordering::Relaxed);
    }

    /// Waits for the last response and returns their number.
    async fn leave(self) -> usize {
        self.shrink_to(0);
        self.clients.join_all().await.into_iter().sum()
    }
}

async fn ask(client: &Client, name: &str, number: usize) {
    let body = json!({
        "model": format!("dedicated/{name}"), "stream": true, "max_tokens": 150, "temperature": 1,
        "messages": [{"role": "user", "content": format!("Tell me story number {number}.")}],
    });
    let stream = client.open_stream("/chat/completions", body).await;
    assert_eq!(stream.status, 200);
    let (events, clean) = stream.rest().await;
    assert!(clean && events.last().unwrap().is_done(), "a stream was cut: {events:#?}");
}

async fn wait(plant: &Plant, name: &str, state: &str, ready: u32) {
    wait_until(&format!("{name} {state} with {ready}"), LONG, async || {
        plant.endpoint(name).await.is_some_and(|one| one.state.as_str() == state && one.status.ready == ready)
    })
    .await;
}

/// The autoscaler's decisions, oldest first.
async fn decisions(plant: &Plant, name: &str) -> Vec<(String, Value)> {
    let events = plant.events(&plant.id(name).await).await;
    let own = events.into_iter().filter(|event| event.actor.id() == "autoscaler");
    own.map(|event| (event.message, serde_json::from_str(&event.data).unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn load_scales_up_idle_time_scales_to_zero_and_the_next_call_wakes_the_endpoint() {
    let plant = plant().await;
    let scaling = json!({
        "minReplicas": 2, "maxReplicas": 3, "autoscalingTarget": 2, "scaleUpWindowSeconds": 20,
        "scaleDownWindowSeconds": 0, "scaleToZeroWindowSeconds": 60,
    });
    plant.create("chat", scaling).await;
    wait(&plant, "chat", "serving", 2).await;

    let crowd = Crowd::of(&plant, "chat", 6);
    wait(&plant, "chat", "serving", 3).await;
    let (why, inputs) = decisions(&plant, "chat").await.remove(0);
    assert!(why.starts_with("2 → 3: concurrency ") && why.ends_with(" against 2 for 20 s"), "{why}");
    assert_eq!((&inputs["oldReplicas"], &inputs["newReplicas"]), (&json!(2), &json!(3)));

    // Two clients keep calling while replicas are drained one after another.
    crowd.shrink_to(2);
    plant.patch("chat", json!({"minReplicas": 0})).await;
    wait(&plant, "chat", "serving", 1).await;
    wait_until("the others have ended", LONG, async || plant.running().len() == 1).await;
    let responses = crowd.leave().await;
    assert!(responses > 6, "{responses} responses, none of them cut");

    wait(&plant, "chat", "scaled-to-zero", 0).await;
    wait_until("the last one has ended", LONG, async || plant.running().is_empty()).await;
    wait_until("nothing is held, so nothing is paid", LONG, async || plant.open_holds().await == 0).await;
    assert_eq!(plant.endpoint("chat").await.unwrap().committed_gpus, 3, "and the commitment is kept");
    let (why, _) = decisions(&plant, "chat").await.pop().unwrap();
    assert_eq!(why, "1 → 0: no call for 60 s");

    let crowd = Crowd::of(&plant, "chat", 5);
    assert!(crowd.leave().await >= 5);
    let events = plant.events(&plant.id("chat").await).await;
    let woken: Vec<_> = events.iter().filter(|event| event.reason == "cold-start").collect();
    assert_eq!(woken.len(), 1, "concurrent calls wake it once: {woken:#?}");
    assert!(woken[0].message.starts_with("0 → ") && woken[0].message.contains("held"), "{}", woken[0].message);

    let usage = plant.client().get("/endpoints/chat/usage").await.json();
    let (hours, cost) = (number(&usage["gpuHours"]), number(&usage["costUsd"]));
    assert!(hours > 0.0 && (cost - hours * 3.6).abs() < 1e-6, "{usage}");
    plant.delete("chat").await;
    assert!(plant.running().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_caches_of_real_engines_scale_up() {
    let plant = plant().await;
    let scaling = json!({
        "minReplicas": 2, "maxReplicas": 3, "autoscalingMetric": "kv-cache-utilization", "autoscalingTarget": 0.1,
        "scaleUpWindowSeconds": 10,
    });
    plant.create("cache", scaling).await;
    wait(&plant, "cache", "serving", 2).await;
    let crowd = Crowd::of(&plant, "cache", 6);
    wait(&plant, "cache", "serving", 3).await;
    let (why, inputs) = decisions(&plant, "cache").await.remove(0);
    assert!(why.starts_with("2 → 3: kv-cache 0.") || why.starts_with("2 → 3: kv-cache 1."), "{why}");
    assert!(why.contains("0.10"), "{why}");
    assert!(number(&inputs["load"]) > 0.2, "{inputs}");
    assert!(crowd.leave().await >= 6);
    plant.delete("cache").await;
    assert!(plant.running().is_empty());
}

fn number(value: &Value) -> f64 {
    value.as_str().unwrap().parse().unwrap()
}
