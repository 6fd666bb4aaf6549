//! Streams that begin before their engine does.

use domain::usage::{Certainty, Tokens};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::fake_engine::Script;
use testkit::http::{Client, Event, Stream};

use crate::app::{CHAT, TestApp, content, error_line, stream, text};

/// The engine is silent for longer than one interval of [`alive`], which is the shortest.
const SILENT_MS: u64 = 1_500;

fn alive(app: &TestApp) -> Client {
    app.client().header("x-keep-alive", "1")
}

fn slow() -> Script {
    Script { delay_ms: SILENT_MS, ..Script::default() }
}

/// The same call in each API.
fn calls() -> [(&'static str, Value); 3] {
    [
        ("/chat/completions", stream("hi")),
        (
            "/messages",
            json!({"model": CHAT, "max_tokens": 64, "stream": true, "messages": [{"role": "user", "content": "hi"}]}),
        ),
        ("/responses", json!({"model": CHAT, "input": "hi", "stream": true})),
    ]
}

async fn open(client: &Client, path: &str, body: Value) -> Stream {
    let stream = client.open_stream(path, body).await;
    assert_eq!(
        (stream.status.as_u16(), &stream.headers["content-type"]),
        (200, &"text/event-stream; charset=utf-8".parse().unwrap())
    );
    stream
}

/// The types of events in the words of their API; comments are `:`.
fn kinds(events: &[Event]) -> Vec<String> {
    let kind = |event: &Event| match event.raw.strip_prefix(": ping") {
        Some(_) => ":".to_owned(),
        None => text(&event.json()["type"]).to_owned(),
    };
    events.iter().map(kind).collect()
}

#[tokio::test]
async fn a_slow_engine_shows_as_alive_in_each_api() {
    let app = TestApp::start().await;
    app.engine().script(slow());
    for (path, body) in calls() {
        let (events, is_clean) = open(&alive(&app), path, body).await.rest().await;
        assert!(is_clean, "{events:#?}");
        let kinds = kinds(&events);
        match path {
            "/chat/completions" => {
                assert_eq!((kinds[0].as_str(), content(&events).as_str()), (":", "Hello Hello Hello "));
                assert!(events.last().unwrap().is_done());
            }
            "/messages" => {
                assert_eq!(kinds[..2], ["message_start", "ping"]);
                assert_eq!(kinds.iter().filter(|kind| *kind == "message_start").count(), 1, "{kinds:?}");
                assert_eq!(kinds.last().unwrap(), "message_stop");
            }
            _ => {
                assert_eq!(kinds[..2], ["response.created", "response.in_progress"]);
                let numbers: Vec<Value> =
                    events.iter().map(|event| event.json()["sequence_number"].clone()).filter(Value::is_u64).collect();
                assert_eq!(numbers, (0..numbers.len()).map(Value::from).collect::<Vec<_>>(), "{events:#?}");
                assert_eq!(kinds.iter().filter(|kind| *kind == "response.created").count(), 1, "{kinds:?}");
                assert_eq!(kinds.last().unwrap(), "response.completed");
            }
        }
    }
    for event in app.usage(3).await {
        let tokens = Tokens { prompt: 10, completion: 3, cached: 0 };
        assert_eq!((event.status, event.tokens, event.certainty), (200, tokens, Certainty::Exact));
        assert!(event.first_byte_micros.unwrap() >= SILENT_MS * 1_000, "a ping is not the first token");
    }
}

#[tokio::test]
async fn an_api_with_first_events_begins_its_stream_at_once_and_rejections_keep_their_status() {
    let app = TestApp::start().await;
    let client = app.client().header("x-keep-alive", "300");
    for (path, body) in calls().into_iter().skip(1) {
        app.engine().push(Script { status: Some(400), ..Script::default() });
        assert_eq!(client.post_json(path, body.clone()).await.status, 400, "{path}");
        app.engine().push(Script { delay_ms: 60_000, ..Script::default() });
        let mut begun = tokio::time::timeout(Duration::from_secs(20), open(&client, path, body)).await.expect(path);
        let first = begun.next_event().await.unwrap();
        assert!(["message_start", "response.created"].contains(&text(&first.json()["type"])), "{first:?}");
    }
}

#[tokio::test]
async fn a_failure_after_the_first_ping_is_an_event() {
    let app = TestApp::start().await;
    let refused = || Script { status: Some(400), error_message: Some("no such bias".to_owned()), ..slow() };
    let broken = || Script { status: Some(500), ..slow() };
    for (path, body) in calls() {
        for (script, code, message) in [
            (refused(), "invalid_value", "no such bias"),
            (broken(), "bad_gateway", "the model server returned no usable response"),
        ] {
            app.engine().push(script);
            let (events, is_clean) = open(&alive(&app), path, body.clone()).await.rest().await;
            assert!(is_clean && !events.iter().any(Event::is_done), "{events:#?}");
            let last = events.last().unwrap().json();
            if path == "/responses" {
                assert_eq!(
                    (&last["type"], &last["response"]["error"]["message"]),
                    (&json!("response.failed"), &json!(message))
                );
                assert_eq!(last["sequence_number"], 2, "{last}");
            } else {
                let error = &last["error"];
                assert_eq!((text(&error["code"]), text(&error["message"])), (code, message), "{last}");
            }
        }
    }
    for event in app.usage(6).await {
        assert_eq!((event.status, event.certainty, event.streamed), (200, Certainty::Void, true));
        assert!(["invalid_value", "bad_gateway"].contains(&&*event.code), "{}", event.code);
    }
}

#[tokio::test]
async fn a_call_that_is_kept_alive_still_moves_to_another_replica() {
    let app = TestApp::setup().engines(2).start().await;
    app.engines[0].script(Script { status: Some(500), ..slow() });
    let mut moved = None;
    for _ in 0..50 {
        let (events, _) = open(&alive(&app), "/chat/completions", stream("hi")).await.rest().await;
        assert_eq!(content(&events), "Hello Hello Hello ", "{events:#?}");
        if !app.engines[0].calls().is_empty() {
            moved = Some(events);
            break;
        }
    }
    let moved = moved.expect("one of the calls is sent to the first engine");
    assert_eq!(moved[0].raw, ": ping");
    assert!(moved.last().unwrap().is_done());
}

#[tokio::test]
async fn calls_that_do_not_ask_and_early_failures_keep_their_status() {
    let app = TestApp::setup().edge("keep_alive = \"1s\"").start().await;
    let refused = || Script { status: Some(400), ..Script::default() };
    app.engine().push(refused());
    assert_eq!(error_line(&app.ask(stream("hi")).await), "400 invalid_value");
    app.engine().push(Script { status: Some(400), ..slow() });
    let client = app.client().header("x-keep-alive", "0");
    assert_eq!(error_line(&client.post_json("/chat/completions", stream("hi")).await), "400 invalid_value");
    app.engine().push(slow());
    let whole = app.chat("hi").await;
    assert_eq!(whole.json()["choices"][0]["message"]["content"], "Hello Hello Hello ", "only streams have pings");
    app.engine().push(slow());
    let (events, _) = app.open_stream(stream("hi")).await.rest().await;
    assert_eq!(events[0].raw, ": ping", "as the configuration says");
}

#[tokio::test]
async fn comments_of_the_engine_do_not_begin_a_stream() {
    let app = TestApp::start().await;
    for (path, body) in calls() {
        let script = Script {
            comments: true,
            no_role: true,
            error_event_after: Some(0),
            error_message: Some("no such bias".to_owned()),
            ..Script::default()
        };
        app.engine().push(script);
        let response = app.client().post_json(path, body).await;
        assert_ne!(response.status, 200, "{path}: {}", response.text());
    }
}

#[tokio::test]
async fn an_interval_other_than_a_number_is_rejected_by_name() {
    let app = TestApp::start().await;
    for value in ["abc", "1.5", "-1", ""] {
        let client = app.client().header("x-keep-alive", value);
        let response = client.post_json("/chat/completions", stream("hi")).await;
        assert_eq!(error_line(&response), "400 invalid_payload", "{value}");
        assert!(response.text().contains("X-Keep-Alive"), "{}", response.text());
    }
}
