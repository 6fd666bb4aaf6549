//! Every stream of events follows the grammar of Responses, whatever the order and the split of the engine's chunks.

#![expect(clippy::needless_pass_by_value, reason = "callers pass literals")]

use super::request::{History, ResponseContext, ResponsesRequest};
use super::request_tests::seal;
use super::stream_grammar::read_events;
use super::{FinishedResponse, ResponseOptions, ResponseStream};
use crate::error::{CallError, ContextOverflow, UpstreamRejection};
use crate::response::BadUpstreamResponse;
use crate::translate::messages::Traits;
use crate::translate::scripted_engine::{self, arguments, call, engine_stream};
use crate::translate::{Dialect, StreamTranslator};
use bytes::BytesMut;
use domain::usage::Tokens;
use expect_test::expect;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn options(members: Value) -> ResponseOptions {
    options_if_stored(members, None)
}

fn options_if_stored(members: Value, stored: Option<FinishedResponse>) -> ResponseOptions {
    let mut body = json!({"model": "m", "input": "hi", "stream": true, "tools": [
        {"type": "function", "name": "f0"}, {"type": "custom", "name": "f1"},
        {"type": "tool_search", "execution": "client"},
        {"type": "namespace", "name": "f", "tools": [{"type": "function", "name": "x"}]}]});
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let (history, seal) = (History::default(), seal(1));
    let context = ResponseContext { unique: "1".into(), now: || 7, history, seal, stored };
    let request = ResponsesRequest::parse(body.to_string().into()).unwrap();
    request.into_chat(Traits::default(), context).unwrap().options
}

/// The bytes for the client if the engine's bytes arrive in these pieces.
fn pass(options: ResponseOptions, pieces: &[&[u8]]) -> (String, Result<(), BadUpstreamResponse>) {
    scripted_engine::pass("m", ResponseStream::new(Arc::new(options)), pieces)
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
    assert_eq!(seal(1).keys.open_reasoning(&seal(1).workspace, sealed).as_deref(), Some("ab"));
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
    let events = dialect.failed_stream(&overflow).unwrap();
    let last = read_events(str::from_utf8(&events).unwrap());
    assert_eq!(last["type"], "response.failed");
    assert_eq!(last["response"]["error"], json!({"code": "context_length_exceeded", "message": "too long"}));
    assert!(dialect.failed_stream(&CallError::ServerBusy).is_none(), "others are HTTP errors");

    let chunk = json!({"choices": [{"index": 0, "delta": {"content": "Hel"}}]}).to_string();
    for (error, code) in [
        (CallError::BadGateway { cause: "secret".into() }, "server_error"),
        (CallError::ServerBusy, "server_is_overloaded"),
        (CallError::TooManyCalls { max: 1 }, "rate_limit_exceeded"),
    ] {
        let mut stream = ResponseStream::new(Arc::new(options(json!({}))));
        let mut out = BytesMut::new();
        stream.chunk(chunk.as_bytes(), Tokens::default(), &mut out).unwrap();
        assert!(stream.fail(&error, &mut out));
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
    let options = Arc::new(options_if_stored(json!({}), Some(finished.clone())));
    let mut stream = ResponseStream::new(Arc::clone(&options));
    let mut out = BytesMut::new();
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": ",\"store\":true,\"truncation\":"}}]}).to_string();
    stream.chunk(chunk.as_bytes(), Tokens::default(), &mut out).unwrap();
    assert!(stream.fail(&CallError::ServerBusy, &mut out));
    let last = read_events(str::from_utf8(&out).unwrap());
    assert_eq!((&last["type"], &last["response"]["store"]), (&json!("response.failed"), &json!(false)));
    assert_eq!(last["response"]["output"][0]["content"][0]["text"], ",\"store\":true,\"truncation\":");
    assert_eq!(finished.get(), None);

    let mut stream = ResponseStream::new(options);
    let mut out = BytesMut::new();
    stream.chunk(chunk.as_bytes(), Tokens::default(), &mut out).unwrap();
    stream.end(Tokens::default(), &mut out).unwrap();
    assert_eq!(read_events(str::from_utf8(&out).unwrap())["response"]["store"], true, "others are");
}

#[test]
fn the_final_response_is_handed_over() {
    let finished = FinishedResponse::default();
    let options = ResponseOptions { finished: Some(finished.clone()), ..options(json!({})) };
    let text = engine_stream(&[json!({"content": "Hi"})], "stop");
    let (text, _) = pass(options.clone(), &[text.as_bytes()]);
    let stored: Value = serde_json::from_slice(finished.get().unwrap()).unwrap();
    assert_eq!(stored, read_events(&text)["response"]);

    let finished = FinishedResponse::default();
    let options = ResponseOptions { finished: Some(finished.clone()), ..options };
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

/// One piece of a response as an engine may send it.
#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    Reasoning(String),
    /// The number of the call; its arguments are cut into pieces in order.
    Tool(u64),
}

/// The tool and the arguments of each call.
const CALLS: [(&str, &str); 4] = [
    ("f0", r#"{"path":"a\"b","list":[1,2,{"x":null}]}"#),
    ("f1", r#"{"input":"é 🙂\n\"x\""}"#),
    ("tool_search", r#"{"q":"x"}"#),
    ("f__x", "{}"),
];

fn any_piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        "[a-z\"é🙂\\\\]{0,4}".prop_map(Piece::Text),
        "[a-z\n]{0,3}".prop_map(Piece::Reasoning),
        (0..CALLS.len() as u64).prop_map(Piece::Tool),
        (0..CALLS.len() as u64).prop_map(Piece::Tool),
    ]
}

/// The deltas of the pieces: each piece of a call has some of its arguments, and what is left comes last.
fn deltas_of(pieces: &[Piece], step: usize) -> Vec<Value> {
    let mut rest: [Vec<char>; CALLS.len()] = CALLS.map(|(_, arguments)| arguments.chars().collect());
    let mut is_begun = [false; CALLS.len()];
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    let mut take = |index: u64, count: usize| {
        let place = index as usize;
        let left = &mut rest[place];
        let taken: String = left.drain(..count.min(left.len())).collect();
        match std::mem::replace(&mut is_begun[place], true) {
            false => call(index, &format!("id{index}"), CALLS[place].0, &taken),
            true => arguments(index, &taken),
        }
    };
    let mut calls = Vec::new();
    for piece in pieces {
        deltas.push(match piece {
            Piece::Text(text) => json!({"content": text}),
            Piece::Reasoning(text) => json!({"reasoning": text}),
            Piece::Tool(index) => {
                calls.push(*index);
                take(*index, step)
            }
        });
    }
    calls.sort_unstable();
    calls.dedup();
    deltas.extend(calls.into_iter().map(|index| take(index, usize::MAX)));
    deltas
}

/// What a client must get, apart from the order: all text, all reasoning, and the calls as they began.
fn expected_summary(pieces: &[Piece]) -> (String, String, Vec<String>) {
    let mut summary = (String::new(), String::new(), Vec::new());
    for piece in pieces {
        match piece {
            Piece::Text(text) => summary.0 += text,
            Piece::Reasoning(text) => summary.1 += text,
            Piece::Tool(index) => {
                let name = ["f0", "f1", "null", "x"][*index as usize];
                let call = format!("id{index} {name}");
                if !summary.2.contains(&call) {
                    summary.2.push(call);
                }
            }
        }
    }
    summary
}

fn summary(output: &[Value]) -> (String, String, Vec<String>) {
    let mut summary = (String::new(), String::new(), Vec::new());
    for item in output {
        let text = item["content"][0]["text"].as_str().unwrap_or_default();
        match item["type"].as_str().unwrap() {
            "message" => summary.0 += text,
            "reasoning" => summary.1 += text,
            _ => {
                let name = item["name"].as_str().unwrap_or("null");
                summary.2.push(format!("{} {name}", item["call_id"].as_str().unwrap()));
            }
        }
    }
    summary
}

proptest! {
    #[test]
    fn every_order_of_pieces_gives_well_formed_events_with_all_content(
        pieces in prop::collection::vec(any_piece(), 0..12),
        step in 0_usize..60,
        summarizes in any::<bool>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let members = if summarizes { json!({"reasoning": {"summary": "auto"}}) } else { json!({}) };
        let text = engine_stream(&deltas_of(&pieces, step), "stop");
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let parts: Vec<&[u8]> = cuts.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]).collect();
        let (events, result) = pass(options(members.clone()), &parts);
        prop_assert!(result.is_ok(), "{:?}", result);
        let (whole, _) = pass(options(members), &[text.as_bytes()]);
        prop_assert_eq!(&events, &whole, "the split of bytes changes nothing");
        let last = read_events(&events);
        prop_assert_eq!(&last["type"], "response.completed");
        let output = last["response"]["output"].as_array().unwrap();
        prop_assert_eq!(summary(output), expected_summary(&pieces));
        for item in output.iter().filter(|item| item["type"] == "function_call" && item["name"] == "f0") {
            prop_assert_eq!(item["arguments"].as_str(), Some(CALLS[0].1));
        }
        for item in output.iter().filter(|item| item["type"] == "custom_tool_call") {
            prop_assert_eq!(item["input"].as_str(), Some("é 🙂\n\"x\""));
        }
    }

    #[test]
    fn every_cut_leaves_a_prefix_of_whole_events(
        pieces in prop::collection::vec(any_piece(), 0..8),
        step in 0_usize..60,
        cut in any::<prop::sample::Index>(),
    ) {
        let text = engine_stream(&deltas_of(&pieces, step), "stop");
        let (whole, _) = pass(options(json!({})), &[text.as_bytes()]);
        let (events, _) = pass(options(json!({})), &[&text.as_bytes()[..cut.index(text.len())]]);
        prop_assert!(events.is_empty() || events.ends_with("\n\n"));
        let body = events.split("event: response.completed").next().unwrap();
        prop_assert!(whole.starts_with(body), "{}", events);
    }
}
