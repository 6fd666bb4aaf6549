//! Calls that wait for room: the order in which they are served, and what those learn that are not.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::fake_engine::Script;
use testkit::http::{Client, Response, Stream};
use tokio::task::JoinSet;

use crate::app::{CHAT, Setup, TIMEOUT, TestApp, chat, error_line, stream, text, wait_until};

fn setup(queue_timeout: &str) -> Setup {
    let queued = format!("queue_timeout = \"{queue_timeout}\"");
    TestApp::setup().chat_upstream("max_in_flight = 1").model(&queued)
}

/// Opens a stream that goes on until it is dropped.
async fn endless(app: &TestApp) -> Stream {
    app.engine().push(Script { stall_after: Some(1), ..Script::default() });
    let mut opened = app.open_stream(stream("first")).await;
    opened.next_event().await.unwrap();
    opened
}

async fn wait_until_waiting(app: &TestApp, class: &str, calls: usize) {
    let expected = format!("\nforebay_calls_waiting{{model=\"{CHAT}\",class=\"{class}\"}} {calls}\n");
    let ops = Client::new(app.forebay.ops);
    wait_until("calls wait", TIMEOUT, async || ops.get("/metrics").await.text().contains(&expected)).await;
}

/// Makes a call and waits until it is in the queue, in which `before` calls of its class wait.
async fn queue(app: &TestApp, calls: &mut JoinSet<Response>, key: &str, body: Value, before: usize) {
    let client = app.client_with(key);
    let class = if body["service_tier"] == "flex" { "flex" } else { "interactive" };
    calls.spawn(async move { client.post_json("/chat/completions", body).await });
    wait_until_waiting(app, class, before + 1).await;
}

/// The key of a new workspace with this weight.
fn key_with_weight(app: &TestApp, weight: u16) -> String {
    let organization = text(&app.forebay.bootstrap()["organizationId"]).to_owned();
    let made = app.admin(&format!("workspaces create --organization {organization} --name other"));
    let workspace = text(&made["id"]);
    let set = app.admin(&format!("workspaces set {workspace} --weight {weight}"));
    assert_eq!(set["weight"], weight);
    text(&app.admin(&format!("keys create --workspace {workspace} --name other"))["key"]).to_owned()
}

/// What was asked, in the order in which the engine got it.
fn asked(app: &TestApp) -> Vec<String> {
    let text = |call: &testkit::fake_engine::Recorded| text(&call.json()["messages"][0]["content"]).to_owned();
    app.engine().calls().iter().map(text).collect()
}

#[tokio::test]
async fn an_interactive_call_waits_for_room_if_its_model_has_a_queue() {
    let app = setup("30s").start().await;
    let running = endless(&app).await;
    let mut calls = JoinSet::new();
    queue(&app, &mut calls, &app.key, chat("second"), 0).await;
    drop(running);
    assert_eq!(calls.join_next().await.unwrap().unwrap().status, 200);
    wait_until_waiting(&app, "interactive", 0).await;
    let events = app.usage(2).await;
    assert_eq!(events.iter().filter(|event| event.held_micros.is_some()).count(), 1, "{events:?}");
}

#[tokio::test]
async fn a_call_that_found_no_room_in_time_learns_what_is_before_it() {
    let app = setup("60s").start().await;
    let running = endless(&app).await;
    let mut calls = JoinSet::new();
    queue(&app, &mut calls, &app.key, chat("second"), 0).await;
    let began = Instant::now();
    let rejected = app.client().header("X-Hold-Timeout", "1").post_json("/chat/completions", chat("third")).await;
    assert_eq!(error_line(&rejected), "503 model_not_serving");
    assert!(rejected.header("retry-after").is_some(), "{rejected:?}");
    let message = rejected.json()["error"]["message"].clone();
    assert!(text(&message).starts_with("every replica of the model is busy: about 1 call waits before"), "{message}");
    assert!(began.elapsed() >= Duration::from_millis(900), "{:?}", began.elapsed());
    drop(running);
    assert_eq!(calls.join_next().await.unwrap().unwrap().status, 200);
    assert_eq!(asked(&app), ["first", "second"]);
}

#[tokio::test]
async fn without_a_queue_an_interactive_call_fails_at_once() {
    let app = TestApp::setup().chat_upstream("max_in_flight = 1").start().await;
    let _running = endless(&app).await;
    let began = Instant::now();
    assert_eq!(error_line(&app.chat("second").await), "503 model_not_serving");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test]
async fn workspaces_take_turns_by_weight_and_interactive_calls_come_before_flex_calls() {
    let app = setup("60s").start().await;
    let (one, other) = (app.key.clone(), key_with_weight(&app, 2));
    let running = endless(&app).await;
    let mut calls = JoinSet::new();
    let mut flex = chat("flex");
    flex["service_tier"] = "flex".into();
    queue(&app, &mut calls, &one, flex, 0).await;
    for number in 0..4 {
        queue(&app, &mut calls, &one, chat("one"), number).await;
    }
    for number in 4..8 {
        queue(&app, &mut calls, &other, chat("other"), number).await;
    }
    drop(running);
    while let Some(response) = calls.join_next().await {
        assert_eq!(response.unwrap().status, 200);
    }
    let asked = asked(&app);
    assert_eq!(asked.last().map(String::as_str), Some("flex"), "{asked:?}");
    let others = asked[1..7].iter().filter(|asked| *asked == "other").count();
    assert!((3..=4).contains(&others), "about two thirds of the first six: {asked:?}");
    assert!(
        asked[1..4].iter().any(|asked| asked == "other"),
        "the one that came first does not go on alone: {asked:?}"
    );
}

#[tokio::test]
async fn an_engine_with_priorities_gets_the_class_of_a_call() {
    let app = TestApp::setup().chat_upstream("engine = \"vllm\", priority_scheduling = true").start().await;
    for tier in [Value::Null, json!("flex")] {
        let mut body = chat("hi");
        body["service_tier"] = tier;
        assert_eq!(app.ask(body).await.status, 200);
    }
    let priorities: Vec<Value> = app.engine().calls().iter().map(|call| call.json()["priority"].clone()).collect();
    assert_eq!(priorities, [Value::Null, json!(1)]);
    let mut own = chat("hi");
    own["priority"] = json!(-5);
    assert_eq!(error_line(&app.ask(own).await), "400 unsupported_parameter priority");
}
