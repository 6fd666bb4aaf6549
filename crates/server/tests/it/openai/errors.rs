//! Errors of engines, as clients see them.

use expect_test::expect;
use serde_json::json;
use testkit::fake_engine::{ErrorBody, Personality, Script};
use testkit::http::Event;

use crate::app::{CHAT, EMBEDDING, TestApp, chat, content, error_line, shown, stream, text, wait_until};

const RERANK: &str = "acme/rerank";

fn failing(status: u16) -> Script {
    Script { status: Some(status), ..Script::default() }
}

fn saying(status: u16, message: &str) -> Script {
    Script { error_message: Some(message.to_owned()), ..failing(status) }
}

/// The error of one chat whose engine follows the script.
async fn error_of(app: &TestApp, script: Script) -> String {
    app.engine().script(script);
    error_line(&app.chat("hi").await)
}

#[tokio::test]
async fn a_rejection_by_the_engine_is_passed_on_in_our_envelope() {
    let app = TestApp::start().await;
    for status in [400, 413, 422] {
        app.engine().push(saying(status, "top_k must be -1 or at least 1"));
        let response = app.chat("hi").await;
        assert_eq!(error_line(&response), format!("{status} invalid_value"));
        assert_eq!(response.json()["error"]["message"], "top_k must be -1 or at least 1");
        assert_eq!(response.json()["error"]["type"], "invalid_request_error");
    }
    app.engine().push(saying(400, "no"));
    expect![[r#"
        400 Bad Request
        content-length: 91
        content-type: application/json
        x-ratelimit-limit-requests: 1000000
        x-ratelimit-limit-tokens: 1000000000
        x-ratelimit-remaining-requests: …
        x-ratelimit-remaining-tokens: …
        x-ratelimit-reset-requests: …
        x-ratelimit-reset-tokens: …
        x-request-id: req_…

        {"error":{"type":"invalid_request_error","code":"invalid_value","message":"no","param":""}}
    "#]]
    .assert_eq(&shown(&app.chat("hi").await));
}

#[tokio::test]
async fn the_error_bodies_of_all_engines_are_understood() {
    let app = TestApp::start().await;
    for error_body in [ErrorBody::Vllm, ErrorBody::Sglang, ErrorBody::LlamaCpp] {
        app.engine().push(Script { error_body, ..saying(400, "too hot") });
        assert_eq!(app.chat("hi").await.json()["error"]["message"], "too hot");
    }
    for error_body in [ErrorBody::Raw("<html>".into()), ErrorBody::Raw(String::new()), ErrorBody::Bytes(vec![0xFF; 9])]
    {
        app.engine().push(Script { error_body, ..failing(422) });
        let response = app.chat("hi").await;
        assert_eq!(error_line(&response), "422 invalid_value");
        assert_eq!(response.json()["error"]["message"], "the model rejected the request");
    }
}

/// Capabilities know images only, and only once the engine was probed.
#[tokio::test]
async fn media_that_a_model_cannot_read_do_not_count_against_its_replica() {
    let app = TestApp::setup().engines(2).start().await;
    let parts = ["image_url", "input_audio", "video_url"];
    let script =
        Script { engine: Personality::LlamaServer, refused: parts.map(str::to_owned).to_vec(), ..Script::default() };
    app.engines.iter().for_each(|engine| engine.script(script.clone()));
    for part in parts {
        let content = json!([{"type": part, part: {"url": "data:,", "data": "AA==", "format": "wav"}}]);
        let body = json!({"model": CHAT, "messages": [{"role": "user", "content": content}]});
        let response = app.ask(body).await;
        assert_eq!(error_line(&response), "400 invalid_value", "{part}");
        assert!(response.text().contains("input is not supported"), "{}", response.text());
    }
    let calls: usize = app.engines.iter().map(|engine| engine.calls().len()).sum();
    assert_eq!(calls, parts.len(), "another engine would return the same");
}

#[tokio::test]
async fn a_prompt_above_the_context_length_has_its_own_code() {
    let app = TestApp::start().await;
    let vllm = "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens.";
    assert_eq!(error_of(&app, saying(400, vllm)).await, "400 context_length_exceeded");
    let llama =
        Script { error_body: ErrorBody::LlamaCpp, ..saying(400, "the request exceeds the available context size") };
    assert_eq!(error_of(&app, llama).await, "400 context_length_exceeded");
}

#[tokio::test]
async fn a_prompt_that_cannot_fit_reaches_no_engine() {
    let upstream = "upstreams = [ { url = \"http://127.0.0.1:1/v1\", model = \"ranker\" } ]";
    let ranker = format!("[[models]]\nid = \"{RERANK}\"\nmodality = \"rerank\"\ninput_per_1m = \"1.00\"\n{upstream}");
    let app = TestApp::setup().upstream("engine = \"vllm\"").table(&ranker).start().await;
    // 256 bytes for each token of the context, and some more.
    let (long, query) = ("word ".repeat(210_000), "word ".repeat(27_000));
    let many = vec![json!({"role": "user", "content": "x"}); 4_097];
    let messages = json!([{"role": "user", "content": long}]);
    let calls = [
        ("/chat/completions", chat(&long), "messages"),
        ("/chat/completions", stream(&long), "messages"),
        ("/chat/completions", json!({"model": CHAT, "messages": many}), "messages"),
        ("/completions", json!({"model": CHAT, "prompt": ["a", long]}), "prompt"),
        ("/completions", json!({"model": CHAT, "prompt": vec![1; 4_097]}), "prompt"),
        ("/embeddings", json!({"model": EMBEDDING, "input": ["a", query]}), "input"),
        ("/embeddings", json!({"model": EMBEDDING, "input": [vec![1; 513]]}), "input"),
        ("/rerank", json!({"model": RERANK, "query": query, "documents": ["a"]}), "query"),
        ("/score", json!({"model": RERANK, "queries": query, "documents": ["a", "b"]}), "queries"),
        ("/responses", json!({"model": CHAT, "input": long}), "messages"),
        ("/responses/input_tokens", json!({"model": CHAT, "input": long}), "messages"),
    ];
    for (path, body, param) in calls {
        let response = app.client().post_json(path, body).await;
        assert_eq!(error_line(&response), format!("400 context_length_exceeded {param}"), "{path}");
    }
    for path in ["/messages", "/messages/count_tokens"] {
        let body = json!({"model": CHAT, "max_tokens": 9, "messages": messages});
        let response = app.client().header("anthropic-version", "2023-06-01").post_json(path, body).await;
        let error = &response.json()["error"];
        assert_eq!((response.status.as_u16(), text(&error["code"])), (400, "context_length_exceeded"), "{path}");
        let message = text(&error["message"]);
        assert!(message.starts_with("prompt is too long: 26") && message.ends_with("> 4096 maximum"), "{message}");
    }
    let body = json!({"model": CHAT, "input": long, "stream": true});
    let failed = app.client().post_json("/responses", body).await.text();
    assert!(failed.contains("response.failed") && failed.contains("context_length_exceeded"), "{failed}");
    assert!(app.engine().calls().is_empty());

    let image = format!("data:image/png;base64,{}", "A".repeat(2 << 20));
    let parts = json!([{"type": "image_url", "image_url": {"url": image}}, {"type": "text", "text": "what is it?"}]);
    let photo = json!({"model": CHAT, "messages": [{"role": "user", "content": parts}]});
    assert_eq!(app.ask(photo).await.status_line(), "200 OK", "the bytes of an image are not its tokens");
}

#[tokio::test]
async fn configuration_errors_are_not_blamed_on_the_client() {
    let app = TestApp::setup().engines(2).start().await;
    for status in [401, 403, 404, 405, 409, 418] {
        app.engines.iter().for_each(|engine| engine.forget_calls());
        app.engines.iter().for_each(|engine| engine.script(saying(status, "sk-upstream is not good at 10.0.0.7")));
        let response = app.chat("hi").await;
        assert_eq!(error_line(&response), "502 bad_gateway", "{status}");
        assert!(!response.text().contains("10.0.0.7"), "{}", response.text());
        let calls: usize = app.engines.iter().map(|engine| engine.calls().len()).sum();
        assert_eq!(calls, 1, "another engine would return the same");
    }
}

#[tokio::test]
async fn a_busy_engine_is_a_503_with_its_retry_after() {
    let app = TestApp::start().await;
    for (status, retry_after, seen) in
        [(429, Some("7"), "7"), (503, Some("2"), "2"), (503, None, "5"), (429, Some("0"), "1"), (503, Some("x"), "5")]
    {
        app.engine().push(Script { retry_after: retry_after.map(str::to_owned), ..failing(status) });
        let response = app.chat("hi").await;
        assert_eq!(error_line(&response), "503 model_not_serving", "{status}");
        assert_eq!(response.header("retry-after"), Some(seen), "{status} {retry_after:?}");
    }
}

#[tokio::test]
async fn an_invalid_response_is_a_502() {
    let app = TestApp::start().await;
    let whole = |text: &str| Script { raw_body: Some(text.to_owned()), ..Script::default() };
    for script in [
        failing(500),
        failing(502),
        failing(504),
        failing(302),
        failing(201),
        Script { hang_up: true, ..Script::default() },
        Script { cut_after: Some(0), ..Script::default() },
        Script { wrong_json: true, ..Script::default() },
        Script { html: true, ..Script::default() },
        whole(""),
        whole("null"),
        whole("[]"),
        whole("{}"),
        whole(r#"{"choices":[]}"#),
        whole(r#"{"error":{"message":"out of memory at 10.0.0.7"}}"#),
        whole(r#"{"choices":[{"index":0}]} x"#),
    ] {
        app.engine().script(script.clone());
        // Different prompts: one that breaks two connections would be rejected.
        let response = app.chat(&format!("{script:?}")).await;
        assert_eq!(error_line(&response), "502 bad_gateway", "{script:?}");
        assert!(!response.text().contains("10.0.0.7"), "{}", response.text());
    }
    app.engine().script(Script::default());
    assert_eq!(app.chat("hi").await.status_line(), "200 OK", "and the next call is served");
}

#[tokio::test]
async fn an_engine_that_does_not_start_to_respond_is_a_408() {
    let app = TestApp::setup().edge("first_byte_timeout = \"200ms\"").start().await;
    for body in [chat("hi"), stream("hi")] {
        for script in [
            Script { delay_ms: 60_000, ..Script::default() },
            Script { stall_after: Some(0), no_role: true, ..Script::default() },
        ] {
            app.engine().push(script);
            let response = app.ask(body.clone()).await;
            assert_eq!(error_line(&response), "408 upstream_timeout");
            assert_eq!(response.json()["error"]["type"], "timeout_error");
            assert_eq!(response.header("retry-after"), Some("1"));
        }
    }
    assert!(app.engine().wait_until_idle(crate::app::TIMEOUT).await, "the engine stops");
}

/// Engines send the head of a stream at once, and its first event after queueing and prefill.
#[tokio::test]
async fn the_idle_timeout_does_not_apply_before_the_first_chunk() {
    let app = TestApp::setup().edge("first_byte_timeout = \"1s\"\nidle_timeout = \"100ms\"").start().await;
    app.engine().push(Script { stall_after: Some(0), no_role: true, ..Script::default() });
    let response = app.ask(stream("hi")).await;
    assert_eq!(error_line(&response), "408 upstream_timeout");
    assert_eq!(response.json()["error"]["message"], "the model did not respond within 1 s");
}

/// The events of a stream that must end with an error instead of `[DONE]`, and that error.
async fn broken_stream(app: &TestApp, script: Script) -> (Vec<Event>, String) {
    let mut events = app.events(script, stream("hi")).await;
    let error = events.pop().unwrap();
    assert!(!events.iter().any(Event::is_done), "{events:#?}");
    let members: Vec<String> = error.json()["error"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(members.len(), 4, "{error:?}");
    (events, error.raw)
}

#[tokio::test]
async fn a_stream_that_breaks_ends_with_an_error_and_without_done() {
    let app = TestApp::start().await;
    let cut = Script { chunks: 5, cut_after: Some(2), ..Script::default() };
    let (events, error) = broken_stream(&app, cut.clone()).await;
    assert_eq!(content(&events), "Hello Hello ");
    expect![[r#"data: {"error":{"type":"upstream_error","code":"bad_gateway","message":"the model server returned no usable response","param":""}}"#]]
    .assert_eq(&error);
    for script in [
        Script { wrong_json: true, ..Script::default() },
        Script { error_event_after: Some(1), status: Some(500), ..Script::default() },
        Script { finish_reason: "error".to_owned(), ..Script::default() },
        Script { split: Some(7), ..cut },
    ] {
        let (events, same) = broken_stream(&app, script.clone()).await;
        assert_eq!(same, error, "{script:?}");
        assert!(content(&events).starts_with("Hello "), "{script:?}");
    }
}

#[tokio::test]
async fn a_stream_that_ends_early_is_an_error_and_one_that_only_lacks_done_is_not() {
    let app = TestApp::start().await;
    let chunk = r#"{"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}"#;
    let script = Script { raw_events: Some(vec![chunk.to_owned()]), no_done: true, ..Script::default() };
    let (events, error) = broken_stream(&app, script).await;
    assert!(content(&events) == "a" && error.contains("bad_gateway"), "{error}");
    let events = app.events(Script { no_done: true, ..Script::default() }, stream("hi")).await;
    assert!(events.last().unwrap().is_done());
}

#[tokio::test]
async fn a_stream_that_stalls_ends_with_a_timeout() {
    let app = TestApp::setup().edge("idle_timeout = \"200ms\"").start().await;
    let script = Script { chunks: 5, stall_after: Some(2), ..Script::default() };
    let (events, error) = broken_stream(&app, script).await;
    assert_eq!(content(&events), "Hello Hello ");
    expect![[r#"data: {"error":{"type":"timeout_error","code":"upstream_timeout","message":"the model did not respond within 0.2 s","param":""}}"#]]
    .assert_eq(&error);
    assert!(app.engine().wait_until_cancelled(crate::app::TIMEOUT).await, "the engine is released");
    let slow = Script { chunks: 10, chunk_delay_ms: 60, ..Script::default() };
    assert_eq!(content(&app.events(slow, stream("hi")).await), "Hello ".repeat(10), "slow is not stalled");
}

/// vLLM keeps its connections after SIGTERM, and sends nothing more.
#[tokio::test]
async fn calls_at_a_replica_that_goes_down_do_not_wait_for_the_idle_timeout() {
    let app = TestApp::start().await;
    app.engine().script(Script { stall_after: Some(0), ..Script::default() });
    let goes_down = async {
        wait_until("both calls run", crate::app::TIMEOUT, async || app.engine().in_flight() == 2).await;
        app.engine().set_health(503);
    };
    let (streamed, whole, ()) = tokio::join!(app.ask(stream("hi")), app.ask(chat("hi")), goes_down);
    assert_eq!(error_line(&whole), "502 bad_gateway");
    assert!(
        streamed.text().contains(r#""code":"upstream_timeout","message":"the model did not respond within 5 s""#),
        "{}",
        streamed.text()
    );
}

#[tokio::test]
async fn a_response_that_stalls_is_a_408() {
    let app = TestApp::setup().edge("idle_timeout = \"200ms\"").start().await;
    assert_eq!(error_of(&app, Script { stall_after: Some(1), ..Script::default() }).await, "408 upstream_timeout");
}
