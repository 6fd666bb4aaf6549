//! Clients that read slowly, stay too long, or open too many connections.

use testkit::fake_engine::Script;
use testkit::http::Client;

use crate::app::{CHAT, TIMEOUT, TestApp, chat, error_line, stream, wait_until};
use crate::wire::{Wire, get, post};

async fn metrics(app: &TestApp) -> String {
    Client::new(app.forebay.ops).get("/metrics").await.text()
}

async fn wait_for_metric(app: &TestApp, line: &str) {
    wait_until(line, TIMEOUT, async || metrics(app).await.contains(&format!("{line}\n"))).await;
}

/// The call has ended as if its client had disconnected.
async fn assert_cut_off(app: &TestApp, reason: &str) {
    assert!(app.engine().wait_until_cancelled(TIMEOUT).await);
    wait_for_metric(app, &format!("forebay_calls_cut_off_total{{reason=\"{reason}\"}} 1")).await;
    wait_for_metric(app, &format!("forebay_replica_in_flight{{model=\"{CHAT}\",replica=\"{CHAT}#1\"}} 0")).await;
    let event = app.usage(1).await.remove(0);
    assert_eq!((event.status, &*event.code), (499, "client_gone"));
    assert!(event.tokens.completion > 0, "what was generated is billed");
}

#[tokio::test]
async fn a_client_that_does_not_read_frees_its_replica() {
    let app = TestApp::setup().edge("client_stall_timeout = \"300ms\"").start().await;
    app.engine().push(Script { chunks: 100_000, text: "x".repeat(4_000), ..Script::default() });
    let mut wire = Wire::open(app.forebay.public).await;
    wire.send(post(&app, "", stream("hi").to_string())).await;
    wire.wait_for("data: ").await;
    assert_cut_off(&app, "stalled").await;
    assert_eq!(app.chat("meanwhile").await.status_line(), "200 OK");
}

#[tokio::test]
async fn a_client_that_does_not_keep_up_takes_memory_until_it_has_caught_up() {
    let app = TestApp::start().await;
    app.engine().push(Script { chunks: 200, text: "x".repeat(4_000), ..Script::default() });
    let mut wire = Wire::open(app.forebay.public).await;
    wire.send(post(&app, "", stream("hi").to_string())).await;
    wait_for_metric(&app, &format!("forebay_body_memory_bytes {}", 256 << 10)).await;
    wire.wait_for("[DONE]").await;
    wait_for_metric(&app, "forebay_body_memory_bytes 0").await;
    assert_eq!(app.usage(1).await.remove(0).status, 200);
}

#[tokio::test]
async fn a_client_that_does_not_keep_up_is_cut_off_if_there_is_no_memory() {
    let app = TestApp::setup().edge("body_limit = \"128KiB\"\nmemory_budget = \"200KiB\"").start().await;
    app.engine().push(Script { chunks: 100_000, text: "x".repeat(4_000), ..Script::default() });
    let mut wire = Wire::open(app.forebay.public).await;
    wire.send(post(&app, "", stream("hi").to_string())).await;
    wire.wait_for("data: ").await;
    assert_cut_off(&app, "no_memory").await;
    assert_eq!(app.chat("meanwhile").await.status_line(), "200 OK");
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cut_off() {
    let app = TestApp::setup().edge("call_timeout = \"500ms\"").start().await;
    app.engine().push(Script { chunks: 100_000, chunk_delay_ms: 10, ..Script::default() });
    let (events, clean) = app.open_stream(stream("hi")).await.rest().await;
    assert!(!events.is_empty() && !clean, "the client notices");
    assert_cut_off(&app, "timed_out").await;
}

#[tokio::test]
async fn the_running_calls_of_a_workspace_can_be_bounded() {
    let app = TestApp::setup().edge("max_calls_per_workspace = 1").start().await;
    app.engine().push(Script { chunks: 100_000, chunk_delay_ms: 10, ..Script::default() });
    let running = app.open_stream(stream("hi")).await;
    let rejected = app.chat("second").await;
    assert_eq!(error_line(&rejected), "429 concurrency_limit_exceeded");
    assert_eq!(rejected.header("retry-after"), Some("1"));
    drop(running);
    wait_until("there is room again", TIMEOUT, async || app.chat("third").await.status == 200).await;
}

#[tokio::test]
async fn the_connections_of_an_address_are_bounded() {
    let app = TestApp::setup().server("max_connections_per_address = 3\nunbounded_addresses = []").start().await;
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut wire = Wire::open(app.forebay.public).await;
        wire.send(get(&app, "/v1/models")).await;
        assert_eq!(wire.response().await.status, 200);
        open.push(wire);
    }
    assert!(Wire::open(app.forebay.public).await.is_closed().await);
    wait_for_metric(&app, "forebay_connections_rejected_total 1").await;
    assert!(app.forebay.child.stderr().contains("add it to server.trusted_proxies"));
    open[0].send(post(&app, "", chat("hi").to_string())).await;
    assert_eq!(open[0].response().await.status, 200, "open ones stay");
    open.pop();
    wait_until("one is free", TIMEOUT, async || {
        let mut wire = Wire::open(app.forebay.public).await;
        wire.send_until_closed(get(&app, "/v1/models").as_bytes()).await;
        !wire.is_closed().await
    })
    .await;

    let proxied = "max_connections_per_address = 1\nunbounded_addresses = []\ntrusted_proxies = [\"127.0.0.1\"]";
    let app = TestApp::setup().server(proxied).start().await;
    for _ in 0..3 {
        let mut wire = Wire::open(app.forebay.public).await;
        wire.send(get(&app, "/v1/models")).await;
        assert_eq!(wire.response().await.status, 200, "a trusted proxy");
        open.push(wire);
    }
}
