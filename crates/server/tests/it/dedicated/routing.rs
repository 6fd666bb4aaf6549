//! Calls to `dedicated/<name>`: routing, retries, and that no limit applies to them.

use std::time::Duration;

use domain::endpoint::replica::Replica;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::plant::{Blueprint, Plant, TIMEOUT, chat, kill};
use crate::app::{error_line, wait_until};

async fn set_script(plant: &Plant, replica: &Replica, script: Value) {
    let response = plant.engine_of(replica).post_json("/script", script).await;
    assert_eq!(response.status, 200, "{}", response.text());
}

async fn count(plant: &Plant, replica: &Replica, what: &str) -> u64 {
    plant.engine_of(replica).get("/state").await.json()[what].as_u64().unwrap()
}

#[tokio::test]
async fn a_replica_that_closes_connections_costs_no_call() {
    let plant = Plant::start(2, "").await;
    plant.create("chat", json!({"replicas": 2})).await;
    plant.wait_for("chat", "serving", 2).await;
    let live = plant.live().await;
    set_script(&plant, &live[0], json!({"hang_up": true})).await;
    for number in 0..12 {
        let response = plant.app.ask(chat("chat", &format!("question {number}"))).await;
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(response.json()["model"], "dedicated/chat");
    }
    assert!(count(&plant, &live[0], "served").await > 1, "it was tried");
}

#[tokio::test]
async fn the_flex_tier_has_no_effect_at_an_endpoint() {
    let plant = Plant::start(1, "").await;
    plant.create("chat", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let mut body = chat("chat", "hi");
    body["service_tier"] = "flex".into();
    let response = plant.app.ask(body).await;
    assert_eq!((response.status.as_u16(), response.json().get("service_tier")), (200, None));
    let body = json!({"model": "dedicated/chat", "input": "hi", "service_tier": "flex"});
    assert_eq!(plant.app.client().post_json("/responses", body).await.json()["service_tier"], "default");
}

#[tokio::test]
async fn an_endpoint_is_overloaded_only_if_every_replica_rejects() {
    let plant = Plant::start(3, "").await;
    plant.create("chat", json!({"replicas": 3})).await;
    plant.wait_for("chat", "serving", 3).await;
    let live = plant.live().await;
    set_script(&plant, &live[0], json!({"status": 503})).await;
    set_script(&plant, &live[1], json!({"status": 429})).await;
    for number in 0..9 {
        let response = plant.app.ask(chat("chat", &format!("question {number}"))).await;
        assert_eq!(response.status, 200, "the third has room: {}", response.text());
    }
    set_script(&plant, &live[2], json!({"status": 503, "retry_after": "30"})).await;
    let rejected = plant.chat("chat").await;
    assert_eq!(error_line(&rejected), "429 endpoint_overloaded");
    assert_eq!(rejected.header("retry-after"), Some("1"));
    assert!(rejected.header("x-ratelimit-limit-requests").is_none(), "not a limit of the gateway");
}

#[tokio::test]
async fn calls_with_the_same_prefix_go_to_one_replica() {
    let plant = Plant::start(3, "").await;
    plant.create("chat", json!({"replicas": 3})).await;
    plant.wait_for("chat", "serving", 3).await;
    let live = plant.live().await;
    let served = async || {
        let mut all = Vec::new();
        for replica in &live {
            all.push(count(&plant, replica, "served").await);
        }
        all
    };
    let before = served().await;
    // Prompts are remembered by whole kilobytes.
    let prompt = "the same long beginning ".repeat(200);
    for _ in 0..10 {
        assert_eq!(plant.app.ask(chat("chat", &prompt)).await.status, 200);
    }
    let after = served().await;
    let mut more: Vec<u64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
    more.sort_unstable();
    assert_eq!(more, [0, 0, 10]);
}

#[tokio::test]
async fn a_call_whose_only_replica_died_waits_for_the_next_one() {
    let plant = Plant::start(1, "").await;
    plant.create("chat", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let first = plant.live().await.remove(0);
    set_script(&plant, &first, json!({"stall_after": 0})).await;
    let client = plant.client();
    let mut pending = JoinSet::new();
    pending.spawn(async move { client.post_json("/chat/completions", chat("chat", "hi")).await });
    wait_until("the replica has the call", TIMEOUT, async || count(&plant, &first, "in_flight").await == 1).await;
    kill(plant.pid_of(&first), "KILL");
    let response = pending.join_next().await.unwrap().unwrap();
    assert_eq!(response.status, 200, "{}", response.text());
    let replicas = plant.replicas(&first.endpoint).await;
    assert_eq!(replicas.len(), 2, "its successor responded");
}

#[tokio::test]
async fn a_draining_replica_gets_no_new_calls_and_cuts_no_stream() {
    let plant = Plant::start(2, "").await;
    plant.create("chat", json!({"replicas": 2})).await;
    plant.wait_for("chat", "serving", 2).await;
    // Streams on both, so that the drained one has something to finish.
    let mut streams = JoinSet::new();
    for number in 0..8 {
        let mut body = chat("chat", &format!("question {number}"));
        body["stream"] = json!(true);
        body["fake"] = json!({"chunks": 4, "chunk_delay_ms": 2_000});
        let stream = plant.app.open_stream(body).await;
        streams.spawn(async move { stream.rest().await });
    }
    plant.patch("chat", json!({"replicas": 1})).await;
    wait_until("one drains", TIMEOUT, async || plant.endpoint("chat").await.unwrap().status.draining == 1).await;
    let live = plant.live().await;
    let goes = live.iter().find(|replica| replica.drain_until.is_some()).unwrap();
    assert!(count(&plant, goes, "in_flight").await > 0, "both replicas have streams");
    wait_until("this node has stopped routing to it", TIMEOUT, async || {
        let loads = store::endpoint_loads::list(&plant.store).await.unwrap();
        loads.iter().flat_map(|report| &report.replicas).any(|calls| calls.replica == goes.id && !calls.routed)
    })
    .await;
    let before = count(&plant, goes, "served").await;
    for number in 0..10 {
        assert_eq!(plant.app.ask(chat("chat", &format!("later {number}"))).await.status, 200);
    }
    assert_eq!(count(&plant, goes, "served").await, before);
    for (events, clean) in streams.join_all().await {
        assert!(clean && events.last().unwrap().is_done(), "a stream was cut");
    }
    wait_until("gone", TIMEOUT, async || plant.running().len() == 1).await;
}

#[tokio::test]
async fn dedicated_calls_pass_when_limits_and_quota_are_spent_and_are_metered() {
    let plant = Blueprint::new(1).setup(|setup| setup.workspace_limits(1, 1, 1)).start().await;
    plant.create("chat", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let rejected = plant.app.chat("serverless").await;
    assert_eq!(rejected.status, 429, "{}", rejected.text());
    for _ in 0..5 {
        let response = plant.chat("chat").await;
        assert_eq!(response.status, 200, "{}", response.text());
        assert!(!response.headers.keys().any(|name| name.as_str().starts_with("x-ratelimit")));
    }
    wait_until("metered", TIMEOUT, async || {
        let all = store::usage::list(&plant.store, &plant.app.workspace(), 100).await.unwrap();
        all.iter().filter(|event| event.model.as_str() == "dedicated/chat").count() == 5
    })
    .await;
    let workspace = plant.app.workspace();
    let shown = plant.app.admin(&format!("usage show --workspace {workspace} --group-by model"));
    let line = shown["data"].as_array().unwrap().iter().find(|line| line["model"] == "dedicated/chat").unwrap().clone();
    assert_eq!((&line["requests"], &line["costUsd"]), (&json!(5), &json!("0.00")), "billed per GPU-hour");
    assert!(line["promptTokens"].as_u64().unwrap() > 0 && line["completionTokens"].as_u64().unwrap() > 0, "{line}");
    let quota = store::quota::account(&plant.store, &workspace, this_month(), 1).await.unwrap();
    assert_eq!(quota.used, 0, "and never against the quota");
}

fn this_month() -> domain::Month {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    domain::Month::of(domain::Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap()))
}
