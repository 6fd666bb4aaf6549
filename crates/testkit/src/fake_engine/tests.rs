//! Tests of the fake engine.

use std::time::Duration;

use serde_json::{Value, json};

use super::{EmbedAs, ErrorBody, FakeEngine, Script, embedding_of};
use crate::http::{Client, Event, send};

const TIMEOUT: Duration = Duration::from_secs(5);

fn chat() -> Value {
    json!({"model": "fake-model", "messages": [{"role": "user", "content": "hi"}]})
}

fn stream() -> Value {
    json!({"model": "m", "messages": [], "stream": true, "stream_options": {"include_usage": true}})
}

async fn events_with(script: Script) -> (Vec<Event>, bool) {
    let engine = FakeEngine::start().await;
    engine.script(script);
    Client::new(engine.url()).open_stream("/chat/completions", stream()).await.rest().await
}

#[tokio::test]
async fn a_plain_chat_gets_a_response_and_is_recorded() {
    let engine = FakeEngine::start().await;
    let response = Client::new(engine.url()).key("sk-x").post_json("/chat/completions", chat()).await;
    assert_eq!(response.status_line(), "200 OK");
    assert_eq!(response.json()["choices"][0]["message"]["content"], "Hello Hello Hello ");
    assert_eq!(response.json()["usage"]["total_tokens"], 13);
    let calls = engine.calls();
    assert_eq!((calls.len(), calls[0].cancelled), (1, false));
    assert_eq!(
        (calls[0].path.as_str(), calls[0].header("authorization")),
        ("/v1/chat/completions", Some("Bearer sk-x"))
    );
    assert_eq!(calls[0].json(), chat());
    assert_eq!(engine.in_flight(), 0);
}

#[tokio::test]
async fn a_stream_has_role_content_finish_usage_and_done() {
    let (events, clean) = events_with(Script { chunks: 2, ..Script::default() }).await;
    assert!(clean && events.len() == 6, "{events:#?}");
    assert_eq!(events[0].json()["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(events[2].json()["choices"][0]["delta"]["content"], "Hello ");
    assert_eq!(events[3].json()["choices"][0]["finish_reason"], "stop");
    assert_eq!(events[4].json()["usage"]["completion_tokens"], 2);
    assert_eq!(events[4].json()["choices"], json!([]));
    assert!(events[5].is_done());
}

#[tokio::test]
async fn usage_is_sent_only_if_requested() {
    let engine = FakeEngine::start().await;
    let mut call = chat();
    call["stream"] = json!(true);
    let plain = Client::new(engine.url()).post_json("/chat/completions", call.clone()).await;
    assert!(!plain.text().contains("usage"));
    call["stream_options"] = json!({"include_usage": true, "continuous_usage_stats": true});
    let continuous = Client::new(engine.url()).post_json("/chat/completions", call).await;
    assert_eq!(continuous.sse_events().iter().filter(|event| event.json()["usage"].is_object()).count(), 6);
}

#[tokio::test]
async fn a_cut_stream_ends_after_its_chunks() {
    let (events, clean) = events_with(Script { chunks: 5, cut_after: Some(2), ..Script::default() }).await;
    assert_eq!((events.len(), clean), (3, false));
}

#[tokio::test]
async fn pieces_join_to_the_same_bytes() {
    let odd = Script { text: "é漢字🙂".to_owned(), comments: true, crlf: true, ..Script::default() };
    let whole = events_with(odd.clone()).await;
    assert_eq!(events_with(Script { split: Some(3), ..odd }).await, whole);
    assert!(whole.0.iter().any(|event| event.raw.starts_with(": ping")));
}

#[tokio::test]
async fn a_disconnect_is_detected_in_every_phase() {
    let phases = [
        Script { delay_ms: 60_000, ..Script::default() },
        Script { stall_after: Some(1), ..Script::default() },
        Script { chunks: 1_000, chunk_delay_ms: 10, ..Script::default() },
    ];
    for script in phases {
        let engine = FakeEngine::start().await;
        engine.script(script.clone());
        let client = Client::new(engine.url());
        let opening = client.open_stream("/chat/completions", stream());
        match tokio::time::timeout(Duration::from_millis(100), opening).await {
            Ok(mut stream) => assert!(stream.next_event().await.is_some()),
            Err(_) => assert!(script.delay_ms > 0),
        }
        assert!(engine.wait_until_cancelled(Duration::from_millis(500)).await, "{script:?}");
        assert!(engine.calls()[0].cancelled && engine.in_flight() == 0);
    }
}

#[tokio::test]
async fn errors_have_the_format_of_their_engine() {
    let engine = FakeEngine::start().await;
    let client = Client::new(engine.url());
    let rejection =
        |error_body| Script { status: Some(429), retry_after: Some("7".into()), error_body, ..Script::default() };
    engine.push(rejection(ErrorBody::Vllm));
    engine.push(rejection(ErrorBody::Sglang));
    engine.push(rejection(ErrorBody::Raw("busy".into())));
    let nested = client.post_json("/chat/completions", chat()).await;
    assert_eq!((nested.status_line().as_str(), nested.header("retry-after")), ("429 Too Many Requests", Some("7")));
    assert_eq!(nested.json()["error"]["code"], 429);
    assert_eq!(client.post_json("/chat/completions", stream()).await.json()["code"], 429);
    assert_eq!(client.post_json("/chat/completions", chat()).await.text(), "busy");
    assert_eq!(client.post_json("/chat/completions", chat()).await.status, 200);
}

#[tokio::test]
async fn embeddings_follow_the_request_unless_scripted() {
    let engine = FakeEngine::start().await;
    let client = Client::new(engine.url());
    let two = json!({"model": "m", "input": ["a", [1, 2]], "dimensions": 4});
    let response = client.post_json("/embeddings", two).await.json();
    let vector: Vec<f32> = serde_json::from_value(response["data"][1]["embedding"].clone()).unwrap();
    assert_eq!(vector, embedding_of(&json!([1, 2]), 4));
    let script = Script { embed_as: Some(EmbedAs::Base64), dimensions_ignored: true, ..Script::default() };
    let scripted = json!({"model": "m", "input": "a", "dimensions": 4, "fake": script});
    let text = client.post_json("/embeddings", scripted).await.json()["data"][0]["embedding"].clone();
    assert_eq!(text.as_str().unwrap().len(), (8 * 4_usize).div_ceil(3) * 4);
}

#[tokio::test]
async fn a_stopped_engine_restarts_on_its_port() {
    let mut engine = FakeEngine::start().await;
    let client = Client::new(engine.url());
    engine.script(Script { stall_after: Some(0), ..Script::default() });
    let open = client.open_stream("/chat/completions", stream()).await;
    engine.stop();
    let (events, clean) = open.rest().await;
    assert_eq!((events.len(), clean), (1, false), "the role chunk, then the end of the connection");
    assert!(client.try_send(http::Method::GET, "/models", bytes::Bytes::new()).await.is_err());
    assert!(!engine.calls()[0].cancelled);
    engine.restart();
    engine.set_health(503);
    assert_eq!(Client::new(engine.address()).get("/health").await.status, 503);
    assert_eq!(client.get("/models").await.json()["data"][0]["id"], "fake-model");
}

#[tokio::test]
async fn a_connection_can_close_without_notice() {
    let engine = FakeEngine::start().await;
    engine.script(Script { close_after_response: true, ..Script::default() });
    let body = chat().to_string();
    let head = format!("POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
    let response = send(engine.address(), (head + &body).as_bytes()).await;
    assert!(response.complete && response.header("connection").is_none(), "{}", response.head());
    let closed = engine.wait_until(TIMEOUT, |engine| engine.connections().open == 0).await;
    assert!(closed && engine.connections().accepted == 1);
}

#[tokio::test]
async fn responses_are_the_same_under_load() {
    let recording = FakeEngine::start().await;
    let quick = FakeEngine::for_load(([127, 0, 0, 1], 0).into(), 2).unwrap();
    for call in [chat(), stream()] {
        let expected = Client::new(recording.url()).post_json("/chat/completions", call.clone()).await.body;
        assert_eq!(Client::new(quick.url()).post_json("/chat/completions", call).await.body, expected);
    }
}
