//! Calls to endpoints that do not serve: held, then served or rejected.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use testkit::http::Response;
use tokio::task::JoinSet;

use super::plant::{Plant, TIMEOUT, chat, endpoint_body};
use crate::app::{error_line, wait_until};
use crate::endpoints::problem;

/// Open calls of a node to an endpoint, as reported to the leader.
async fn open_calls(plant: &Plant) -> u64 {
    let loads = store::endpoint_loads::list(&plant.store).await.unwrap();
    loads.iter().map(|report| report.open_calls).sum()
}

fn assert_edge_timeout(response: &Response) {
    assert_eq!(response.status, 504);
    assert_eq!(response.header("content-type"), Some("text/html"));
    assert!(serde_json::from_str::<Value>(&response.text()).is_err(), "{}", response.text());
}

async fn suspended(plant: &Plant) {
    plant.create("chat", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    plant.suspend("chat").await;
}

#[tokio::test]
async fn a_call_to_a_suspended_endpoint_ends_in_the_plain_504() {
    let plant = Plant::start(1, "hold_timeout = \"1s\"").await;
    suspended(&plant).await;
    let started = Instant::now();
    assert_edge_timeout(&plant.chat("chat").await);
    assert!(started.elapsed() >= Duration::from_secs(1), "nothing came before");
    assert_eq!(plant.endpoint("chat").await.unwrap().state.as_str(), "suspended", "calls never resume it");
}

#[tokio::test]
async fn tokens_of_a_suspended_endpoint_are_held_as_calls_are() {
    let plant = Plant::start(1, "hold_timeout = \"1s\"").await;
    suspended(&plant).await;
    let started = Instant::now();
    for (path, input) in [("/tokenize", json!({"prompt": "hi"})), ("/detokenize", json!({"tokens": [1]}))] {
        let mut body = json!({"model": "dedicated/chat"});
        body.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
        assert_edge_timeout(&plant.client().post_json(path, body).await);
    }
    assert!(started.elapsed() >= Duration::from_secs(2), "nothing came before");
}

#[tokio::test]
async fn a_client_may_shorten_the_hold_timeout_but_not_extend_it() {
    let plant = Plant::start(1, "hold_timeout = \"2s\"").await;
    suspended(&plant).await;
    for (timeout, at_least) in [("1", 1), ("3600", 2), ("0", 2), ("1.5", 2), ("soon", 2)] {
        let started = Instant::now();
        let client = plant.client().header("x-hold-timeout", timeout);
        assert_edge_timeout(&client.post_json("/chat/completions", chat("chat", "hi")).await);
        assert!(started.elapsed() >= Duration::from_secs(at_least), "{timeout}");
    }
}

#[tokio::test]
async fn held_calls_are_served_as_soon_as_the_endpoint_is_resumed() {
    let plant = Plant::start(1, "").await;
    suspended(&plant).await;
    let mut waiting = JoinSet::new();
    for _ in 0..5 {
        let client = plant.client();
        waiting.spawn(async move { client.post_json("/chat/completions", chat("chat", "hi")).await });
    }
    wait_until("all are held", TIMEOUT, async || open_calls(&plant).await == 5).await;
    plant.resume("chat").await;
    for response in waiting.join_all().await {
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(response.json()["model"], "dedicated/chat");
    }
}

#[tokio::test]
async fn a_client_that_disconnects_frees_its_place_in_the_queue() {
    let plant = Plant::start(1, "").await;
    suspended(&plant).await;
    let mut waiting = JoinSet::new();
    for _ in 0..3 {
        let client = plant.client();
        waiting.spawn(async move { client.try_send(Method::POST, "/chat/completions", body(64)).await.is_ok() });
    }
    wait_until("all are held", TIMEOUT, async || open_calls(&plant).await == 3).await;
    waiting.shutdown().await;
    wait_until("no call is held", TIMEOUT, async || open_calls(&plant).await == 0).await;
    let record = plant.endpoint("chat").await.unwrap();
    assert!(record.last_request_at.is_some(), "it counts as activity");
}

fn body(bytes: usize) -> Bytes {
    Bytes::from(chat("chat", &"x".repeat(bytes)).to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bodies_of_held_calls_are_bounded() {
    let plant = Plant::start(1, "").await;
    suspended(&plant).await;
    let mut waiting = JoinSet::new();
    for _ in 0..4 {
        let client = plant.client();
        waiting.spawn(async move { client.try_send(Method::POST, "/chat/completions", body(15 << 20)).await.is_ok() });
    }
    wait_until("60 MiB are held", TIMEOUT, async || open_calls(&plant).await == 4).await;
    let rejected = plant.client().send(Method::POST, "/chat/completions", body(15 << 20)).await;
    assert_eq!(error_line(&rejected), "503 hold_queue_full");
    assert_eq!(rejected.header("retry-after"), Some("5"));
    waiting.shutdown().await;
    wait_until("no call is held", TIMEOUT, async || open_calls(&plant).await == 0).await;
    let client = plant.client().header("x-hold-timeout", "1");
    assert_edge_timeout(&client.send(Method::POST, "/chat/completions", body(15 << 20)).await);
}

#[tokio::test]
async fn a_deleted_endpoint_is_unknown_at_once_and_its_stream_completes() {
    let plant = Plant::start(1, "").await;
    plant.create("chat", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let mut body = chat("chat", "hi");
    body["stream"] = json!(true);
    body["fake"] = json!({"chunks": 3, "chunk_delay_ms": 2_000});
    let stream = plant.app.open_stream(body).await;
    let id = plant.id("chat").await;
    assert_eq!(plant.client().delete("/endpoints/chat").await.status, 202);
    assert_eq!(error_line(&plant.chat("chat").await), "404 model_not_found model");
    let again = plant.client().post_json("/endpoints", endpoint_body("chat", json!({}))).await;
    assert_eq!(problem(&again), "409 ENDPOINT_NAME_IN_USE", "the name is free once the last replica is gone");
    assert_eq!(plant.open_holds().await, 1, "GPU-hours run until the release");
    let (events, clean) = stream.rest().await;
    assert!(clean && events.last().unwrap().is_done(), "{events:#?}");
    wait_until("gone", TIMEOUT, async || plant.endpoint("chat").await.is_none()).await;
    let kinds: Vec<_> = plant.events(&id).await.iter().map(|event| event.kind.as_str()).collect();
    let end = ["endpoint.deleting", "replica.drained", "replica.released", "endpoint.deleted"];
    assert!(kinds.ends_with(&end), "{kinds:?}");
    plant.create("chat", json!({"replicas": 1})).await;
}

#[tokio::test]
async fn a_key_of_another_workspace_is_invalid() {
    let plant = Plant::start(1, "").await;
    plant.create("chat", json!({"replicas": 1})).await;
    let bootstrap = plant.app.forebay.bootstrap();
    let organization = bootstrap["organizationId"].as_str().unwrap();
    let other = plant.app.admin(&format!("workspaces create --organization {organization} --name other"));
    let key = plant.app.admin(&format!("keys create --workspace {} --name a", other["id"].as_str().unwrap()));
    let stranger = plant.app.client_with(key["key"].as_str().unwrap());
    let response = stranger.post_json("/chat/completions", chat("chat", "hi")).await;
    assert_eq!(error_line(&response), "401 invalid_api_key");
}

fn held_stream() -> Value {
    let mut body = chat("chat", "hi");
    body["stream"] = json!(true);
    body
}

#[tokio::test]
async fn a_held_stream_that_is_kept_alive_is_served_or_ends_with_an_event() {
    let plant = Plant::start(1, "").await;
    suspended(&plant).await;
    let client = plant.client().header("x-keep-alive", "1");
    let short = plant.client().header("x-keep-alive", "1").header("x-hold-timeout", "2");
    let stream = short.open_stream("/chat/completions", held_stream()).await;
    assert_eq!(stream.status, 200);
    let (events, is_clean) = stream.rest().await;
    let (last, pings) = events.split_last().unwrap();
    assert!(is_clean && !pings.is_empty() && pings.iter().all(|ping| ping.raw == ": ping"), "{events:#?}");
    assert_eq!(last.json()["error"]["code"], "edge_timeout", "{last:?}");
    assert_eq!(last.json()["error"]["type"], "timeout_error");

    let left = client.open_stream("/chat/completions", held_stream()).await;
    wait_until("it is held", TIMEOUT, async || open_calls(&plant).await == 1).await;
    drop(left);
    wait_until("no call is held", TIMEOUT, async || open_calls(&plant).await == 0).await;

    let mut served = client.open_stream("/chat/completions", held_stream()).await;
    assert_eq!(served.next_event().await.unwrap().raw, ": ping");
    plant.resume("chat").await;
    let (events, is_clean) = served.rest().await;
    assert!(is_clean && events.last().unwrap().is_done(), "{events:#?}");
}
