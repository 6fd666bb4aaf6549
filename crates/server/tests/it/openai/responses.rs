//! Responses, over engines that only speak chat.

use crate::app::{CHAT, EMBEDDING, TestApp, UPSTREAM_NAME, error_line, events_of, text, types};
use domain::usage::{CallOrigin, CallSurface, Certainty, Tokens};
use expect_test::expect;
use serde_json::{Value, json};
use testkit::fake_engine::Script;
use testkit::http::{Event, Response};

fn request(input: &str) -> Value {
    json!({"model": CHAT, "input": input})
}

/// A request with one more member.
fn with(member: &str, value: Value) -> Value {
    let mut body = request("hi");
    body[member] = value;
    body
}

async fn create(app: &TestApp, body: Value) -> Response {
    app.client().post_json("/responses", body).await
}

/// The events of a stream, with the engine following the script.
async fn events(app: &TestApp, script: Script) -> Vec<Event> {
    app.engine().push(script);
    events_of(&app.client(), "/responses", with("stream", json!(true))).await
}

#[tokio::test]
async fn a_response_is_one_chat_call() {
    let app = TestApp::start().await;
    app.engine().push(Script { cached_tokens: Some(4), ..Script::default() });
    let mut body = with("instructions", json!("Be brief."));
    body["max_output_tokens"] = json!(64);
    body["store"] = json!(true);
    let response = create(&app, body).await;
    assert_eq!(response.status_line(), "200 OK");
    let received = response.json();
    assert!(text(&received["id"]).starts_with("resp_"), "{received}");
    assert!(received["created_at"].as_u64() <= received["completed_at"].as_u64(), "{received}");
    assert_eq!((&received["model"], &received["store"]), (&CHAT.into(), &false.into()));
    let item = &received["output"][0];
    assert_eq!((&item["type"], &item["content"][0]["text"]), (&"message".into(), &"Hello Hello Hello ".into()));
    expect![[r#"{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":13}"#]]
        .assert_eq(&received["usage"].to_string());

    let calls = app.engine().calls();
    let sent = calls[0].json();
    assert_eq!((calls.len(), calls[0].path.as_str()), (1, "/v1/chat/completions"));
    assert_eq!((&sent["model"], &sent["max_tokens"]), (&UPSTREAM_NAME.into(), &64.into()));
    let messages = json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]);
    assert_eq!(sent["messages"], messages);

    let events = app.usage(1).await;
    let tokens = Tokens { prompt: 10, completion: 3, cached: 4 };
    assert_eq!((events[0].model.as_str(), events[0].tokens, events[0].certainty), (CHAT, tokens, Certainty::Exact));
    assert_eq!(events[0].origin, CallOrigin { surface: Some(CallSurface::Responses), ..CallOrigin::default() });
}

#[tokio::test]
async fn the_same_call_costs_the_same_as_chat() {
    let app = TestApp::start().await;
    app.chat("hi").await;
    create(&app, request("hi")).await;
    events(&app, Script::default()).await;
    let bills: Vec<_> = app.usage(3).await.into_iter().map(|event| (event.model, event.tokens, event.cost)).collect();
    assert!(bills.iter().all(|bill| *bill == bills[0]), "{bills:?}");
}

#[tokio::test]
async fn a_stream_is_one_of_events() {
    let app = TestApp::start().await;
    let events = events(&app, Script { comments: true, ..Script::default() }).await;
    let events: Vec<Event> = events.into_iter().filter(|event| event.raw.starts_with("event: ")).collect();
    let expected = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(types(&events), expected);
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event.json()["sequence_number"], number);
    }
    let last = events.last().unwrap().json();
    assert_eq!(last["response"]["output"][0]["content"][0]["text"], "Hello Hello Hello ");
    assert_eq!(last["response"]["usage"]["total_tokens"], 13);
    assert_eq!(app.engine().calls()[0].json()["stream_options"]["include_usage"], true);
    assert_eq!(app.usage(1).await[0].tokens, Tokens { prompt: 10, completion: 3, cached: 0 });
}

fn chunk(delta: &Value, finish: Option<&str>) -> String {
    json!({"id": "c", "created": 1, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).to_string()
}

#[tokio::test]
async fn a_tool_loop() {
    let app = TestApp::start().await;
    let call =
        json!([{"index": 0, "id": "c1", "type": "function", "function": {"name": "ns__read", "arguments": "{\"p\""}}]);
    let rest = json!([{"index": 0, "function": {"arguments": ":1}"}}]);
    app.engine().push(Script {
        raw_events: Some(vec![
            chunk(&json!({"role": "assistant", "reasoning": "hm"}), None),
            chunk(&json!({"tool_calls": call}), None),
            chunk(&json!({"tool_calls": rest}), None),
            chunk(&json!({}), Some("tool_calls")),
        ]),
        ..Script::default()
    });
    let tools = json!([{"type": "namespace", "name": "ns", "tools": [{"type": "function", "name": "read"}]},
        {"type": "web_search"}]);
    let mut body = with("tools", tools.clone());
    body["stream"] = json!(true);
    let stream = app.client().open_stream("/responses", body).await;
    let (events, _) = stream.rest().await;
    let output = events.last().unwrap().json()["response"]["output"].clone();
    let [reasoning, called] = &output.as_array().unwrap()[..] else { panic!("{output}") };
    assert_eq!((&called["name"], &called["namespace"]), (&json!("read"), &json!("ns")));
    assert_eq!((&called["call_id"], &called["arguments"]), (&json!("c1"), &json!("{\"p\":1}")));

    let result = json!({"type": "function_call_output", "call_id": "c1", "output": "one"});
    let mut body = with("input", json!([{"role": "user", "content": "hi"}, reasoning, called, result]));
    body["tools"] = tools;
    assert_eq!(create(&app, body).await.status_line(), "200 OK");
    let sent = app.engine().calls()[1].json();
    assert_eq!(sent["tools"].as_array().unwrap().len(), 1);
    let turn = &sent["messages"][1];
    assert_eq!(
        (&turn["reasoning_content"], &turn["tool_calls"][0]["function"]["name"]),
        (&json!("hm"), &json!("ns__read"))
    );
    assert_eq!(sent["messages"][2], json!({"role": "tool", "tool_call_id": "c1", "content": "one"}));
}

fn too_long() -> Script {
    let message = "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.";
    Script { status: Some(400), error_message: Some(message.into()), ..Script::default() }
}

#[tokio::test]
async fn a_prompt_that_is_too_long_fails_a_stream_with_an_event() {
    let app = TestApp::start().await;
    app.engine().push(too_long());
    let events = events(&app, too_long()).await;
    assert_eq!(types(&events), ["response.created", "response.in_progress", "response.failed"]);
    let response = events.last().unwrap().json()["response"].clone();
    assert_eq!(
        (&response["status"], &response["error"]["code"]),
        (&json!("failed"), &json!("context_length_exceeded"))
    );

    app.engine().push(too_long());
    app.engine().push(too_long());
    assert_eq!(error_line(&create(&app, request("hi")).await), "400 context_length_exceeded");
    assert!(app.usage(0).await.iter().all(|event| event.tokens == Tokens::default()), "nothing was generated");
}

#[tokio::test]
async fn a_stream_that_reports_a_prompt_that_is_too_long_fails_with_the_same_event() {
    let app = TestApp::setup().engines(2).start().await;
    // A call without a limit is first sent with one of ours, and again without it to the same replica.
    let at_once = Script { status: None, no_role: true, error_event_after: Some(0), ..too_long() };
    let later = Script { status: None, error_event_after: Some(1), ..too_long() };
    for (script, attempts) in [(at_once, 1..=2), (later, 1..=1)] {
        for engine in &app.engines {
            engine.forget_calls();
            engine.script(script.clone());
        }
        let stream = app.client().open_stream("/responses", with("stream", json!(true))).await;
        assert_eq!(stream.status, 200, "{script:?}");
        let (events, _) = stream.rest().await;
        let last = events.last().unwrap().json();
        assert_eq!(
            (&last["type"], &last["response"]["error"]["code"]),
            (&json!("response.failed"), &json!("context_length_exceeded"))
        );
        let mut calls: Vec<usize> = app.engines.iter().map(|engine| engine.calls().len()).collect();
        calls.sort_unstable();
        assert!(calls[0] == 0 && attempts.contains(&calls[1]), "it is not sent to another replica: {calls:?}");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_ends_with_a_failed_response() {
    let app = TestApp::start().await;
    let events = events(&app, Script { chunks: 5, cut_after: Some(2), ..Script::default() }).await;
    let last = events.last().unwrap();
    assert!(last.raw.starts_with("event: response.failed\n"), "{last:?}");
    let body = last.json();
    assert_eq!(body["sequence_number"], events.len() - 1);
    assert_eq!(body["response"]["error"]["code"], "server_error");
    assert_eq!(body["response"]["output"][0]["content"][0]["text"], "Hello Hello ");
    assert!(!events.iter().any(|event| event.raw.contains("response.completed") || event.raw.contains("[DONE]")));
    assert_eq!(app.usage(1).await[0].tokens.completion, 2);
}

#[tokio::test]
async fn a_cut_by_length_is_incomplete() {
    let app = TestApp::start().await;
    app.engine().push(Script { finish_reason: "length".into(), ..Script::default() });
    let response = create(&app, request("hi")).await.json();
    assert_eq!(response["status"], "incomplete");
    assert_eq!(response["incomplete_details"], json!({"reason": "max_output_tokens"}));
    let events = events(&app, Script { finish_reason: "length".into(), ..Script::default() }).await;
    assert_eq!(events.last().unwrap().json()["type"], "response.incomplete");
}

#[tokio::test]
async fn errors_before_the_first_event_are_http_errors() {
    let app = TestApp::start().await;
    for (body, expected) in [
        (with("model", json!("acme/none")), "404 model_not_found model"),
        (with("model", json!(EMBEDDING)), "422 invalid_value model"),
        (with("input", json!(null)), "400 missing_parameter input"),
        (with("input", json!([{"type": "computer_call"}])), "400 invalid_payload input[0].type"),
        (with("background", json!(true)), "422 invalid_value background"),
        (with("temperature", json!(9)), "422 invalid_value temperature"),
        (with("previous_response_id", json!("resp_1")), "404 previous_response_not_found previous_response_id"),
        (with("input", json!([{"type": "item_reference", "id": "msg_1"}])), "404 response_not_found input[0].id"),
    ] {
        for stream in [false, true] {
            let mut body = body.clone();
            body["stream"] = json!(stream);
            assert_eq!(error_line(&create(&app, body.clone()).await), expected, "{body}");
        }
    }
    assert!(app.engine().calls().is_empty());
    let reference = create(&app, with("input", json!([{"type": "item_reference", "id": "msg_1"}]))).await;
    assert!(text(&reference.json()["error"]["message"]).contains("providerOptions.openai.store = false"));
    app.engine().push(Script { status: Some(503), ..Script::default() });
    assert_eq!(error_line(&create(&app, with("stream", json!(true))).await), "503 model_not_serving");
    assert_eq!(app.client().get("/responses").await.header("allow"), Some("POST"));
}

#[tokio::test]
async fn calls_with_the_same_cache_key_name_the_same_session() {
    let app = TestApp::start().await;
    create(&app, with("prompt_cache_key", json!("thread-1"))).await;
    assert_eq!(app.engine().calls()[0].json()["prompt_cache_key"], "thread-1");
}

#[tokio::test]
async fn the_tokens_of_an_input_are_counted() {
    let app = TestApp::start().await;
    let response = app.client().post_json("/responses/input_tokens", request(&"x".repeat(4_000))).await;
    let counted = response.json();
    assert_eq!(counted["object"], "response.input_tokens");
    assert!((1_000..1_050).contains(&counted["input_tokens"].as_u64().unwrap()), "{counted}");
    assert_eq!(response.header("x-forebay-estimate"), Some("true"));
    assert!(app.engine().calls().is_empty() && app.usage(0).await.is_empty(), "counting is free");

    let app = TestApp::setup().upstream("engine = \"vllm\"").start().await;
    app.engine().push(Script { prompt_tokens: 77, ..Script::default() });
    let counted = app.client().post_json("/responses/input_tokens", request("hi")).await.json();
    assert_eq!(counted, json!({"object": "response.input_tokens", "input_tokens": 77}));
}

#[tokio::test]
async fn a_long_input_takes_memory_for_both_of_its_forms() {
    let app = TestApp::setup().edge("body_limit = \"1MiB\"\nmemory_budget = \"1MiB\"").start().await;
    let response = create(&app, request(&"x".repeat(300 << 10))).await;
    assert_eq!(error_line(&response), "429 concurrency_limit_exceeded");
    assert_eq!(create(&app, request(&"x".repeat(150 << 10))).await.status_line(), "200 OK");
}
