//! Streams of events, by example.

#![expect(clippy::needless_pass_by_value, reason = "callers pass literals")]

use super::stream_grammar::read_events;
use crate::dialect_tests::OpenSeal;
use crate::dialect_tests::scripted_engine::{self, arguments, call, engine_stream};
use crate::error::{CallError, ContextOverflow, UpstreamRejection};
use crate::response::BadUpstreamResponse;
use bytes::BytesMut;
use dialects::Traits;
use dialects::responses::{
    FinishedResponse, History, ReasoningSeal as _, ResponseContext, ResponseOptions, ResponsesRequest,
};
use dialects::{Dialect, StreamTranslator};
use domain::usage::Tokens;
use expect_test::expect;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn options(members: Value) -> ResponseOptions {
    options_if_stored(members, None)
}

pub(super) fn options_if_stored(members: Value, stored: Option<FinishedResponse>) -> ResponseOptions {
    let mut body = json!({"model": "m", "input": "hi", "stream": true, "tools": [
        {"type": "function", "name": "f0"}, {"type": "custom", "name": "f1"},
        {"type": "tool_search", "execution": "client"},
        {"type": "namespace", "name": "f", "tools": [{"type": "function", "name": "x"}]}]});
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let (history, seal) = (History::default(), Arc::new(OpenSeal { workspace: 1 }));
    let context = ResponseContext { unique: "1".into(), now: || 7, history, seal, stored };
    let request = ResponsesRequest::parse(body.to_string().into()).unwrap();
    request.into_chat(Traits::default(), context).unwrap().options
}

/// The bytes for the client if the engine's bytes arrive in these pieces.
pub(super) fn pass(options: ResponseOptions, pieces: &[&[u8]]) -> (String, Result<(), BadUpstreamResponse>) {
    scripted_engine::pass("m", &Dialect::Responses(Arc::new(options)), pieces)
}

pub(super) fn stream(options: ResponseOptions) -> Box<dyn StreamTranslator> {
    Dialect::Responses(Arc::new(options)).stream().unwrap()
}

fn translated(members: Value, deltas: &[Value], finish: &str) -> String {
    let (text, result) = pass(options(members), &[engine_stream(deltas, finish).as_bytes()]);
    result.unwrap();
    text
}

/// The events without the responses in them.
fn without_responses(text: &str) -> String {
    text.split_inclusive("\n\n").filter(|event| !event.contains("\"response\":{")).collect()
}

#[test]
fn a_stream_with_reasoning_text_and_a_call() {
    let deltas = [
        json!({"role": "assistant", "reasoning": "hm"}),
        json!({"content": "Hi \"é\""}),
        call(0, "c1", "f0", "{\"p\":"),
        arguments(0, "1}"),
    ];
    let text = translated(json!({}), &deltas, "tool_calls");
    let last = read_events(&text);
    assert_eq!(last["response"]["usage"]["output_tokens_details"]["reasoning_tokens"], 2);
    assert_eq!(last["response"]["usage"]["input_tokens_details"]["cached_tokens"], 4);
    expect![[r#"
        event: response.output_item.added
        data: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"rs_1_0","type":"reasoning","summary":[],"content":[]}}

        event: response.content_part.added
        data: {"type":"response.content_part.added","sequence_number":3,"item_id":"rs_1_0","output_index":0,"content_index":0,"part":{"type":"reasoning_text","text":""}}

        event: response.reasoning_text.delta
        data: {"type":"response.reasoning_text.delta","sequence_number":4,"item_id":"rs_1_0","output_index":0,"content_index":0,"delta":"hm"}

        event: response.reasoning_text.done
        data: {"type":"response.reasoning_text.done","sequence_number":5,"item_id":"rs_1_0","output_index":0,"content_index":0,"text":"hm"}

        event: response.content_part.done
        data: {"type":"response.content_part.done","sequence_number":6,"item_id":"rs_1_0","output_index":0,"content_index":0,"part":{"type":"reasoning_text","text":"hm"}}

        event: response.output_item.done
        data: {"type":"response.output_item.done","sequence_number":7,"output_index":0,"item":{"id":"rs_1_0","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}}

        event: response.output_item.added
        data: {"type":"response.output_item.added","sequence_number":8,"output_index":1,"item":{"id":"msg_1_1","type":"message","role":"assistant","content":[],"status":"in_progress"}}

        event: response.content_part.added
        data: {"type":"response.content_part.added","sequence_number":9,"item_id":"msg_1_1","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}

        event: response.output_text.delta
        data: {"type":"response.output_text.delta","sequence_number":10,"item_id":"msg_1_1","output_index":1,"content_index":0,"delta":"Hi \"é\"","logprobs":[]}

        event: response.output_text.done
        data: {"type":"response.output_text.done","sequence_number":11,"item_id":"msg_1_1","output_index":1,"content_index":0,"text":"Hi \"é\"","logprobs":[]}

        event: response.content_part.done
        data: {"type":"response.content_part.done","sequence_number":12,"item_id":"msg_1_1","output_index":1,"content_index":0,"part":{"type":"output_text","text":"Hi \"é\"","annotations":[],"logprobs":[]}}

        event: response.output_item.done
        data: {"type":"response.output_item.done","sequence_number":13,"output_index":1,"item":{"id":"msg_1_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi \"é\"","annotations":[],"logprobs":[]}],"status":"completed"}}

        event: response.output_item.added
        data: {"type":"response.output_item.added","sequence_number":14,"output_index":2,"item":{"id":"fc_1_2","call_id":"c1","type":"function_call","name":"f0","arguments":"","status":"in_progress"}}

        event: response.function_call_arguments.delta
        data: {"type":"response.function_call_arguments.delta","sequence_number":15,"item_id":"fc_1_2","output_index":2,"delta":"{\"p\":"}

        event: response.function_call_arguments.delta
        data: {"type":"response.function_call_arguments.delta","sequence_number":16,"item_id":"fc_1_2","output_index":2,"delta":"1}"}

        event: response.function_call_arguments.done
        data: {"type":"response.function_call_arguments.done","sequence_number":17,"item_id":"fc_1_2","output_index":2,"arguments":"{\"p\":1}"}

        event: response.output_item.done
        data: {"type":"response.output_item.done","sequence_number":18,"output_index":2,"item":{"id":"fc_1_2","call_id":"c1","type":"function_call","name":"f0","arguments":"{\"p\":1}","status":"completed"}}

    "#]]
    .assert_eq(&without_responses(&text));
}

#[test]
fn reasoning_is_summarized_by_itself_if_the_client_wants_a_summary() {
    let members = json!({"reasoning": {"summary": "auto"}, "include": ["reasoning.encrypted_content"]});
    let text = translated(members, &[json!({"reasoning": "a"}), json!({"reasoning": "b"})], "stop");
    let item = &read_events(&text)["response"]["output"][0];
    assert_eq!((&item["summary"][0]["text"], &item["content"][0]["text"]), (&json!("ab"), &json!("ab")));
    let sealed = item["encrypted_content"].as_str().unwrap();
    assert_eq!(OpenSeal { workspace: 1 }.open(sealed).as_deref(), Some("ab"));
    assert_eq!(text.matches(sealed).count(), 2, "the same in the event of the item and in that of the response");
    assert_eq!(text.matches("event: response.reasoning_summary_text.delta").count(), 2);
    assert_eq!(text.matches("event: response.reasoning_summary_part.").count(), 2);
}

#[test]
fn log_probabilities_are_passed_on() {
    let chunk = |token: &str| {
        let content = json!([{"token": token, "logprob": -0.5, "bytes": [97], "top_logprobs": []}]);
        let choice =
            json!({"index": 0, "delta": {"content": token}, "logprobs": {"content": content}, "finish_reason": null});
        format!("data: {}\n\n", json!({"id": "c", "choices": [choice]}))
    };
    let text = chunk("a") + &chunk("b") + &engine_stream(&[], "stop");
    let (text, result) = pass(options(json!({"top_logprobs": 1})), &[text.as_bytes()]);
    result.unwrap();
    let part = read_events(&text)["response"]["output"][0]["content"][0].clone();
    let tokens: Vec<&Value> = part["logprobs"].as_array().unwrap().iter().map(|entry| &entry["token"]).collect();
    assert_eq!((part["text"].as_str(), tokens), (Some("ab"), vec![&json!("a"), &json!("b")]));
}

#[test]
fn unusual_tool_calls_are_understood() {
    let function = |id: &str, name: &str, arguments: &str| (id.to_owned(), name.to_owned(), arguments.to_owned());
    for (deltas, expected) in [
        (vec![call(0, "a", "g", "")], vec![function("a", "g", "{}")]),
        (vec![call(0, "", "g", "{}")], vec![function("call_1_0", "g", "{}")]),
        (vec![call(0, "a", "g", "not json"), arguments(0, " at all")], vec![function("a", "g", "not json at all")]),
        // The name comes late, and members are repeated.
        (
            vec![arguments(0, "{\"a\""), call(0, "a", "g", ":1"), call(0, "a", "g", "}")],
            vec![function("a", "g", "{\"a\":1}")],
        ),
        // All calls have the same number.
        (
            vec![call(0, "a", "g", "{}"), call(0, "b", "h", "{}"), arguments(0, " ")],
            vec![function("a", "g", "{}"), function("b", "h", "{} ")],
        ),
    ] {
        let last = read_events(&translated(json!({}), &deltas, "stop"));
        let output = last["response"]["output"].as_array().unwrap();
        let text = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
        let found: Vec<_> =
            output.iter().map(|item| (text(item, "call_id"), text(item, "name"), text(item, "arguments"))).collect();
        assert_eq!(found, expected, "{deltas:?}");
    }
}

#[test]
fn a_complete_call_is_done_when_another_item_follows() {
    let deltas = [call(0, "a", "f0", "{}"), json!({"content": "next"})];
    let text = translated(json!({}), &deltas, "stop");
    let place = |needle: &str| text.find(needle).unwrap();
    assert!(place("event: response.function_call_arguments.done") < place("\"delta\":\"next\""));
    read_events(&text);
}

#[test]
fn text_waits_until_no_call_is_open() {
    for (deltas, finish, expected) in [
        // Engines send nothing for a function without parameters.
        (vec![call(0, "a", "f0", ""), json!({"content": "x"}), json!({"content": "y"})], "stop", ["{}", "xy"]),
        (vec![call(0, "a", "f0", "{"), json!({"content": "xy"}), arguments(0, "}")], "stop", ["{}", "xy"]),
        (vec![call(0, "a", "f0", "{"), json!({"content": "xy"})], "length", ["{", "xy"]),
    ] {
        let output = read_events(&translated(json!({}), &deltas, finish))["response"]["output"].clone();
        let found = [&output[0]["arguments"], &output[1]["content"][0]["text"]];
        assert_eq!(found, expected, "{deltas:?}");
    }
}

#[test]
fn a_call_that_goes_on_after_its_end_and_one_without_a_name_are_errors() {
    for deltas in [vec![call(0, "a", "g", "{}"), json!({"content": "x"}), arguments(0, "{}")], vec![arguments(0, "{}")]]
    {
        let (text, result) = pass(options(json!({})), &[engine_stream(&deltas, "tool_calls").as_bytes()]);
        assert!(matches!(result, Err(BadUpstreamResponse::Untranslatable(_))), "{deltas:?}");
        assert!(!text.contains("response.completed"), "{text}");
    }
}

#[test]
fn a_cut_by_length_is_incomplete() {
    for (deltas, expected) in [
        (vec![json!({"content": "Hel"})], json!(["incomplete"])),
        (vec![call(0, "a", "f0", "{\"x\":")], json!(["incomplete"])),
        (vec![call(0, "a", "f0", "{}"), call(1, "b", "f0", "{")], json!(["completed", "incomplete"])),
        (vec![arguments(0, "{")], json!(["incomplete"])),
    ] {
        let last = read_events(&translated(json!({}), &deltas, "length"));
        assert_eq!(last["type"], "response.incomplete");
        assert_eq!(last["response"]["incomplete_details"], json!({"reason": "max_output_tokens"}));
        let output = last["response"]["output"].as_array().unwrap();
        assert_eq!(output.iter().map(|item| item["status"].clone()).collect::<Value>(), expected, "{deltas:?}");
    }
    let last = read_events(&translated(json!({}), &[], "content_filter"));
    assert_eq!(last["response"]["incomplete_details"], json!({"reason": "content_filter"}));
}

#[test]
fn failures_are_events_with_what_was_written() {
    let overflow = CallError::Rejected {
        status: UpstreamRejection::BadRequest,
        message: "too long".into(),
        param: String::new(),
        overflow: Some(ContextOverflow::Prompt { tokens: 2, maximum: 1 }),
    };
    let dialect = Dialect::Responses(Arc::new(options(json!({}))));
    let events = overflow.with_failure(|failure| dialect.failed_stream(failure)).unwrap();
    let last = read_events(str::from_utf8(&events).unwrap());
    assert_eq!(last["type"], "response.failed");
    assert_eq!(last["response"]["error"], json!({"code": "context_length_exceeded", "message": "too long"}));
    let busy = CallError::ServerBusy.with_failure(|failure| dialect.failed_stream(failure));
    assert!(busy.is_none(), "others are HTTP errors");

    let chunk = json!({"choices": [{"index": 0, "delta": {"content": "Hel"}}]}).to_string();
    for (error, code) in [
        (CallError::BadGateway { cause: "secret".into() }, "server_error"),
        (CallError::ServerBusy, "server_is_overloaded"),
        (CallError::TooManyCalls { max: 1 }, "rate_limit_exceeded"),
    ] {
        let mut stream = self::stream(options(json!({})));
        let mut out = BytesMut::new();
        stream.chunk(chunk.as_bytes(), Tokens::default(), &mut out).unwrap();
        assert!(error.with_failure(|failure| stream.fail(failure, &mut out)));
        let text = str::from_utf8(&out).unwrap();
        assert!(!text.contains("secret"));
        let last = read_events(text);
        assert_eq!(last["response"]["error"]["code"], code);
        assert_eq!(last["response"]["output"][0]["content"][0]["text"], "Hel");
        assert_eq!(last["response"]["output"][0]["status"], "incomplete");
    }
}

#[test]
fn a_response_that_failed_is_not_stored_and_says_so() {
    let finished = FinishedResponse::default();
    let options = || options_if_stored(json!({}), Some(finished.clone()));
    let mut stream = self::stream(options());
    let mut out = BytesMut::new();
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": ",\"store\":true,\"truncation\":"}}]}).to_string();
    stream.chunk(chunk.as_bytes(), Tokens::default(), &mut out).unwrap();
    assert!(CallError::ServerBusy.with_failure(|failure| stream.fail(failure, &mut out)));
    let last = read_events(str::from_utf8(&out).unwrap());
    assert_eq!((&last["type"], &last["response"]["store"]), (&json!("response.failed"), &json!(false)));
    assert_eq!(last["response"]["output"][0]["content"][0]["text"], ",\"store\":true,\"truncation\":");
    assert_eq!(finished.get(), None);

    let mut stream = self::stream(options());
    let mut out = BytesMut::new();
    stream.chunk(chunk.as_bytes(), Tokens::default(), &mut out).unwrap();
    stream.end(Tokens::default(), &mut out).unwrap();
    assert_eq!(read_events(str::from_utf8(&out).unwrap())["response"]["store"], true, "others are");
}

#[test]
fn the_final_response_is_handed_over() {
    let finished = FinishedResponse::default();
    let options = options_if_stored(json!({}), Some(finished.clone()));
    let text = engine_stream(&[json!({"content": "Hi"})], "stop");
    let (text, _) = pass(options, &[text.as_bytes()]);
    let mut stored: Value = serde_json::from_slice(finished.get().unwrap()).unwrap();
    assert_eq!(stored, read_events(&text)["response"]);
    let unstored = finished.unstored_events(text.as_bytes()).unwrap();
    stored["store"] = json!(false);
    assert_eq!(stored, read_events(str::from_utf8(&unstored).unwrap())["response"]);
    assert_eq!(finished.unstored_events(text.split_inclusive("\n\n").next().unwrap().as_bytes()), None);

    let finished = FinishedResponse::default();
    let options = options_if_stored(json!({}), Some(finished.clone()));
    let chat = json!({"choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}]});
    let dialect = Dialect::Responses(Arc::new(options));
    let whole = dialect.translate(chat.to_string().into(), Tokens::default()).unwrap();
    assert_eq!(finished.get(), Some(&whole));
}

#[test]
fn comments_of_the_engine_are_passed_on_once_the_response_has_begun() {
    let text = engine_stream(&[json!({"content": "Hi"})], "stop").replace("\n\n", "\n\n: alive\n\n");
    let (text, result) = pass(options(json!({})), &[b": waiting\n\n", text.as_bytes()]);
    result.unwrap();
    assert!(text.starts_with("event: response.created"), "{text}");
    assert!(text.matches(": ping").count() > 2);
    read_events(&text);
}
