use super::{client, create, error_line, events, message};
use crate::app::{EMBEDDING, TestApp, UPSTREAM_NAME};
use domain::NanoUsd;
use domain::usage::{Certainty, Tokens};
use http::Method;
use serde_json::json;
use testkit::fake_engine::Script;

#[tokio::test]
async fn every_bad_credential_gets_the_same_401_and_no_retry() {
    let app = TestApp::start().await;
    let other = app.key.replace("sk-", "sk-x");
    let mut bodies = Vec::new();
    for credentials in [
        &[][..],
        &[("x-api-key", "sk-x")],
        &[("x-api-key", other.as_str())],
        &[("authorization", "Bearer x")],
        &[("x-api-key", app.key.as_str()), ("authorization", "Bearer x")],
        &[("authorization", app.key.as_str())],
    ] {
        for path in ["/messages", "/messages/count_tokens"] {
            let client = credentials.iter().fold(app.stranger(), |client, (name, value)| client.header(name, value));
            let response = client.post_json(path, message("hi")).await;
            assert_eq!(error_line(&response), "401 authentication_error invalid_api_key", "{credentials:?}");
            assert_eq!(response.header("x-should-retry"), Some("false"));
            assert_eq!(response.header("www-authenticate"), Some("Bearer"));
            bodies.push(response.json()["error"].clone());
        }
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:#?}");
    let models = app.stranger().header("anthropic-version", "2023-06-01").get("/models").await;
    assert_eq!(error_line(&models), "401 authentication_error invalid_api_key");
    let both = app.client().header("x-api-key", &app.key);
    assert_eq!(both.post_json("/messages", message("hi")).await.status_line(), "200 OK");
    let chat =
        app.stranger().header("x-api-key", &app.key).post_json("/chat/completions", crate::app::chat("hi")).await;
    assert_eq!(crate::app::error_line(&chat), "401 invalid_api_key");
    assert_eq!(app.stranger().header("x-api-key", &app.key).get("/models").await.status_line(), "200 OK");
}

#[tokio::test]
async fn errors_have_the_categories_of_this_api() {
    let app = TestApp::setup().edge("body_limit = \"1KiB\"").start().await;
    let with = |member: &str, value: serde_json::Value| {
        let mut body = message("hi");
        body[member] = value;
        body
    };
    for (body, expected) in [
        (with("model", json!("acme/none")), "404 not_found_error model_not_found model"),
        (with("model", json!(EMBEDDING)), "400 invalid_request_error invalid_value model"),
        (with("max_tokens", json!(null)), "400 invalid_request_error missing_parameter max_tokens"),
        (with("temperature", json!(9)), "400 invalid_request_error invalid_value temperature"),
        (
            with("messages", json!([{"role": "user", "content": [{"type": "document"}]}])),
            "400 invalid_request_error invalid_value messages[0].content[0].type",
        ),
        (with("system", json!("x".repeat(2000))), "413 request_too_large payload_too_large"),
    ] {
        assert_eq!(error_line(&create(&app, body).await), expected);
    }
    let malformed = client(&app).post_bytes("/messages", "{").await;
    assert_eq!(error_line(&malformed), "400 invalid_request_error invalid_payload");
    let method = client(&app).send(Method::GET, "/messages", bytes::Bytes::new()).await;
    assert_eq!(error_line(&method), "405 invalid_request_error method_not_allowed");
    assert_eq!(method.header("allow"), Some("POST"));
    let form = client(&app).header("content-type", "multipart/form-data").post_bytes("/messages", "x").await;
    assert_eq!(error_line(&form), "415 invalid_request_error unsupported_media_type");
    assert!(app.engine().calls().is_empty());

    app.engine().push(Script { status: Some(500), ..Script::default() });
    assert_eq!(error_line(&create(&app, message("hi")).await), "502 api_error bad_gateway");
    app.engine().push(Script { status: Some(503), ..Script::default() });
    let busy = create(&app, message("hi")).await;
    assert_eq!(error_line(&busy), "503 overloaded_error model_not_serving");
    assert_eq!(busy.header("retry-after"), Some("5"));
}

#[tokio::test]
async fn limits_reject_with_429() {
    let app = TestApp::setup().workspace_limits(1, 1_000_000, 1_000_000_000).start().await;
    assert_eq!(create(&app, message("hi")).await.status_line(), "200 OK");
    let response = create(&app, message("hi")).await;
    assert_eq!(error_line(&response), "429 rate_limit_error rate_limit_exceeded");
    assert!(response.header("retry-after").is_some());
    assert_eq!(response.header("anthropic-ratelimit-requests-remaining"), Some("0"));
}

#[tokio::test]
async fn a_huge_limit_leaves_most_of_the_tokens_per_minute_to_others() {
    let app = TestApp::setup().workspace_limits(1_000, 3_000, 1_000_000_000).start().await;
    for _ in 0..3 {
        let mut body = message("hi");
        body["max_tokens"] = json!(128_000);
        assert_eq!(create(&app, body).await.status_line(), "200 OK");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_ends_with_an_error_event() {
    let app = TestApp::start().await;
    let events = events(&app, Script { chunks: 5, cut_after: Some(2), ..Script::default() }).await;
    let last = events.last().unwrap();
    assert!(last.raw.starts_with("event: error\n"), "{last:?}");
    let body = last.json();
    assert_eq!((&body["type"], &body["error"]["type"]), (&"error".into(), &"api_error".into()));
    assert!(body["request_id"].as_str().unwrap().starts_with("req_"), "{body}");
    assert!(!events.iter().any(|event| event.raw.contains("message_stop")));
    assert_eq!(app.usage(1).await[0].tokens.completion, 2);
}

/// One more than open the circuit breaker of a replica.
const MANY: usize = 6;

/// A response whose tool call has these arguments.
fn engine_response(arguments: &str, finish: &str) -> Script {
    let call = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}});
    let message = json!({"role": "assistant", "content": "Hi", "tool_calls": [call]});
    let choice = json!({"index": 0, "message": message, "finish_reason": finish});
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17});
    let body = json!({"id": "c", "model": UPSTREAM_NAME, "choices": [choice], "usage": usage}).to_string();
    Script { raw_body: Some(body), ..Script::default() }
}

#[tokio::test]
async fn tool_arguments_that_are_not_json_are_billed_once_and_not_blamed_on_the_engine() {
    let app = TestApp::setup().engines(2).start().await;
    app.engines.iter().for_each(|engine| engine.script(engine_response("{x", "tool_calls")));
    for _ in 0..2 * MANY {
        assert_eq!(error_line(&create(&app, message("hi")).await), "502 api_error bad_gateway");
    }
    assert_eq!(app.engines.iter().map(|engine| engine.calls().len()).sum::<usize>(), 2 * MANY, "nothing is retried");
    for event in app.usage(2 * MANY).await {
        let tokens = Tokens { prompt: 10, completion: 7, cached: 0 };
        assert_eq!((event.status, event.tokens, event.certainty), (502, tokens, Certainty::Exact));
        assert!(event.cost > NanoUsd::ZERO);
    }
}

#[tokio::test]
async fn streamed_tool_arguments_that_are_not_json_do_not_count_as_failures_of_the_engine() {
    let app = TestApp::start().await;
    let call = json!([{"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{x"}}]);
    let choice = json!({"index": 0, "delta": {"tool_calls": call}, "finish_reason": null});
    let chunk = json!({"id": "c", "created": 1, "choices": [choice]}).to_string();
    for _ in 0..MANY {
        let events = events(&app, Script { raw_events: Some(vec![chunk.clone()]), ..Script::default() }).await;
        assert!(events.last().unwrap().raw.starts_with("event: error\n"), "{events:#?}");
    }
    assert_eq!(create(&app, message("hi")).await.status_line(), "200 OK");
    let billed = app.usage(MANY + 1).await;
    assert!(billed.iter().all(|event| event.tokens.total() > 0), "{billed:#?}");
}

#[tokio::test]
async fn a_tool_call_that_the_limit_has_cut_is_left_out() {
    let app = TestApp::start().await;
    app.engine().push(engine_response("{\"path\":\"/et", "length"));
    let response = create(&app, message("hi")).await;
    assert_eq!(response.status_line(), "200 OK");
    let body = response.json();
    assert_eq!(body["stop_reason"], "max_tokens");
    assert_eq!(body["content"], json!([{"type": "text", "text": "Hi", "citations": []}]));
}
