//! The checks of a request and their order.

use bytes::Bytes;
use expect_test::expect;
use http::Method;
use serde_json::{Value, json};

use crate::app::{EMBEDDING, TestApp, chat, error_line, shown};

/// A chat with these members changed; null removes one.
fn with(changes: &Value) -> Value {
    let mut body = chat("hi");
    for (name, value) in changes.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// The rules and their paths are tested where requests are parsed.
#[tokio::test]
async fn invalid_requests_are_reported_with_their_path() {
    let app = TestApp::start().await;
    let part = json!({"messages": [{"role": "user", "content": [{"type": "text", "text": 1}]}]});
    for (changes, expected) in [
        (json!({"temperature": 2.1}), "422 invalid_value temperature"),
        (json!({"stop": ["a", 1]}), "422 invalid_value stop[1]"),
        (part, "422 invalid_value messages[0].content[0].text"),
        (json!({"model": null}), "400 missing_parameter model"),
        (json!({"tools": [{"type": "function"}]}), "400 missing_parameter tools[0].function"),
        (json!({"Model": 1}), "400 invalid_payload Model"),
    ] {
        assert_eq!(error_line(&app.ask(with(&changes)).await), expected, "{changes}");
    }
    for (body, expected) in [
        (json!({"model": EMBEDDING}), "400 missing_parameter input"),
        (json!({"model": EMBEDDING, "input": [[1], [-1]]}), "422 invalid_value input[1][0]"),
    ] {
        assert_eq!(error_line(&app.embed(body.clone()).await), expected, "{body}");
    }
    let twice = r#"{"model":"a","model":"b","messages":[]}"#.as_bytes();
    for body in [&b"[]"[..], twice, b"{\"model\":\"\xFF\"}"] {
        let response = app.client().post_bytes("/chat/completions", Bytes::from_static(body)).await;
        assert_eq!(error_line(&response), "400 invalid_payload", "{}", String::from_utf8_lossy(body));
    }
    assert!(app.engine().calls().is_empty(), "no call reached the engine");
}

#[tokio::test]
async fn an_error_is_short_however_long_the_request() {
    let app = TestApp::start().await;
    let long = "x".repeat(1 << 20);
    for changes in [json!({"logit_bias": {long.as_str(): 1}}), json!({"model": long}), json!({"tool_choice": long})] {
        let response = app.ask(with(&changes)).await;
        assert!(response.status.is_client_error() && response.text().len() < 2_000, "{}", response.text().len());
    }
}

#[tokio::test]
async fn errors_have_one_envelope() {
    let app = TestApp::start().await;
    expect![[r#"
        404 Not Found
        content-length: 118
        content-type: application/json
        x-request-id: req_…

        {"error":{"type":"not_found_error","code":"model_not_found","message":"no model is called `a\"\\/b`","param":"model"}}
    "#]]
    .assert_eq(&shown(&app.ask(with(&json!({"model": "a\"\\/b"}))).await));
    expect![[r#"
        422 Unprocessable Entity
        content-length: 137
        content-type: application/json
        x-request-id: req_…

        {"error":{"type":"invalid_request_error","code":"invalid_value","message":"`temperature` must be between 0 and 2","param":"temperature"}}
    "#]]
    .assert_eq(&shown(&app.ask(with(&json!({"temperature": 9}))).await));
    expect![[r#"
        404 Not Found
        content-length: 107
        content-type: application/json
        x-request-id: req_…

        {"error":{"type":"not_found_error","code":"route_not_found","message":"there is no such route","param":""}}
    "#]]
    .assert_eq(&shown(&app.client().post_json("/audio/speech", json!({})).await));
}

/// Each request has all the errors of the later ones, and one more.
#[tokio::test]
async fn checks_run_in_the_documented_order() {
    let app = TestApp::setup().edge("body_limit = \"1KiB\"").start().await;
    let huge = || Bytes::from(vec![b'x'; 4_096]);
    let wrong_type = |client: testkit::http::Client| client.header("content-type", "multipart/form-data; boundary=x");

    let stranger = wrong_type(app.stranger());
    assert_eq!(error_line(&stranger.send(Method::PUT, "/nothing", huge()).await), "401 invalid_api_key");
    let client = wrong_type(app.client());
    assert_eq!(error_line(&client.send(Method::PUT, "/nothing", huge()).await), "404 route_not_found");
    assert_eq!(error_line(&client.send(Method::PUT, "/chat/completions", huge()).await), "405 method_not_allowed");
    assert_eq!(error_line(&client.post_bytes("/chat/completions", huge()).await), "415 unsupported_media_type");
    assert_eq!(error_line(&app.client().post_bytes("/chat/completions", huge()).await), "413 payload_too_large");

    // Not JSON; then without messages; then with an unknown model; then out of range; then of the other modality.
    let unreadable = r#"{"model":"none","temperature":9"#;
    assert_eq!(error_line(&app.client().post_bytes("/chat/completions", unreadable).await), "400 invalid_payload");
    let missing = json!({"model": "none", "temperature": 9});
    assert_eq!(error_line(&app.ask(missing).await), "400 missing_parameter messages");
    assert_eq!(
        error_line(&app.ask(with(&json!({"model": "none", "temperature": 9}))).await),
        "404 model_not_found model"
    );
    let both = with(&json!({"model": EMBEDDING, "temperature": 9}));
    assert_eq!(error_line(&app.ask(both).await), "422 invalid_value temperature");
    assert_eq!(error_line(&app.ask(with(&json!({"model": 7}))).await), "422 invalid_value model");
}
