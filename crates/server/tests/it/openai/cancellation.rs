//! Clients that disconnect: engines must stop working for them.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::Value;
use testkit::fake_engine::Script;
use testkit::http::Client;
use tokio::io::AsyncWriteExt as _;

use crate::app::{CHAT, EMBEDDING, TIMEOUT, TestApp, chat, stream, wait_until};
use crate::wire;

/// Ten times the promised delay, for a busy machine.
const SOON: Duration = Duration::from_secs(1);

/// Sends a call, waits until the engine has it, and disconnects.
async fn disconnect_during_prefill(app: &TestApp, path: &str, body: Value) {
    app.engine().forget_calls();
    let client = app.client();
    let mut call = Box::pin(client.try_send(Method::POST, path, Bytes::from(body.to_string())));
    tokio::select! {
        response = &mut call => panic!("early response: {response:?}"),
        arrived = app.engine().wait_for_calls(1, TIMEOUT) => assert!(arrived),
    }
    while app.engine().calls().is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_client_that_disconnects_during_prefill_frees_the_engine() {
    for (path, body) in [
        ("/chat/completions", chat("hi")),
        ("/chat/completions", stream("hi")),
        ("/embeddings", serde_json::json!({"model": EMBEDDING, "input": "hi"})),
    ] {
        let app = TestApp::start().await;
        app.engine().script(Script { delay_ms: 60_000, ..Script::default() });
        disconnect_during_prefill(&app, path, body.clone()).await;
        assert!(app.engine().wait_until_cancelled(SOON).await, "{body}");
        assert_eq!(app.engine().in_flight(), 0);
    }
}

#[tokio::test]
async fn a_client_that_disconnects_during_a_stream_frees_the_engine() {
    for script in [
        Script { chunks: 10_000, chunk_delay_ms: 5, ..Script::default() },
        Script { stall_after: Some(1), ..Script::default() },
    ] {
        let app = TestApp::start().await;
        app.engine().push(script.clone());
        let mut opened = app.open_stream(stream("hi")).await;
        opened.next_event().await.unwrap();
        drop(opened);
        assert!(app.engine().wait_until_cancelled(SOON).await, "{script:?}");
        let ops = Client::new(app.forebay.ops);
        let free = format!("forebay_replica_in_flight{{model=\"{CHAT}\",replica=\"{CHAT}#1\"}} 0");
        wait_until("the slot is free", SOON, async || ops.get("/metrics").await.text().contains(&free)).await;
    }
}

#[tokio::test]
async fn a_client_that_disconnects_after_done_is_not_a_cancellation() {
    let app = TestApp::start().await;
    for _ in 0..10 {
        let mut opened = app.open_stream(stream("hi")).await;
        while !opened.next_event().await.unwrap().is_done() {}
    }
    assert!(app.engine().wait_until_idle(TIMEOUT).await);
    assert!(app.engine().calls().iter().all(|call| !call.cancelled));
    let codes: Vec<String> = app.usage(10).await.into_iter().map(|event| event.code.into_owned()).collect();
    assert_eq!(codes, vec![""; 10]);
}

#[tokio::test]
async fn a_client_that_resets_its_connection_frees_the_engine() {
    let app = TestApp::start().await;
    app.engine().script(Script { delay_ms: 60_000, ..Script::default() });
    let mut connection = testkit::http::connect(app.forebay.public).await;
    connection.write_all(&wire::post(&app, "", chat("hi").to_string())).await.unwrap();
    assert!(app.engine().wait_for_calls(1, TIMEOUT).await);
    socket2::SockRef::from(&connection).set_linger(Some(Duration::ZERO)).unwrap();
    drop(connection);
    assert!(app.engine().wait_until_cancelled(SOON).await);
}

#[tokio::test]
async fn a_slow_reader_slows_the_engine_and_does_not_fill_our_memory() {
    let app = TestApp::start().await;
    app.engine().push(Script { chunks: 60_000, text: "x".repeat(4_000), limit_ignored: true, ..Script::default() });
    let mut opened = app.open_stream(stream("hi")).await;
    opened.next_event().await.unwrap();
    let resident = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", app.forebay.child.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let before = resident();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let grown = resident().saturating_sub(before);
    assert!(grown < 50_000, "{grown} KiB more for a stream of 240 MB that is not read");
    assert_eq!(app.engine().in_flight(), 1, "the engine waits");
}
