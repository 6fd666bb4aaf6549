use super::{client, create, error_line, events, message};
use crate::app::{CHAT, TestApp, UPSTREAM_NAME, events_of, headers_but_ids, types};
use domain::usage::{CallOrigin, CallSurface, Certainty, Tokens};
use expect_test::expect;
use serde_json::{Value, json};
use testkit::fake_engine::Script;
use testkit::http::Event;

#[tokio::test]
async fn a_message_is_one_chat_call() {
    let app = TestApp::start().await;
    app.engine().push(Script { cached_tokens: Some(4), ..Script::default() });
    let mut body = message("hi");
    body["system"] = json!("Be brief.");
    let response = create(&app, body).await;
    assert_eq!(response.status_line(), "200 OK");
    let mut received = response.json();
    assert!(received["id"].as_str().unwrap().starts_with("msg_"), "{received}");
    received["id"] = json!("msg_…");
    expect![[r#"{"id":"msg_…","type":"message","role":"assistant","model":"acme/tiny","content":[{"type":"text","text":"Hello Hello Hello ","citations":[]}],"stop_reason":"end_turn","stop_sequence":null,"stop_details":null,"container":null,"usage":{"input_tokens":6,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":3,"output_tokens_details":null,"cache_creation":null,"inference_geo":null,"server_tool_use":null,"service_tier":null}}"#]]
        .assert_eq(&received.to_string());

    let headers = headers_but_ids(&response);
    assert_eq!(response.header("request-id"), response.header("x-request-id"));
    assert_eq!(headers["anthropic-ratelimit-requests-limit"], "1000000");
    let reset = &headers["anthropic-ratelimit-tokens-reset"];
    assert!(reset.starts_with("20") && reset.ends_with('Z'), "{reset}");

    let calls = app.engine().calls();
    let sent = calls[0].json();
    assert_eq!((calls.len(), calls[0].path.as_str()), (1, "/v1/chat/completions"));
    assert_eq!((&sent["model"], &sent["max_tokens"]), (&UPSTREAM_NAME.into(), &64.into()));
    let messages = json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]);
    assert_eq!(sent["messages"], messages);
    assert!(calls[0].header("x-api-key").is_none(), "the client's key stays here");

    let events = app.usage(1).await;
    let tokens = Tokens { prompt: 10, completion: 3, cached: 4 };
    assert_eq!((events[0].model.as_str(), events[0].tokens, events[0].certainty), (CHAT, tokens, Certainty::Exact));
}

#[tokio::test]
async fn the_same_call_costs_the_same_on_both_surfaces() {
    let app = TestApp::start().await;
    app.ask(crate::app::chat("hi")).await;
    create(&app, message("hi")).await;
    events(&app, Script::default()).await;
    let bills: Vec<_> = app.usage(3).await.into_iter().map(|event| (event.model, event.tokens, event.cost)).collect();
    assert!(bills.iter().all(|bill| *bill == bills[0]), "{bills:?}");
}

#[tokio::test]
async fn flex_messages_pay_the_price_of_batches_and_their_usage_names_the_tier() {
    let app = TestApp::setup().model("batch_discount = \"0.5\"").start().await;
    let mut body = message("hi");
    for (tier, expected) in [("auto", Value::Null), ("flex", json!("flex"))] {
        body["service_tier"] = json!(tier);
        assert_eq!(create(&app, body.clone()).await.json()["usage"]["service_tier"], expected);
    }
    body["stream"] = json!(true);
    let events = events_of(&client(&app), "/messages", body.clone()).await;
    assert_eq!(usages(&events), ["flex", "flex"], "at the start and at the end");
    let mut costs: Vec<i64> = app.usage(3).await.iter().map(|event| event.cost.nanos()).collect();
    costs.sort_unstable();
    assert_eq!(costs, [11_000, 11_000, 22_000]);

    body["service_tier"] = json!(1);
    assert_eq!(error_line(&create(&app, body).await), "400 invalid_request_error invalid_value service_tier");
}

/// The tiers that the usages of a stream name.
fn usages(events: &[Event]) -> Vec<Value> {
    let usage = |event: &Event| {
        let event = event.json();
        event.get("usage").or_else(|| event["message"].get("usage")).map(|usage| usage["service_tier"].clone())
    };
    events.iter().filter_map(usage).collect()
}

#[tokio::test]
async fn an_engine_that_speaks_messages_need_not_know_the_tier() {
    let app = TestApp::setup().chat_upstream("native = [\"messages\"]").start().await;
    let mut body = message("hi");
    body["service_tier"] = json!("flex");
    assert_eq!(create(&app, body.clone()).await.json()["usage"]["service_tier"], "flex");
    body["stream"] = json!(true);
    let events = events_of(&client(&app), "/messages", body).await;
    assert_eq!(usages(&events), ["flex", "flex"], "at the start and at the end");
    let calls = app.engine().calls();
    assert!(calls.iter().all(|call| call.path == "/v1/messages" && call.json().get("service_tier").is_none()));
}

#[tokio::test]
async fn a_flex_message_without_room_is_rejected_at_its_timeout() {
    let app = TestApp::setup().chat_upstream("max_in_flight = 1").start().await;
    app.engine().push(Script { stall_after: Some(1), ..Script::default() });
    let mut body = message("hi");
    body["stream"] = json!(true);
    let mut running = client(&app).open_stream("/messages", body.clone()).await;
    running.next_event().await.unwrap();
    body["service_tier"] = json!("flex");
    let rejected = client(&app).header("X-Hold-Timeout", "1").post_json("/messages", body).await;
    assert_eq!(error_line(&rejected), "429 rate_limit_error resource_unavailable");
}

#[tokio::test]
async fn a_stream_is_one_of_events() {
    let app = TestApp::start().await;
    let events = events(&app, Script { comments: true, ..Script::default() }).await;
    let [first, .., last] = &events[..] else { panic!("{events:?}") };
    assert!(first.raw.starts_with("event: message_start\ndata: "), "{first:?}");
    assert_eq!(last.raw, "event: message_stop\ndata: {\"type\":\"message_stop\"}");
    let without_pings: Vec<String> = types(&events).into_iter().filter(|kind| kind != "ping").collect();
    let mut expected = vec!["message_start", "content_block_start", "content_block_delta", "content_block_stop"];
    expected.extend(["message_delta", "message_stop"]);
    let mut shown = without_pings;
    shown.dedup();
    assert_eq!(shown, expected);
    assert_eq!(app.engine().calls()[0].json()["stream_options"]["include_usage"], true);
    let usage = &events[events.len() - 2].json()["usage"];
    assert_eq!((&usage["input_tokens"], &usage["output_tokens"]), (&10.into(), &3.into()));
    assert_eq!(app.usage(1).await[0].tokens, Tokens { prompt: 10, completion: 3, cached: 0 });
}

fn chunk(delta: &Value, finish: Option<&str>) -> String {
    json!({"id": "c", "created": 1, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).to_string()
}

#[tokio::test]
async fn tool_calls_are_streamed_as_they_arrive() {
    let app = TestApp::start().await;
    let call =
        json!([{"index": 0, "id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"p\""}}]);
    let rest = json!([{"index": 0, "function": {"arguments": ":1}"}}]);
    let script = Script {
        raw_events: Some(vec![
            chunk(&json!({"role": "assistant", "reasoning": "hm"}), None),
            chunk(&json!({"tool_calls": call}), None),
            chunk(&json!({"tool_calls": rest}), None),
            chunk(&json!({}), Some("tool_calls")),
        ]),
        ..Script::default()
    };
    let events = events(&app, script).await;
    let pieces: Vec<String> =
        events.iter().filter_map(|event| event.json()["delta"]["partial_json"].as_str().map(str::to_owned)).collect();
    assert_eq!(pieces, ["{\"p\"", ":1}"]);
    let stop = events.iter().find(|event| event.json()["type"] == "message_delta").unwrap().json();
    assert_eq!(stop["delta"]["stop_reason"], "tool_use");
}

#[tokio::test]
async fn a_limit_that_does_not_fit_is_lowered_by_the_engine() {
    let app = TestApp::start().await;
    let too_large = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens \
        (1000 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.";
    app.engine().push(Script { status: Some(400), error_message: Some(too_large.into()), ..Script::default() });
    let mut body = message("hi");
    body["max_tokens"] = json!(128_000);
    assert_eq!(create(&app, body).await.status_line(), "200 OK");
    let limits: Vec<Value> = app.engine().calls().iter().map(|call| call.json()["max_tokens"].clone()).collect();
    assert!(limits[0].as_u64().unwrap() < 4096 && limits[1].is_null(), "{limits:?}");
    assert_eq!(app.usage(1).await.len(), 1, "one call, one event");
}

#[tokio::test]
async fn a_prompt_that_is_too_long_reads_as_agents_expect() {
    let app = TestApp::start().await;
    let too_long = "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.";
    let rejection = Script { status: Some(400), error_message: Some(too_long.into()), ..Script::default() };
    app.engine().push(rejection.clone());
    app.engine().push(rejection);
    let response = create(&app, message("hi")).await;
    assert_eq!(error_line(&response), "400 invalid_request_error context_length_exceeded");
    assert_eq!(response.json()["error"]["message"], "prompt is too long: 5000 tokens > 4096 maximum");
}

#[tokio::test]
async fn a_limit_that_is_too_large_does_not_read_as_a_prompt_that_is_too_long() {
    let app = TestApp::start().await;
    let too_large = "'max_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your \
        request has 1000 input tokens (5000 > 4096 - 1000).";
    app.engine().script(Script { status: Some(400), error_message: Some(too_large.into()), ..Script::default() });
    let response = create(&app, message("hi")).await;
    assert_eq!(error_line(&response), "400 invalid_request_error context_length_exceeded");
    assert_eq!(response.json()["error"]["message"], too_large);
}

#[tokio::test]
async fn a_long_message_takes_memory_for_both_of_its_forms() {
    let app = TestApp::setup().edge("body_limit = \"1MiB\"\nmemory_budget = \"1MiB\"").start().await;
    let text = "x".repeat(300 << 10);
    let response = create(&app, message(&text)).await;
    assert_eq!(error_line(&response), "429 rate_limit_error concurrency_limit_exceeded");
    assert_eq!(app.chat(&text).await.status_line(), "200 OK", "chat is not translated");
    assert_eq!(create(&app, message(&"x".repeat(150 << 10))).await.status_line(), "200 OK");
}

#[tokio::test]
async fn aliases_and_sessions_of_agents_work() {
    let alias = "[[aliases]]\nname = \"claude-*\"\nmodel = \"acme/tiny\"";
    let app = TestApp::setup().table(alias).start().await;
    let mut body = message("hi");
    body["model"] = json!("claude-sonnet-4-5");
    let bearer = app.client().header("anthropic-beta", "x,y").header("x-claude-code-session-id", "s");
    let response = bearer.post_json("/messages", body).await;
    assert_eq!((response.status_line().as_str(), &response.json()["model"]), ("200 OK", &"claude-sonnet-4-5".into()));
    let events = app.usage(1).await;
    assert_eq!(events[0].model.as_str(), CHAT);
    let origin = CallOrigin {
        surface: Some(CallSurface::Messages),
        requested_model: Some("claude-sonnet-4-5".into()),
        ..CallOrigin::default()
    };
    assert_eq!(events[0].origin, origin);
    let models = client(&app).get("/models/claude-x").await.json();
    assert_eq!(models["id"], "claude-x");
}

#[tokio::test]
async fn a_last_message_of_the_assistant_is_continued_where_the_engine_can() {
    let prefilled = |text: &str| {
        let mut body = message("Count.");
        body["messages"] = json!([{"role": "user", "content": "Count."}, {"role": "assistant", "content": text}]);
        body
    };
    let app = TestApp::setup().upstream("engine = \"vllm\"").start().await;
    let response = create(&app, prefilled("Hello ")).await.json();
    assert_eq!(response["content"][0]["text"], "Hello Hello ", "without what the client sent");
    let sent = app.engine().calls()[0].json();
    assert_eq!((&sent["continue_final_message"], &sent["add_generation_prompt"]), (&json!(true), &json!(false)));
    assert_eq!(
        sent["chat_template_kwargs"],
        json!({"enable_thinking": false}),
        "the rest of a message is not a thought"
    );
    create(&app, message("hi")).await;
    let sent = app.engine().calls()[1].json();
    assert_eq!((sent.get("continue_final_message"), sent.get("chat_template_kwargs")), (None, None));
    let unknown = TestApp::start().await;
    create(&unknown, prefilled("Hello ")).await;
    assert!(unknown.engine().calls()[0].json().get("continue_final_message").is_none());
}
