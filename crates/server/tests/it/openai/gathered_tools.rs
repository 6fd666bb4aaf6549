//! Models whose engines lose arguments of tool calls in streams, and other settings about the dialect of engines.

use domain::usage::{Certainty, Tokens};
use serde_json::{Value, json};
use testkit::fake_engine::Script;
use testkit::http::Event;

use crate::app::{CHAT, TestApp, stream, stream_with_usage, text};

const ARGUMENTS: &str = r#"{"city":"Oslo"}"#;

/// The response of an engine that does not stream it, over several lines.
fn whole_call() -> Script {
    let call = json!({"id": "call_1", "function": {"name": "weather", "arguments": ARGUMENTS}});
    let message = json!({"role": "assistant", "content": null, "reasoning": "hm", "tool_calls": [call]});
    let response = json!({
        "id": "c", "object": "chat.completion", "created": 7, "model": "x",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 9, "total_tokens": 21,
            "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 2}},
    });
    Script { raw_body: Some(serde_json::to_string_pretty(&response).unwrap()), ..Script::default() }
}

fn with_tools(mut body: Value) -> Value {
    body["tools"] = json!([{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]);
    body
}

async fn setup() -> TestApp {
    TestApp::setup().model("stream_tools = false").start().await
}

#[tokio::test]
async fn a_whole_response_with_tool_calls_becomes_a_stream() {
    let app = setup().await;
    let events = app.events(whole_call(), with_tools(stream_with_usage("hi"))).await;
    let sent = app.engine().calls()[0].json();
    assert_eq!((&sent["stream"], &sent["stream_options"]), (&json!(false), &Value::Null));
    let [chunk, usage, done] = &events[..] else { panic!("{events:#?}") };
    assert!(done.is_done());
    let chunk = chunk.json();
    assert_eq!((&chunk["object"], &chunk["model"]), (&json!("chat.completion.chunk"), &json!(CHAT)));
    let choice = &chunk["choices"][0];
    assert_eq!((&choice["finish_reason"], &choice["delta"]["role"]), (&json!("tool_calls"), &json!("assistant")));
    let call = json!([{
        "index": 0, "id": "call_1", "type": "function", "function": {"name": "weather", "arguments": ARGUMENTS},
    }]);
    assert_eq!(choice["delta"]["tool_calls"], call);
    assert_eq!((&choice["delta"]["reasoning"], &choice["delta"]["reasoning_content"]), (&json!("hm"), &json!("hm")));
    let usage = usage.json();
    assert_eq!((&usage["choices"], &usage["usage"]["total_tokens"]), (&json!([]), &json!(21)));
    assert_eq!(usage["usage"]["completion_tokens_details"]["reasoning_tokens"], 2);
    let event = &app.usage(1).await[0];
    let tokens = Tokens { prompt: 12, completion: 9, cached: 4 };
    assert_eq!((event.tokens, event.certainty, event.streamed), (tokens, Certainty::Exact, true));
}

#[tokio::test]
async fn other_apis_get_their_events_of_a_whole_response() {
    let app = setup().await;
    let message = json!({
        "model": CHAT, "max_tokens": 64, "stream": true, "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"name": "weather", "input_schema": {"type": "object"}}],
    });
    let response = json!({
        "model": CHAT, "input": "hi", "stream": true,
        "tools": [{"type": "function", "name": "weather", "parameters": {"type": "object"}}],
    });
    for (path, body) in [("/messages", message), ("/responses", response)] {
        app.engine().push(whole_call());
        let (events, _) = app.client().open_stream(path, body).await.rest().await;
        let arguments: String = events.iter().map(|event| arguments_of(&event.json())).collect();
        assert_eq!(arguments, ARGUMENTS, "{events:#?}");
        let last = events.last().unwrap().json();
        assert!(["message_stop", "response.completed"].contains(&text(&last["type"])), "{last}");
    }
    let sums: Vec<Tokens> = app.usage(2).await.into_iter().map(|event| event.tokens).collect();
    assert_eq!(sums, [Tokens { prompt: 12, completion: 9, cached: 4 }; 2]);
}

fn arguments_of(event: &Value) -> String {
    match text(&event["type"]) {
        "content_block_delta" => text(&event["delta"]["partial_json"]).to_owned(),
        "response.function_call_arguments.delta" => text(&event["delta"]).to_owned(),
        _ => String::new(),
    }
}

#[tokio::test]
async fn calls_without_tools_are_streamed_by_the_engine_and_failures_keep_their_status() {
    let app = setup().await;
    let mut empty = stream("hi");
    empty["tools"] = json!([]);
    for body in [stream("hi"), empty] {
        let events = app.events(Script::default(), body).await;
        assert!(events.len() > 3, "{events:#?}");
    }
    assert!(app.engine().calls().iter().all(|call| call.json()["stream"] == true));
    app.engine().push(Script { status: Some(400), ..Script::default() });
    assert_eq!(app.ask(with_tools(stream("hi"))).await.status, 400);
    let without_usage = Script { no_usage: true, text: "12345678".to_owned(), ..Script::default() };
    app.events(without_usage, with_tools(stream("hi"))).await;
    let event = &app.usage(4).await[0];
    assert_eq!((event.tokens.completion, event.certainty), (6, Certainty::Estimated), "by the length of the text");
}

#[tokio::test]
async fn reasoning_is_sent_back_by_the_name_that_the_engine_reads() {
    let mut body = stream("hi");
    body["messages"] =
        json!([{"role": "assistant", "content": "a", "reasoning": "b"}, {"role": "user", "content": "hi"}]);
    for (engine, name) in [("sglang", "reasoning_content"), ("vllm", "reasoning")] {
        let app = TestApp::setup().upstream(&format!("engine = \"{engine}\"")).start().await;
        app.events(Script::default(), body.clone()).await;
        let sent = app.engine().calls()[0].json()["messages"][0].clone();
        assert_eq!(sent, json!({"role": "assistant", "content": "a", name: "b"}));
    }
}

#[tokio::test]
async fn reasoning_keeps_the_name_of_the_engine_and_of_the_client() {
    let app = TestApp::setup().model("reasoning_names = \"as_is\"").start().await;
    let chunk = |delta: &str, finish: &str| {
        format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#)
    };
    let raw_events = Some(vec![chunk(r#"{"reasoning":"hm"}"#, "null"), chunk("{}", "\"stop\"")]);
    let mut body = stream("hi");
    body["messages"] =
        json!([{"role": "assistant", "content": "a", "reasoning": "b"}, {"role": "user", "content": "hi"}]);
    let events = app.events(Script { raw_events, ..Script::default() }, body.clone()).await;
    let delta = |event: &Event| event.json()["choices"][0]["delta"].clone();
    assert_eq!((&delta(&events[0])["reasoning"], delta(&events[0]).get("reasoning_content")), (&json!("hm"), None));
    assert_eq!(app.engine().calls()[0].json()["messages"][0], body["messages"][0]);
    let message = r#"{"role":"assistant","content":"a","reasoning_content":"hm"}"#;
    let whole = format!(r#"{{"choices":[{{"index":0,"message":{message},"finish_reason":"stop"}}]}}"#);
    app.engine().push(Script { raw_body: Some(whole), ..Script::default() });
    let received = app.chat("hi").await.json();
    assert!(received["choices"][0]["message"].get("reasoning").is_none(), "{received}");
}
