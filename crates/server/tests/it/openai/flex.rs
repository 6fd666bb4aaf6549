//! Calls with `service_tier: "flex"`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::fake_engine::Script;
use testkit::http::{Client, Response, Stream};
use tokio::task::JoinSet;

use crate::app::{CHAT, EMBEDDING, TIMEOUT, TestApp, chat, error_line, stream, stream_with_usage, wait_until};
use crate::batches::{create, ended, lines};

fn flex(mut body: Value) -> Value {
    body["service_tier"] = "flex".into();
    body
}

/// A gateway whose chat engine takes this many calls.
async fn app_with_room_for(calls: u32) -> TestApp {
    TestApp::setup().chat_upstream(&format!("max_in_flight = {calls}")).start().await
}

/// Opens a stream that goes on until it is dropped.
async fn endless(app: &TestApp, body: Value) -> Stream {
    app.engine().push(Script { stall_after: Some(1), ..Script::default() });
    let mut opened = app.open_stream(body).await;
    opened.next_event().await.unwrap();
    opened
}

/// Flex calls that are made at the same time.
fn flex_calls(app: &TestApp, count: usize) -> JoinSet<Response> {
    let mut calls = JoinSet::new();
    for _ in 0..count {
        let client = app.client();
        calls.spawn(async move { client.post_json("/chat/completions", flex(chat("hi"))).await });
    }
    calls
}

async fn wait_until_waiting(app: &TestApp, calls: usize) {
    wait_until_class_waits(app, "flex", calls).await;
}

async fn wait_until_class_waits(app: &TestApp, class: &str, calls: usize) {
    let expected = format!("\nforebay_calls_waiting{{model=\"{CHAT}\",class=\"{class}\"}} {calls}\n");
    let ops = Client::new(app.forebay.ops);
    wait_until("calls wait", TIMEOUT, async || ops.get("/metrics").await.text().contains(&expected)).await;
}

#[tokio::test]
async fn flex_calls_pay_the_price_of_batches_and_their_responses_name_the_tier() {
    let app = TestApp::setup().model("batch_discount = \"0.5\"").start().await;
    for tier in [json!("default"), json!(null)] {
        let mut body = chat("hi");
        body["service_tier"] = tier;
        assert!(app.ask(body).await.json().get("service_tier").is_none());
    }
    for (path, body) in [
        ("/chat/completions", chat("hi")),
        ("/completions", json!({"model": CHAT, "prompt": "hi"})),
        ("/responses", json!({"model": CHAT, "input": "hi"})),
    ] {
        let response = app.client().post_json(path, flex(body)).await;
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        assert_eq!(response.json()["service_tier"], "flex", "{path}");
    }
    let (events, _) = app.open_stream(flex(stream_with_usage("hi"))).await.rest().await;
    let chunks: Vec<Value> = events.iter().filter(|event| !event.is_done()).map(|event| event.json()).collect();
    assert!(chunks.len() > 3 && chunks.iter().all(|chunk| chunk["service_tier"] == "flex"), "{chunks:#?}");

    let mut costs: Vec<i64> = app.usage(6).await.iter().map(|event| event.cost.nanos()).collect();
    costs.sort_unstable();
    assert_eq!(costs, [11_000, 11_000, 11_000, 11_000, 22_000, 22_000]);
    let embedded = app.embed(flex(json!({"model": EMBEDDING, "input": "hi"}))).await;
    assert_eq!(embedded.json()["service_tier"], "flex", "{}", embedded.text());
}

#[tokio::test]
async fn the_usage_that_the_gateway_adds_to_a_stream_names_the_tier() {
    let app = TestApp::start().await;
    let script = Script { no_usage: true, ..Script::default() };
    let events = app.events(script, flex(stream_with_usage("hi"))).await;
    let last = events[events.len() - 2].json();
    assert!(last["usage"].is_object(), "{last}");
    assert_eq!(last["service_tier"], "flex");
}

#[tokio::test]
async fn an_engine_that_speaks_responses_need_not_know_the_tier() {
    let app = TestApp::setup().chat_upstream("native = [\"responses\"]").start().await;
    let mut body = flex(json!({"model": CHAT, "input": "hi"}));
    let response = app.client().post_json("/responses", body.clone()).await;
    assert_eq!(response.json()["service_tier"], "flex", "{}", response.text());
    body["stream"] = true.into();
    let (events, _) = app.client().open_stream("/responses", body).await.rest().await;
    let resources: Vec<Value> = events.iter().map(|event| event.json()["response"].clone()).collect();
    let resources: Vec<&Value> = resources.iter().filter(|resource| resource.is_object()).collect();
    assert!(resources.len() > 1 && resources.iter().all(|one| one["service_tier"] == "flex"), "{resources:#?}");
    assert!(app.engine().calls().iter().all(|call| call.path == "/v1/responses"));
}

#[tokio::test]
async fn a_flex_call_waits_until_an_interactive_call_leaves_room() {
    let app = app_with_room_for(1).await;
    let running = endless(&app, stream("one")).await;
    let mut calls = flex_calls(&app, 3);
    wait_until_waiting(&app, 3).await;
    assert_eq!(app.engine().calls().len(), 1);
    drop(running);
    while let Some(response) = calls.join_next().await {
        let response = response.unwrap();
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(response.json()["service_tier"], "flex");
    }
    wait_until_waiting(&app, 0).await;
    let events = app.usage(4).await;
    assert_eq!(events.iter().filter(|event| event.held_micros.is_some()).count(), 3, "{events:?}");
}

#[tokio::test]
async fn flex_calls_are_served_before_lines_of_batches_that_came_first() {
    let app = app_with_room_for(1).await;
    let running = endless(&app, stream("one")).await;
    let batch = create(&app.client(), &lines(2)).await;
    wait_until_class_waits(&app, "batch", 2).await;
    let mut calls = flex_calls(&app, 2);
    wait_until_waiting(&app, 2).await;
    drop(running);
    while let Some(response) = calls.join_next().await {
        assert_eq!(response.unwrap().status, 200);
    }
    assert_eq!(ended(&app.client(), &batch).await["request_counts"]["completed"], 2);
    let calls = app.engine().calls();
    let served: Vec<bool> = calls[1..].iter().map(|call| call.json()["messages"][0]["content"] == "hi").collect();
    assert_eq!(served, [true, true, false, false]);
}

#[tokio::test]
async fn a_flex_call_without_room_is_rejected_at_its_timeout_and_costs_nothing() {
    let app = app_with_room_for(1).await;
    let running = endless(&app, stream("one")).await;
    let client = app.client().header("X-Hold-Timeout", "1");
    for (path, body) in [
        ("/chat/completions", chat("hi")),
        ("/chat/completions", stream("hi")),
        ("/responses", json!({"model": CHAT, "input": "hi"})),
    ] {
        let began = Instant::now();
        let rejected = client.post_json(path, flex(body)).await;
        assert_eq!(error_line(&rejected), "429 resource_unavailable", "{path}");
        assert_eq!(rejected.json()["error"]["type"], "rate_limit_error");
        assert_eq!(rejected.header("retry-after"), Some("1"));
        assert!(began.elapsed() >= Duration::from_millis(900), "{:?}", began.elapsed());
    }
    drop(running);
    assert_eq!(app.ask(flex(chat("hi"))).await.status, 200);
    assert_eq!(app.usage(2).await.len(), 2, "of the stream and of the served call");
}

#[tokio::test]
async fn interactive_calls_do_not_wait_behind_flex_calls() {
    let app = app_with_room_for(2).await;
    let running = endless(&app, flex(stream("one"))).await;
    let mut calls = flex_calls(&app, 2);
    wait_until_waiting(&app, 2).await;
    for _ in 0..5 {
        assert_eq!(app.chat("hi").await.status, 200, "flex calls take half of the engine at most");
    }
    wait_until_waiting(&app, 2).await;
    drop(running);
    while let Some(response) = calls.join_next().await {
        assert_eq!(response.unwrap().status, 200);
    }
}

#[tokio::test]
async fn a_client_that_leaves_while_its_flex_call_waits_leaves_nothing_behind() {
    let app = app_with_room_for(1).await;
    let running = endless(&app, stream("one")).await;
    let mut calls = flex_calls(&app, 3);
    wait_until_waiting(&app, 3).await;
    calls.shutdown().await;
    wait_until_waiting(&app, 0).await;
    drop(running);
    assert_eq!(app.ask(flex(chat("hi"))).await.status, 200);
    assert_eq!(app.engine().calls().len(), 2, "the engine has seen none of them");
    let free = format!("forebay_replica_in_flight{{model=\"{CHAT}\",replica=\"{CHAT}#1\"}} 0");
    let ops = Client::new(app.forebay.ops);
    wait_until("the slot is free", TIMEOUT, async || ops.get("/metrics").await.text().contains(&free)).await;
}

#[tokio::test]
async fn a_flex_call_does_not_wait_for_a_model_without_a_healthy_replica() {
    let away = "[[models]]\nid = \"acme/away\"\nupstreams = [ { url = \"http://127.0.0.1:1\" } ]";
    let app = TestApp::setup().table(away).start().await;
    for _ in 0..2 {
        let mut body = flex(chat("hi"));
        body["model"] = json!("acme/away");
        assert_eq!(error_line(&app.ask(body).await), "503 model_not_serving");
    }
}
