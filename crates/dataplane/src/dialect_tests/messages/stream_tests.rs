//! Streams of events, by example.

#![expect(clippy::needless_pass_by_value, reason = "callers pass literals")]

use super::stream_grammar::{Block, read_events};
use crate::dialect_tests::scripted_engine::{self, arguments, call, engine_stream};
use crate::request::StreamOptions;
use crate::response::BadUpstreamResponse;
use crate::response::chat_stream::ChatStream;
use bytes::BytesMut;
use dialects::messages::MessageOptions;
use dialects::{Dialect, Opened};
use domain::usage::Tokens;
use expect_test::expect;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn options() -> MessageOptions {
    MessageOptions {
        id: "msg_1".into(),
        model: "claude-x".into(),
        context_length: 100,
        max_tokens: 50,
        stop_sequences: vec!["END".into()],
        omits_thinking: false,
        is_flex: false,
        opened: Opened::default(),
    }
}

/// The bytes for the client if the engine's bytes arrive in these pieces.
pub(super) fn pass(options: MessageOptions, pieces: &[&[u8]]) -> (String, Result<(), BadUpstreamResponse>) {
    scripted_engine::pass("claude-x", &Dialect::Messages(Arc::new(options)), pieces)
}

fn translated(deltas: &[Value], finish: &str) -> String {
    let (text, result) = pass(options(), &[engine_stream(deltas, finish).as_bytes()]);
    result.unwrap();
    text
}

#[test]
fn a_stream_with_thinking_text_and_a_tool_call() {
    let deltas = [
        json!({"role": "assistant", "content": ""}),
        json!({"reasoning_content": "hm"}),
        json!({"content": "Hi \"é\""}),
        call(0, "c1", "read", ""),
        arguments(0, "{\"p\":"),
        arguments(0, "1}"),
    ];
    expect![[r#"
        event: message_start
        data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"stop_details":null,"container":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0,"output_tokens_details":null,"cache_creation":null,"inference_geo":null,"server_tool_use":null,"service_tier":null}}}

        event: ping
        data: {"type":"ping"}

        event: content_block_start
        data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

        event: content_block_delta
        data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}

        event: content_block_delta
        data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Zm9yZWJheQ=="}}

        event: content_block_stop
        data: {"type":"content_block_stop","index":0}

        event: content_block_start
        data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":"","citations":[]}}

        event: content_block_delta
        data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi \"é\""}}

        event: content_block_stop
        data: {"type":"content_block_stop","index":1}

        event: content_block_start
        data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c1","name":"read","caller":{"type":"direct"},"input":{}}}

        event: content_block_delta
        data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"p\":"}}

        event: content_block_delta
        data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"1}"}}

        event: content_block_stop
        data: {"type":"content_block_stop","index":2}

        event: message_delta
        data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null,"stop_details":null,"container":null},"usage":{"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":5,"output_tokens_details":{"thinking_tokens":2},"cache_creation":null,"inference_geo":null,"server_tool_use":null,"service_tier":null}}

        event: message_stop
        data: {"type":"message_stop"}

    "#]]
    .assert_eq(&translated(&deltas, "stop"));
}

pub(super) fn tool(id: &str, name: &str, input: Value) -> Block {
    Block::Tool { id: id.into(), name: name.into(), input }
}

#[test]
fn calls_that_interleave_become_blocks_that_do_not() {
    let deltas = [
        call(0, "a", "one", "{\"x\""),
        call(1, "b", "two", "{\"y\":[1"),
        json!({"content": "after"}),
        arguments(0, ":{}"),
        arguments(1, "]}"),
        arguments(0, "}"),
        json!({"content": " all"}),
    ];
    let (blocks, delta) = read_events(&translated(&deltas, "tool_calls"));
    let expected =
        [tool("a", "one", json!({"x": {}})), tool("b", "two", json!({"y": [1]})), Block::Text("after all".into())];
    assert_eq!(blocks, expected);
    assert_eq!(delta["delta"]["stop_reason"], "tool_use");
}

#[test]
fn a_complete_call_does_not_delay_what_follows() {
    let deltas = [call(0, "a", "one", "{}"), json!({"content": "next"})];
    let text = engine_stream(&deltas, "stop");
    let first_two = text.split_inclusive("\n\n").take(2).collect::<String>();
    let mut stream =
        ChatStream::new("claude-x", &StreamOptions::default(), 1, 10, Dialect::Messages(Arc::new(options())).stream());
    let sent = stream.pass(first_two.into()).unwrap();
    assert!(str::from_utf8(&sent).unwrap().contains("\"text\":\"next\""));
}

#[test]
fn unusual_tool_calls_are_understood() {
    for (deltas, expected) in [
        (vec![call(0, "a", "f", "")], vec![tool("a", "f", json!({}))]),
        (vec![call(0, "a", "f", " nu"), arguments(0, "ll ")], vec![tool("a", "f", json!({}))]),
        (vec![call(0, "a", "f", "{}"), arguments(0, " ")], vec![tool("a", "f", json!({}))]),
        (vec![call(0, "", "f", "{}")], vec![tool("toolu_1_0", "f", json!({}))]),
        // The name comes late, and members are repeated.
        (
            vec![arguments(0, "{\"a\""), call(0, "a", "f", ":1"), call(0, "a", "f", "}")],
            vec![tool("a", "f", json!({"a": 1}))],
        ),
        // All calls have the same number.
        (
            vec![call(0, "a", "f", "{}"), call(0, "b", "g", "{}")],
            vec![tool("a", "f", json!({})), tool("b", "g", json!({}))],
        ),
    ] {
        assert_eq!(read_events(&translated(&deltas, "stop")).0, expected, "{deltas:?}");
    }
}

#[test]
fn arguments_that_are_not_json_end_the_stream_with_an_error() {
    for deltas in [
        vec![call(0, "a", "f", "{\"x\":}")],
        vec![call(0, "a", "f", "{\"x\":1")],
        vec![call(0, "a", "f", "[1]")],
        vec![call(0, "a", "f", "nul")],
        vec![call(0, "a", "f", "{}"), arguments(0, "{}")],
        vec![arguments(0, "{}")],
    ] {
        let (text, result) = pass(options(), &[engine_stream(&deltas, "tool_calls").as_bytes()]);
        assert!(matches!(result, Err(BadUpstreamResponse::Untranslatable(_))), "{deltas:?}");
        assert!(!text.contains("message_delta"), "{text}");
    }
}

#[test]
fn what_waits_behind_an_open_call_is_bounded_in_blocks_and_names() {
    let chunk = |delta: &Value| json!({"choices": [{"index": 0, "delta": delta}]}).to_string();
    let long = "x".repeat(10 << 10);
    let blocks = [chunk(&json!({"reasoning": "a"})), chunk(&json!({"content": "b"}))];
    let calls: Vec<String> = (1..1_000).map(|index| chunk(&call(index, &format!("{index}{long}"), "f", "{"))).collect();
    for chunks in [blocks.iter().cycle().take(300_000).collect::<Vec<_>>(), calls.iter().collect()] {
        let mut stream = Dialect::Messages(Arc::new(options())).stream().unwrap();
        let mut out = BytesMut::new();
        let mut pass = |chunk: &str| stream.chunk(chunk.as_bytes(), Tokens::default(), &mut out);
        pass(&chunk(&call(0, "a", "one", "{\"x\""))).unwrap();
        assert!(chunks.into_iter().any(|chunk| pass(chunk).is_err()));
    }
}

/// The pieces of arguments in the block with this index, joined.
fn joined_arguments(events: &str, index: u64) -> String {
    let data = events.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = data.map(|data| serde_json::from_str::<Value>(data).unwrap());
    let of_block = events.filter(|event| event["index"] == index);
    of_block.filter_map(|event| event["delta"]["partial_json"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_call_that_was_cut_by_the_limit_stops_as_it_is_in_a_stream() {
    let complete = call(0, "a", "f", "{\"x\":1}");
    for (last, expected) in [(call(1, "b", "g", "{\"y\":\"hal"), "{\"y\":\"hal"), (call(1, "b", "g", ""), "")] {
        // The third call is behind one that is not complete, so that it was never begun.
        let deltas = [complete.clone(), last, call(2, "c", "h", "{\"z\"")];
        let text = translated(&deltas, "length");
        assert_eq!(joined_arguments(&text, 0), "{\"x\":1}");
        assert_eq!(joined_arguments(&text, 1), expected);
        assert_eq!(text.matches("event: content_block_start").count(), 2, "{text}");
        assert_eq!(text.matches("event: content_block_stop").count(), 2, "{text}");
        assert!(text.contains("\"stop_reason\":\"max_tokens\""), "{text}");
        assert!(text.ends_with("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"), "{text}");
    }
    let nameless = translated(&[arguments(0, "{\"y\":")], "length");
    assert_eq!(read_events(&nameless).0, [Block::Text(String::new())]);
}

#[test]
fn a_call_that_was_cut_by_the_limit_is_left_out_of_a_whole_response() {
    let whole = |arguments: Value| {
        let function = |arguments: Value| json!({"function": {"name": "f", "arguments": arguments}});
        let message = json!({"content": "Hi", "tool_calls": [function(json!("{\"x\":1}")), function(arguments)]});
        let response = json!({"choices": [{"index": 0, "message": message, "finish_reason": "length"}]});
        let tokens = Tokens { prompt: 9, completion: 50, cached: 0 };
        let translated = Dialect::Messages(Arc::new(options())).translate(response.to_string().into(), tokens)?;
        Ok::<Value, BadUpstreamResponse>(serde_json::from_slice(&translated).unwrap())
    };
    for cut in [json!("{\"y\":\"hal"), json!(""), json!("nul"), Value::Null] {
        let message = whole(cut.clone()).unwrap();
        assert_eq!(message["stop_reason"], "max_tokens", "{cut}");
        let inputs: Vec<&Value> = message["content"].as_array().unwrap().iter().map(|block| &block["input"]).collect();
        assert_eq!(inputs, [&Value::Null, &json!({"x": 1})], "{cut}");
    }
    assert_eq!(whole(json!("{}")).unwrap()["content"].as_array().unwrap().len(), 3);
    assert!(whole(json!("{x")).is_err(), "invalid arguments stay an error");
}

fn stop_reason(finish: &str, choice: Value, tokens: (u64, u64)) -> String {
    let mut last = json!({"index": 0, "delta": {}, "finish_reason": finish});
    last.as_object_mut().unwrap().extend(choice.as_object().unwrap().clone());
    let usage = json!({"prompt_tokens": tokens.0, "completion_tokens": tokens.1, "total_tokens": tokens.0 + tokens.1});
    let text = format!(
        "data: {}\n\ndata: {}\n\ndata: [DONE]\n\n",
        json!({"choices": [last]}),
        json!({"choices": [], "usage": usage})
    );
    let (text, result) = pass(options(), &[text.as_bytes()]);
    result.unwrap();
    let (blocks, delta) = read_events(&text);
    assert_eq!(blocks, [Block::Text(String::new())], "an empty response has one empty block");
    format!("{} {}", delta["delta"]["stop_reason"].as_str().unwrap(), delta["delta"]["stop_sequence"])
}

#[test]
fn stop_reasons() {
    let none = json!({});
    for (finish, choice, tokens, expected) in [
        ("stop", &none, (9, 5), "end_turn null"),
        ("tool_calls", &none, (9, 5), "end_turn null"),
        ("stop", &json!({"stop_reason": "END"}), (9, 5), "stop_sequence \"END\""),
        ("stop", &json!({"matched_stop": "END"}), (9, 5), "stop_sequence \"END\""),
        ("stop", &json!({"stop_reason": "<|im_end|>"}), (9, 5), "end_turn null"),
        ("stop", &json!({"stop_reason": 151645}), (9, 5), "end_turn null"),
        ("length", &none, (9, 50), "max_tokens null"),
        ("length", &none, (50, 50), "max_tokens null"),
        ("length", &none, (80, 20), "model_context_window_exceeded null"),
        ("content_filter", &none, (9, 5), "refusal null"),
    ] {
        assert_eq!(stop_reason(finish, choice.clone(), tokens), expected, "{finish} {choice}");
    }
}

#[test]
fn thinking_can_be_omitted() {
    let deltas = [json!({"reasoning": "hm"}), json!({"content": "Hi"})];
    let options = MessageOptions { omits_thinking: true, ..options() };
    let (text, _) = pass(options, &[engine_stream(&deltas, "stop").as_bytes()]);
    assert_eq!(read_events(&text).0, [Block::Text("Hi".into())]);
}

#[test]
fn comments_of_the_engine_become_pings_once_the_message_has_begun() {
    let text = engine_stream(&[json!({"content": "Hi"})], "stop").replace("\n\n", "\n\n: alive\n\n");
    let (text, result) = pass(options(), &[b": waiting\n\n", text.as_bytes()]);
    result.unwrap();
    assert!(text.starts_with("event: message_start"), "{text}");
    assert_eq!(read_events(&text).0, [Block::Text("Hi".into())]);
    assert!(text.matches("event: ping").count() > 2);
}

#[test]
fn a_whole_response_has_the_blocks_of_its_stream() {
    let message = json!({"role": "assistant", "content": "Hi", "reasoning": "hm", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\": \"\\u00e9\"}"}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": ""}}]});
    let response = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"completion_tokens_details": {"reasoning_tokens": 3}}});
    let tokens = Tokens { prompt: 9, completion: 5, cached: 4 };
    let dialect = Dialect::Messages(Arc::new(options()));
    let translated = dialect.translate(response.to_string().into(), tokens).unwrap();
    let translated: Value = serde_json::from_slice(&translated).unwrap();
    let expected = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "Zm9yZWJheQ=="},
        {"type": "text", "text": "Hi", "citations": []},
        {"type": "tool_use", "id": "a", "name": "f", "caller": {"type": "direct"}, "input": {"x": "é"}},
        {"type": "tool_use", "id": "b", "name": "g", "caller": {"type": "direct"}, "input": {}}],
        "stop_reason": "tool_use", "stop_sequence": null, "stop_details": null, "container": null,
        "usage": {"input_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 4, "output_tokens": 5,
            "output_tokens_details": {"thinking_tokens": 3}, "cache_creation": null, "inference_geo": null,
            "server_tool_use": null, "service_tier": null}});
    assert_eq!(translated, expected);

    let whole = |message: Value| {
        let response = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
        dialect.translate(response.to_string().into(), tokens)
    };
    let empty: Value = serde_json::from_slice(&whole(json!({"content": null})).unwrap()).unwrap();
    assert_eq!(empty["content"], json!([{"type": "text", "text": "", "citations": []}]));
    assert!(whole(json!({"tool_calls": [{"function": {"name": "f", "arguments": "{x}"}}]})).is_err());
}
