//! Chats that are not streamed.

use std::collections::BTreeMap;

use expect_test::expect;
use serde_json::{Value, json};
use testkit::fake_engine::Script;

use crate::app::{CHAT, TestApp, UPSTREAM_NAME, chat, error_line, shown};

#[tokio::test]
async fn a_chat_response_has_the_requested_model_name() {
    let app = TestApp::start().await;
    expect![[r#"
        200 OK
        content-length: 343
        content-type: application/json
        x-ratelimit-limit-requests: 1000000
        x-ratelimit-limit-tokens: 1000000000
        x-ratelimit-remaining-requests: …
        x-ratelimit-remaining-tokens: …
        x-ratelimit-reset-requests: …
        x-ratelimit-reset-tokens: …
        x-request-id: req_…

        {"id":"chatcmpl-fake","object":"chat.completion","created":1700000000,"model":"acme/tiny","choices":[{"index":0,"message":{"role":"assistant","content":"Hello Hello Hello ","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens_details":{"cached_tokens":0},"prompt_tokens":10,"completion_tokens":3,"total_tokens":13}}
    "#]]
    .assert_eq(&shown(&app.chat("hi").await));
    assert_eq!(app.engine().calls()[0].json()["model"], UPSTREAM_NAME);
}

#[tokio::test]
async fn a_request_reaches_the_engine_byte_for_byte() {
    let app = TestApp::start().await;
    let body = r#" {"seed" : 9223372036854775807,"zzz":{"big":18446744073709551616123,"deep":[1.10,-0.0,1E+2,{"a":{}}]},
        "top_k":-1,	"messages":[ {"role":"user","content":"\u00e9\ud83d\ude42é🙂\u0000","x":1e-7,"x":2} ] ,
        "model" :"acme/tiny", "temperature":1.0,"stop":null, "max_tokens":5,"chat_template_kwargs":{"enable_thinking":false}} "#;
    let response = app.client().post_bytes("/chat/completions", body).await;
    assert_eq!(response.status_line(), "200 OK");
    let expected = body.replace("\"acme/tiny\"", &format!("\"{UPSTREAM_NAME}\""));
    assert_eq!(String::from_utf8_lossy(&app.engine().calls()[0].body), expected);
}

#[tokio::test]
async fn a_large_prompt_reaches_the_engine_byte_for_byte() {
    let app = TestApp::setup().context_length(1_000_000).start().await;
    for size in [15_000, 17_000, 2_000_000] {
        app.engine().forget_calls();
        let mut body = chat(&"π".repeat(size / 2));
        body["max_tokens"] = json!(5);
        let body = body.to_string();
        let response = app.client().post_bytes("/chat/completions", body.clone()).await;
        assert_eq!(response.status_line(), "200 OK");
        let expected = body.replace(&format!("\"{CHAT}\""), &format!("\"{UPSTREAM_NAME}\""));
        assert!(app.engine().calls()[0].body == expected.as_bytes(), "{size} bytes arrived changed");
    }
}

#[tokio::test]
async fn members_that_only_the_engine_knows_reach_the_client_byte_for_byte() {
    let app = TestApp::start().await;
    let body = r#"{ "id":"x","object":"chat.completion","created":1,"model":"tiny-q4","service_tier":null,
        "choices":[{"index":0,"message":{"role":"assistant","content":"\ud83d\ude42","reasoning":null,"refusal":null,
        "tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
        "finish_reason":"tool_calls","stop_reason":18446744073709551616,"token_ids":[1,2]}],
        "usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"reasoning_tokens":1,
        "prompt_tokens_details":{"cached_tokens":0,"x":1}},"timings":{"ms":1.50}}"#;
    app.engine().push(Script { raw_body: Some(body.to_owned()), ..Script::default() });
    assert_eq!(app.chat("hi").await.text(), body.replace("\"tiny-q4\"", "\"acme/tiny\""));
}

#[tokio::test]
async fn a_finish_reason_is_always_one_of_the_five_known_ones() {
    let app = TestApp::start().await;
    for (engine_sends, client_sees) in [
        ("stop", "stop"),
        ("length", "length"),
        ("tool_calls", "tool_calls"),
        ("content_filter", "content_filter"),
        ("function_call", "function_call"),
        ("abort", "length"),
        ("eos", "stop"),
    ] {
        app.engine().push(Script { finish_reason: engine_sends.to_owned(), ..Script::default() });
        assert_eq!(app.chat("hi").await.json()["choices"][0]["finish_reason"], client_sees, "{engine_sends}");
    }
    for (finish_reason, chunks) in [("error", 3), ("abort", 0)] {
        app.engine().push(Script { finish_reason: finish_reason.to_owned(), chunks, ..Script::default() });
        assert_eq!(error_line(&app.chat("hi").await), "502 bad_gateway", "{finish_reason}");
    }
    let unfinished = r#"{"id":"x","object":"chat.completion","created":1,"model":"m",
        "choices":[{"index":0,"message":{"content":"a"},"finish_reason":null}]}"#;
    app.engine().push(Script { raw_body: Some(unfinished.to_owned()), ..Script::default() });
    let choice = app.chat("hi").await.json()["choices"][0].clone();
    assert_eq!((&choice["finish_reason"], &choice["message"]["role"]), (&json!("stop"), &json!("assistant")));
}

#[tokio::test]
async fn usage_adds_up_and_every_choice_is_returned() {
    let app = TestApp::start().await;
    let wrong_sum = r#"{"id":"x","object":"chat.completion","created":1,"model":"m",
        "choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":99}}"#;
    app.engine().push(Script { raw_body: Some(wrong_sum.to_owned()), ..Script::default() });
    assert_eq!(app.chat("hi").await.json()["usage"]["total_tokens"], 7);

    let mut body = chat("hi");
    body["n"] = json!(3);
    let response = app.ask(body).await.json();
    let indexes: Vec<&Value> = response["choices"].as_array().unwrap().iter().map(|choice| &choice["index"]).collect();
    assert_eq!(indexes, [0, 1, 2]);

    app.engine().push(Script { no_usage: true, ..Script::default() });
    assert!(app.chat("hi").await.json().get("usage").is_none(), "no usage is made up");
}

#[tokio::test]
async fn huge_responses_arrive_complete() {
    let app = TestApp::start().await;
    for script in [
        Script { huge_bytes: 20 << 20, ..Script::default() },
        Script { huge_bytes: 3 << 20, chunked: true, ..Script::default() },
        Script { huge_bytes: 300_000, split: Some(1_000), ..Script::default() },
    ] {
        let expected = script.text.repeat(script.chunks).len() + script.huge_bytes;
        app.engine().push(script);
        let response = app.chat("hi").await.json();
        assert_eq!(response["choices"][0]["message"]["content"].as_str().unwrap().len(), expected);
    }
}

#[tokio::test]
async fn only_forwarded_headers_reach_the_engine() {
    let setup = TestApp::setup().upstream("api_key_env = \"TINY_KEY\"").environment("TINY_KEY", "sk-upstream");
    let app = setup.start().await;
    let client = app.client().header("cookie", "forebay_session=secret").header("x-api-key", "other-secret");
    let client = client.header("openai-organization", "org").header("x-forwarded-for", "10.0.0.1");
    let client = client.header("accept-encoding", "gzip").header("user-agent", "OpenAI/Python 2.54.0");
    let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let response = client.header("traceparent", traceparent).post_json("/chat/completions", chat("hi")).await;
    assert_eq!(response.status_line(), "200 OK");
    let call = &app.engine().calls()[0];
    let mut names: Vec<&str> = call.headers.keys().map(|name| name.as_str()).collect();
    names.sort_unstable();
    let expected =
        ["authorization", "content-length", "content-type", "host", "traceparent", "user-agent", "x-request-id"];
    assert_eq!(names, expected);
    assert_eq!(call.header("authorization"), Some("Bearer sk-upstream"));
    assert_eq!(call.header("x-request-id"), response.header("x-request-id"));
    assert_eq!(call.header("traceparent"), Some(traceparent));
    assert!(call.header("user-agent").unwrap().starts_with("forebay/"));
}

#[tokio::test]
async fn an_upstream_without_a_key_gets_no_authorization() {
    let app = TestApp::start().await;
    app.chat("hi").await;
    assert_eq!(app.engine().calls()[0].header("authorization"), None);
}

#[tokio::test]
async fn headers_of_the_engine_are_not_passed_on() {
    let app = TestApp::start().await;
    let inside = [("set-cookie", "a=b"), ("server", "uvicorn"), ("x-secret", "1"), ("x-request-id", "theirs")];
    let headers: BTreeMap<_, _> = inside.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    app.engine().push(Script { headers, ..Script::default() });
    let response = app.chat("hi").await;
    let mut names: Vec<&str> = response.headers.keys().map(|name| name.as_str()).collect();
    names.sort_unstable();
    let names: Vec<_> = names.iter().filter(|name| !name.starts_with("x-ratelimit-")).collect();
    assert_eq!(names, [&"content-length", &"content-type", &"date", &"x-request-id"]);
    assert!(response.header("x-request-id").unwrap().starts_with("req_"));
}

#[tokio::test]
async fn closed_idle_connections_cause_no_errors() {
    let app = TestApp::start().await;
    app.engine().script(Script { close_after_response: true, ..Script::default() });
    for _ in 0..40 {
        assert_eq!(app.chat("hi").await.status_line(), "200 OK");
    }
    assert_eq!(app.engine().calls().len(), 40);
}

#[tokio::test]
async fn connections_to_the_engine_are_reused() {
    let app = TestApp::start().await;
    for _ in 0..40 {
        app.chat("hi").await;
    }
    let cores = std::thread::available_parallelism().unwrap().get();
    let accepted = app.engine().connections().accepted;
    assert!(accepted < cores + 20, "{accepted} connections for 40 calls, including health probes");
}

#[tokio::test]
async fn a_model_may_be_written_with_escapes() {
    let app = TestApp::start().await;
    let body = chat("hi").to_string().replace("acme/tiny", "acme\\/t\\u0069ny");
    let response = app.client().post_bytes("/chat/completions", body).await;
    assert_eq!((response.status_line().as_str(), &response.json()["model"]), ("200 OK", &json!(CHAT)));
    assert_eq!(app.engine().calls()[0].json()["model"], UPSTREAM_NAME);
}

#[tokio::test]
async fn a_compressed_response_is_not_passed_on() {
    let app = TestApp::start().await;
    let headers = BTreeMap::from([("content-encoding".to_owned(), "gzip".to_owned())]);
    app.engine().push(Script { headers, ..Script::default() });
    assert_eq!(error_line(&app.chat("hi").await), "502 bad_gateway", "gzip was not requested");
}
