//! The life of an endpoint.

use std::time::Duration;

use serde_json::json;

use super::plant::{Blueprint, Plant, TIMEOUT, chat, fake_engine, kill};
use crate::app::{error_line, wait_until};

#[tokio::test]
async fn an_endpoint_is_created_serves_is_suspended_resumed_and_deleted() {
    let plant = Plant::start(2, "").await;
    plant.create("chat", json!({"replicas": 2})).await;
    let response = plant.chat("chat").await;
    assert_eq!(response.status_line(), "200 OK", "held until a replica was ready");
    assert_eq!(response.json()["model"], "dedicated/chat");
    assert!(response.header("x-ratelimit-limit-requests").is_none(), "no limit applies");
    plant.wait_for("chat", "serving", 2).await;
    assert_eq!(plant.app.client().get("/models/dedicated/chat").await.json()["status"], "available");

    plant.suspend("chat").await;
    plant.wait_for("chat", "suspended", 0).await;
    wait_until("released", TIMEOUT, async || plant.open_holds().await == 0).await;
    plant.resume("chat").await;
    plant.wait_for("chat", "serving", 2).await;

    plant.delete("chat").await;
    assert_eq!(error_line(&plant.chat("chat").await), "404 model_not_found model");
    assert_eq!((plant.open_holds().await, plant.running().len()), (0, 0));
}

/// SPEC 8: the limit per minute applies to serverless calls. SPEC 1: endpoints are called through the same API, so this one is for
/// embeddings. SPEC 2.3: its record says that the build is optimized.
#[tokio::test]
async fn failed_serverless_calls_stop_neither_calls_to_an_endpoint_nor_its_management() {
    let model = format!(
        r#"[[models]]
id = "forebay/embed"
modality = "embedding"
upstreams = [ {{ url = "http://127.0.0.1:9/v1" }} ]

[[models.flavors]]
name = "one"
gpu_type = "local/cpu"
gpu_count = 1
precision = "q4"
argv = ["{}", "--listen", "127.0.0.1:{{port}}"]
"#,
        fake_engine().display()
    );
    let many = 1_000_000;
    let plant = Blueprint::new(2).setup(|setup| setup.table(&model).workspace_limits(1, many, many)).start().await;
    let client = plant.client();
    plant.create("vectors", json!({"model": "forebay/embed", "replicas": 1})).await;
    plant.create("chat", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let record = client.get("/models/dedicated/vectors").await.json();
    assert_eq!((&record["optimized"], &record["modality"]), (&json!(true), &json!("embedding")));

    let unknown = json!({"model": "acme/none", "messages": [{"role": "user", "content": "hi"}]});
    wait_until("failing calls are limited", TIMEOUT, async || {
        client.post_json("/chat/completions", unknown.clone()).await.text().contains("failing calls")
    })
    .await;
    let embedded = client.post_json("/embeddings", json!({"model": "dedicated/vectors", "input": ["a", "b"]})).await;
    assert_eq!(embedded.status_line(), "200 OK", "{}", embedded.text());
    let body = embedded.json();
    assert_eq!((&body["model"], body["data"].as_array().unwrap().len()), (&json!("dedicated/vectors"), 2));
    assert_eq!(client.get("/endpoints/vectors").await.status, 200);
    let serverless = client.post_json("/embeddings", json!({"model": "forebay/embed", "input": "a"})).await;
    assert_eq!(error_line(&serverless), "429 rate_limit_exceeded");
    let messages = json!([{"role": "user", "content": "hi"}]);
    for (path, input) in [("/messages/count_tokens", "messages"), ("/responses/input_tokens", "input")] {
        for (model, status) in [("dedicated/chat", 200), ("forebay/embed", 429)] {
            let counted = client.post_json(path, json!({"model": model, input: messages})).await;
            assert_eq!(counted.status, status, "{path} {model}: {}", counted.text());
        }
    }
}

#[tokio::test]
async fn a_killed_replica_is_replaced_and_its_hold_ends_when_it_did() {
    let plant = Plant::start(2, "").await;
    plant.create("chat", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let first = plant.live().await.remove(0);
    kill(plant.pid_of(&first), "KILL");
    wait_until("failed", TIMEOUT, async || plant.replicas(&first.endpoint).await[0].failure.is_some()).await;
    let ended = plant.replicas(&first.endpoint).await.remove(0);
    let hold = plant.holds(&first.endpoint).await.remove(0);
    assert_eq!((hold.replica, hold.hold.ended_at), (first.id, ended.ended_at), "its hold ends when it did");
    assert!(hold.hold.billable, "it had been ready");
    wait_until("replaced", Duration::from_secs(40), async || {
        plant.endpoint("chat").await.is_some_and(|one| one.status.ready == 1)
    })
    .await;
}

#[tokio::test]
async fn replicas_outlive_the_gateway_and_are_adopted() {
    let mut plant = Plant::start(2, "").await;
    plant.create("chat", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let before = plant.live().await;
    let pid = plant.pid_of(&before[0]);
    let without_key = plant.engine_of(&before[0]).post_json("/v1/chat/completions", chat("chat", "hi")).await;
    assert_eq!(without_key.status, 401, "only gateways call replicas");
    plant.app.forebay.restart().await.unwrap();
    let response = plant.chat("chat").await;
    assert_eq!(response.status_line(), "200 OK", "it knows the key of the replica");
    let after = plant.live().await;
    assert_eq!((&before[0].id, pid), (&after[0].id, plant.pid_of(&after[0])), "the same process keeps serving");
    let holds = plant.holds(&before[0].endpoint).await;
    assert_eq!(
        (holds.len(), holds[0].hold.started_at),
        (1, before[0].started_at.unwrap()),
        "its hold is uninterrupted"
    );
    plant.delete("chat").await;
    assert_eq!(plant.running().len(), 0);
}

#[tokio::test]
async fn an_endpoint_without_free_gpus_waits_until_some_are_released() {
    let plant = Plant::start(1, "").await;
    plant.create("one", json!({"replicas": 1})).await;
    plant.wait_for("one", "serving", 1).await;
    plant.create("two", json!({"replicas": 1})).await;
    wait_until("waiting", TIMEOUT, async || {
        plant.endpoint("two").await.is_some_and(|two| two.reason.as_str() == "waiting-for-gpus")
    })
    .await;
    plant.suspend("one").await;
    plant.wait_for("two", "serving", 1).await;
    plant.delete("two").await;
}

#[tokio::test]
async fn concurrent_calls_wake_an_endpoint_at_zero_once() {
    let plant = Plant::start(4, "").await;
    plant.create("chat", json!({"minReplicas": 0, "maxReplicas": 2})).await;
    plant.wait_for("chat", "serving", 1).await;
    plant.scale_to_zero("chat").await;
    wait_until("released", TIMEOUT, async || plant.open_holds().await == 0).await;
    let id = plant.id("chat").await;

    let mut crowd = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let client = plant.app.client();
        crowd.spawn(async move { client.post_json("/chat/completions", chat("chat", "hi")).await.status.as_u16() });
    }
    while let Some(status) = crowd.join_next().await {
        assert_eq!(status.unwrap(), 200);
    }
    let events = plant.events(&id).await;
    let wakes = events.iter().filter(|event| event.reason == "cold-start").count();
    assert_eq!(wakes, 1, "{events:#?}");
}

#[tokio::test]
async fn a_call_while_the_last_replica_drains_is_served_by_it() {
    let plant = Plant::start(2, "").await;
    plant.create("chat", json!({"minReplicas": 0, "maxReplicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let pid = plant.pid_of(&plant.live().await[0]);
    // A stream keeps the drain from finishing.
    let mut body = chat("chat", "hi");
    body["stream"] = json!(true);
    body["fake"] = json!({"chunks": 10, "chunk_delay_ms": 3_000});
    let stream = plant.app.open_stream(body).await;
    plant.scale_to_zero("chat").await;
    wait_until("draining", TIMEOUT, async || {
        let endpoint = plant.endpoint("chat").await;
        let endpoint = endpoint.filter(|one| one.status.draining == 1 && one.status.ready == 0);
        let Some(endpoint) = endpoint else { return false };
        // Until this node has seen it, it routes calls to the replica as before.
        plant.routed(&endpoint.id).await == Some(0)
    })
    .await;
    assert_eq!(plant.chat("chat").await.status, 200);
    let live = plant.live().await;
    assert_eq!((live.len(), plant.pid_of(&live[0])), (1, pid), "no cold start");
    // The stream outlasts the reconciler's next round, also on a busy machine.
    plant.wait_for("chat", "serving", 1).await;
    let (events, clean) = stream.rest().await;
    assert!(clean && events.last().unwrap().is_done(), "and no stream was cut");
    assert_eq!(plant.replicas(&plant.id("chat").await).await.len(), 1);
}
