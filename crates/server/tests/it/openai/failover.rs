//! Streams that go on at another engine when theirs is lost.

use crate::app::{TestApp, content, stream_with_usage};
use crate::console::person::Person;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::fake_engine::{Personality, Script};
use testkit::http::{Client, Event};

const CHUNKS: usize = 6;

/// Two engines of a model with failover, of which the first breaks its streams after `cut` chunks.
async fn start(engine: Personality, name: &str, cut: usize) -> TestApp {
    let setup = TestApp::setup().engines(2).model("failover = true").upstream(&format!("engine = \"{name}\""));
    let app = setup.start().await;
    let script = Script { engine, chunks: CHUNKS, ..Script::default() };
    app.engines[1].script(script.clone());
    app.engines[0].script(Script { cut_after: Some(cut), ..script });
    app
}

/// Sends streams until the first engine has had one, and returns all of them.
async fn streams(app: &TestApp, body: &Value) -> Vec<Vec<Event>> {
    let mut streams = Vec::new();
    while app.engines[0].calls().is_empty() {
        let (events, clean) = app.open_stream(body.clone()).await.rest().await;
        assert!(clean && streams.len() < 200, "{events:#?}");
        streams.push(events);
    }
    streams
}

#[tokio::test]
async fn a_client_does_not_notice_that_an_engine_died() {
    for (engine, name) in [
        (Personality::Vllm, "vllm"),
        (Personality::Sglang, "sglang"),
        (Personality::LlamaServer, "llama-server"),
        (Personality::ForebayEngine, "forebay-engine"),
    ] {
        let app = start(engine, name, 3).await;
        let member = Person::new(&app, "mia", "member").await;
        let streams = streams(&app, &stream_with_usage("hi")).await;
        let id = |event: &Event| event.json()["id"].clone();
        for events in &streams {
            assert_eq!(content(events), "Hello ".repeat(CHUNKS), "{name}: {events:#?}");
            assert!(events.last().unwrap().is_done());
            let chunks = &events[..events.len() - 1];
            assert!(chunks.iter().all(|event| id(event) == id(&events[0])));
            let roles = chunks.iter().filter(|event| event.json()["choices"][0]["delta"].get("role").is_some());
            assert_eq!(roles.count(), 1, "{events:#?}");
            let usage = chunks.last().unwrap().json()["usage"].clone();
            assert_eq!((&usage["prompt_tokens"], &usage["completion_tokens"]), (&json!(10), &json!(CHUNKS)), "{name}");
        }
        let continued = app.engines[1].calls().last().unwrap().json();
        assert_eq!(continued["messages"][1], json!({"role": "assistant", "content": "Hello Hello Hello"}));
        let billed = app.usage(streams.len()).await;
        assert!(billed.iter().all(|event| (event.tokens.prompt, event.tokens.completion) == (10, CHUNKS as u64)));
        assert_eq!((billed[0].status, &*billed[0].code), (200, ""));
        let logged = member.read(&format!("/api/workspaces/{}/requests", app.workspace())).await;
        let failovers = logged["data"].as_array().unwrap().iter().map(|call| call["failovers"].as_u64().unwrap());
        assert_eq!(failovers.sum::<u64>(), 1, "{logged:#}");
        let page = Client::new(app.forebay.ops).get("/metrics").await.text();
        assert!(page.contains("model=\"acme/tiny\",outcome=\"continued\"} 1"), "{page}");
    }
}

/// As vLLM after SIGTERM: its health route fails, and its connections stay open without another byte.
#[tokio::test]
async fn a_stream_of_an_engine_that_is_down_and_silent_goes_on_within_seconds() {
    let app = start(Personality::Vllm, "vllm", CHUNKS).await;
    app.engines[0].script(Script { chunks: CHUNKS, stall_after: Some(3), ..Script::default() });
    let mut opened = app.open_stream(stream_with_usage("hi")).await;
    while app.engines[0].calls().is_empty() {
        assert!(opened.rest().await.1 && app.engines[1].calls().len() < 200);
        opened = app.open_stream(stream_with_usage("hi")).await;
    }
    app.engines[0].set_health(503);
    let since = Instant::now();
    let (events, clean) = opened.rest().await;
    assert!(clean && events.last().unwrap().is_done(), "{events:#?}");
    assert_eq!(content(&events), "Hello ".repeat(CHUNKS), "{events:#?}");
    let passed = since.elapsed();
    assert!(passed < Duration::from_secs(60), "{passed:?}, long before edge.idle_timeout");
}

/// As vLLM when it gets SIGTERM: begun streams get an error event, or the reason `abort`, and new ones nothing.
#[tokio::test]
async fn a_stream_that_its_engine_gives_up_goes_on() {
    let role = r#"{"id":"x","created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#;
    for (script, said) in [
        (Script { error_event_after: Some(3), chunks: CHUNKS, ..Script::default() }, json!("Hello Hello Hello")),
        (Script { finish_reason: "abort".into(), chunks: 3, ..Script::default() }, json!("Hello Hello Hello")),
        (Script { raw_events: Some(vec![role.into()]), ..Script::default() }, Value::Null),
    ] {
        let app = start(Personality::Vllm, "vllm", 3).await;
        app.engines[0].script(script.clone());
        let streams = streams(&app, &stream_with_usage("hi")).await;
        let last = streams.last().unwrap();
        assert!(last.last().unwrap().is_done(), "{script:?}: {last:#?}");
        assert_eq!(content(last), "Hello ".repeat(CHUNKS), "{script:?}: {last:#?}");
        assert_eq!(app.engines[1].calls().last().unwrap().json()["messages"][1]["content"], said, "{script:?}");
        let billed = app.usage(streams.len()).await;
        assert_eq!(billed.iter().map(|event| event.failovers).sum::<u32>(), 1, "{script:?}");
    }
}

#[tokio::test]
async fn a_stream_whose_request_its_engine_rejects_does_not_go_on() {
    let app = start(Personality::Vllm, "vllm", 3).await;
    app.engines[0].script(Script { error_event_after: Some(3), status: Some(400), ..Script::default() });
    let streams = streams(&app, &stream_with_usage("hi")).await;
    assert_eq!(streams.last().unwrap().last().unwrap().json()["error"]["code"], "bad_gateway");
    assert_eq!(app.engines[1].calls().len(), streams.len() - 1, "no engine was asked to continue it");
}

#[tokio::test]
async fn what_cannot_go_on_ends_with_an_error() {
    let app = start(Personality::Vllm, "vllm", 3).await;
    let mut body = stream_with_usage("hi");
    body["logprobs"] = json!(true);
    let streams = streams(&app, &body).await;
    assert_eq!(streams.last().unwrap().last().unwrap().json()["error"]["code"], "bad_gateway");
    assert_eq!(app.engines[1].calls().len(), streams.len() - 1, "no engine was asked to continue it");
}

#[tokio::test]
async fn a_tool_call_that_has_begun_ends_with_an_error() {
    let app = start(Personality::Vllm, "vllm", 3).await;
    let call =
        json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": "find", "arguments": "{\"a"}});
    let delta = json!({"role": "assistant", "content": "Let me see. ", "tool_calls": [call]});
    let choices = json!([{"index": 0, "delta": delta, "finish_reason": null}]);
    let chunk = json!({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices});
    app.engines[0].script(Script { raw_events: Some(vec![chunk.to_string()]), no_done: true, ..Script::default() });
    let streams = streams(&app, &stream_with_usage("hi")).await;
    let last = streams.last().unwrap();
    assert_eq!(content(last), "Let me see. ");
    assert_eq!(last.last().unwrap().json()["error"]["code"], "bad_gateway", "{last:#?}");
    assert_eq!(app.engines[1].calls().len(), streams.len() - 1, "no engine was asked to continue it");
    let page = Client::new(app.forebay.ops).get("/metrics").await.text();
    assert!(page.contains("outcome=\"not_possible\"} 1"), "{page}");
}

#[tokio::test]
async fn a_stream_without_another_engine_ends_with_an_error() {
    let app = start(Personality::Vllm, "vllm", 3).await;
    app.engines[1].script(Script { status: Some(503), ..Script::default() });
    let streams = streams(&app, &stream_with_usage("hi")).await;
    let last = streams.last().unwrap();
    assert_eq!(content(last), "Hello ".repeat(3));
    assert_eq!(last.last().unwrap().json()["error"]["code"], "bad_gateway", "{last:#?}");
    let page = Client::new(app.forebay.ops).get("/metrics").await.text();
    assert!(page.contains("outcome=\"no_replica\"} 1"), "{page}");
    assert_eq!(app.usage(1).await[0].tokens.completion, 3);
}
