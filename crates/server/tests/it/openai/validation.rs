//! The checks of a request and their order.

use bytes::Bytes;
use expect_test::expect;
use http::Method;
use serde_json::{Value, json};

use crate::app::{CHAT, EMBEDDING, TestApp, chat, error_line, shown};

/// A chat with these members changed; null removes one.
fn with(changes: &Value) -> Value {
    let mut body = chat("hi");
    for (name, value) in changes.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

#[tokio::test]
async fn invalid_values_are_reported_with_their_path() {
    let app = TestApp::start().await;
    let message = |message: Value| json!({"messages": [{"role": "user", "content": "hi"}, message]});
    for (changes, param) in [
        (json!({"temperature": 2.1}), "temperature"),
        (json!({"temperature": "1"}), "temperature"),
        (json!({"top_p": -0.1}), "top_p"),
        (json!({"n": 0}), "n"),
        (json!({"n": 129}), "n"),
        (json!({"n": 1.5}), "n"),
        (json!({"max_tokens": 0}), "max_tokens"),
        (json!({"max_completion_tokens": -1}), "max_completion_tokens"),
        (json!({"presence_penalty": 3}), "presence_penalty"),
        (json!({"frequency_penalty": -2.5}), "frequency_penalty"),
        (json!({"stop": ["a", 1]}), "stop[1]"),
        (json!({"stop": []}), "stop"),
        (json!({"stop": ["a", "b", "c", "d", "e"]}), "stop"),
        (json!({"stream": "yes"}), "stream"),
        (json!({"stream": true, "stream_options": []}), "stream_options"),
        (json!({"stream": true, "stream_options": {"include_usage": 1}}), "stream_options.include_usage"),
        (json!({"logit_bias": {"50256": 101}}), "logit_bias.50256"),
        (json!({"logit_bias": {"x": 1}}), "logit_bias.x"),
        (json!({"logprobs": 1}), "logprobs"),
        (json!({"logprobs": true, "top_logprobs": 21}), "top_logprobs"),
        (json!({"top_logprobs": 2}), "top_logprobs"),
        (json!({"seed": 1.5}), "seed"),
        (json!({"tools": {}}), "tools"),
        (json!({"tools": [7]}), "tools[0]"),
        (json!({"tools": [{"type": "magic"}]}), "tools[0].type"),
        (json!({"tools": [{"type": "function", "function": {"name": "a b"}}]}), "tools[0].function.name"),
        (json!({"tool_choice": "always"}), "tool_choice"),
        (json!({"parallel_tool_calls": "no"}), "parallel_tool_calls"),
        (json!({"response_format": {"type": "xml"}}), "response_format.type"),
        (json!({"reasoning_effort": "much"}), "reasoning_effort"),
        (json!({"verbosity": "loud"}), "verbosity"),
        (json!({"service_tier": "gold"}), "service_tier"),
        (json!({"messages": []}), "messages"),
        (json!({"messages": "hi"}), "messages"),
        (message(json!("hi")), "messages[1]"),
        (message(json!({"role": "wizard", "content": "hi"})), "messages[1].role"),
        (message(json!({"role": 1, "content": "hi"})), "messages[1].role"),
        (message(json!({"role": "user", "content": 1})), "messages[1].content"),
        (message(json!({"role": "user", "content": [{"type": "text", "text": 1}]})), "messages[1].content[0].text"),
        (message(json!({"role": "assistant", "tool_calls": {}})), "messages[1].tool_calls"),
    ] {
        let response = app.ask(with(&changes)).await;
        assert_eq!(error_line(&response), format!("422 invalid_value {param}"), "{changes}");
    }
    assert!(app.engine().calls().is_empty(), "no call reached the engine");
}

#[tokio::test]
async fn missing_members_are_reported_and_null_counts_as_missing() {
    let app = TestApp::start().await;
    for (changes, param) in [
        (json!({"model": null}), "model"),
        (json!({"messages": null}), "messages"),
        (json!({"messages": [{"content": "hi"}]}), "messages[0].role"),
        (json!({"messages": [{"role": "user"}]}), "messages[0].content"),
        (json!({"messages": [{"role": "tool", "content": "4"}]}), "messages[0].tool_call_id"),
        (json!({"messages": [{"role": "user", "content": [{"text": "a"}]}]}), "messages[0].content[0].type"),
        (json!({"tools": [{"type": "function"}]}), "tools[0].function"),
        (json!({"response_format": {"type": "json_schema"}}), "response_format.json_schema"),
    ] {
        let response = app.ask(with(&changes)).await;
        assert_eq!(error_line(&response), format!("400 missing_parameter {param}"), "{changes}");
    }
    for (body, expected) in [
        (json!({}), "400 missing_parameter model"),
        (json!({"model": EMBEDDING}), "400 missing_parameter input"),
        (json!({"model": EMBEDDING, "input": null}), "400 missing_parameter input"),
        (json!({"model": EMBEDDING, "input": ""}), "422 invalid_value input"),
        (json!({"model": EMBEDDING, "input": []}), "422 invalid_value input"),
        (json!({"model": EMBEDDING, "input": ["a", ""]}), "422 invalid_value input[1]"),
        (json!({"model": EMBEDDING, "input": ["a", 1]}), "422 invalid_value input[1]"),
        (json!({"model": EMBEDDING, "input": [[1], [-1]]}), "422 invalid_value input[1][0]"),
        (json!({"model": EMBEDDING, "input": vec!["a"; 2049]}), "422 invalid_value input"),
        (json!({"model": EMBEDDING, "input": "a", "encoding_format": "hex"}), "422 invalid_value encoding_format"),
        (json!({"model": EMBEDDING, "input": "a", "dimensions": 0}), "422 invalid_value dimensions"),
    ] {
        assert_eq!(error_line(&app.embed(body.clone()).await), expected, "{body}");
    }
}

#[tokio::test]
async fn requests_of_real_clients_are_accepted() {
    let app = TestApp::start().await;
    for changes in [
        json!({"temperature": null, "top_p": null, "n": null, "stop": null, "stream": null, "stream_options": null,
            "logit_bias": null, "seed": null, "tools": null, "tool_choice": null, "response_format": null, "user": null}),
        json!({"temperature": 0, "top_p": 1, "n": 128, "stop": "END", "max_tokens": 1, "max_completion_tokens": 9}),
        json!({"logprobs": true, "top_logprobs": 20, "logit_bias": {"5": -100}, "seed": -1}),
        json!({"messages": [{"role": "developer", "content": "a"}, {"role": "assistant", "content": null,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "4"}, {"role": "assistant", "refusal": "no"}]}),
        json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}, {"type": "video_url", "x": 1}]}]}),
        json!({"tools": [{"type": "function", "function": {"name": "get_weather-2", "parameters": {}}}, {"type": "custom"}],
            "tool_choice": {"type": "function", "function": {"name": "get_weather-2"}}}),
        json!({"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}}),
    ] {
        assert_eq!(app.ask(with(&changes)).await.status_line(), "200 OK", "{changes}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_one_json_object_is_rejected() {
    let app = TestApp::start().await;
    let deep = format!(r#"{{"model":"{CHAT}","messages":{}{}}}"#, "[".repeat(20_000), "]".repeat(20_000));
    let good = chat("hi").to_string();
    for body in [
        "",
        " ",
        "null",
        "[]",
        "\"hi\"",
        "{",
        "{'model':1}",
        r#"{"model":NaN}"#,
        r#"{"model":"a",}"#,
        r#"{"model":"\ud800"}"#,
        r#"{"a":1e400,"model":01}"#,
        &format!("{good} x"),
        &format!("{good}{good}"),
        r#"{"model":"a","model":"b","messages":[]}"#,
        &deep,
    ] {
        let response = app.client().post_bytes("/chat/completions", body.to_owned()).await;
        let start: String = body.chars().take(40).collect();
        assert_eq!(error_line(&response), "400 invalid_payload", "{start}");
    }
    let not_text = Bytes::from_static(b"{\"model\":\"\xFF\"}");
    assert_eq!(error_line(&app.client().post_bytes("/chat/completions", not_text).await), "400 invalid_payload");
}

#[tokio::test]
async fn names_that_a_model_server_could_read_differently_are_rejected() {
    let app = TestApp::start().await;
    for name in ["Model", "MESSAGES", "Max_Tokens", "N", "\u{17f}tream", "max_to\u{212a}ens"] {
        let response = app.ask(with(&json!({name: 1}))).await;
        assert_eq!(error_line(&response), format!("400 invalid_payload {name}"));
    }
    let embedding = json!({"model": EMBEDDING, "input": "a", "Input": "b"});
    assert_eq!(error_line(&app.embed(embedding).await), "400 invalid_payload Input");

    let mut many = chat("hi");
    (0..254).for_each(|index| many[format!("member-{index}")] = json!(index));
    assert_eq!(app.ask(many.clone()).await.status_line(), "200 OK");
    many["one more"] = json!(1);
    assert_eq!(error_line(&app.ask(many).await), "400 invalid_payload");
    assert_eq!(app.engine().calls().len(), 1);
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
async fn a_byte_order_mark_is_skipped_and_nested_duplicates_are_accepted() {
    let app = TestApp::start().await;
    for body in [
        format!("\u{FEFF}{}", chat("hi")),
        chat("hi").to_string().replace("\"hi\"", r#""a\u0000","name":"x","name":"y""#),
    ] {
        let response = app.client().post_bytes("/chat/completions", body.clone()).await;
        assert_eq!(response.status_line(), "200 OK", "{body}");
    }
    assert!(app.engine().calls()[0].body.starts_with(b"{"));
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
