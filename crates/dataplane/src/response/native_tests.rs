use super::super::chat_stream::ChatStream;
use super::*;
use crate::dialect_tests::OpenSeal;
use crate::request::StreamOptions;
use dialects::messages::MessageOptions;
use dialects::responses::{History, ResponseContext, ResponsesRequest};
use dialects::{Opened, Traits};
use domain::usage::{Certainty, Tokens};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) fn messages() -> Dialect {
    Dialect::Messages(Arc::new(MessageOptions {
        id: "msg_1".into(),
        model: "acme/tiny".into(),
        context_length: 1000,
        max_tokens: 64,
        stop_sequences: Vec::new(),
        omits_thinking: false,
        is_flex: false,
        opened: Opened::default(),
    }))
}

pub(crate) fn responses() -> Dialect {
    let seal = Arc::new(OpenSeal { workspace: 1 });
    let context = ResponseContext { unique: "1".into(), now: || 7, history: History::default(), seal, stored: None };
    let request = ResponsesRequest::parse(r#"{"model":"acme/tiny","input":"hi"}"#.into()).unwrap();
    Dialect::Responses(Arc::new(request.into_chat(Traits::default(), context).unwrap().options))
}

fn stream(dialect: &Dialect) -> ChatStream {
    let events = NativeEvents::new(dialect, "acme/tiny").unwrap();
    ChatStream::native("acme/tiny", &StreamOptions::default(), 8, events)
}

/// Events as engines write them.
fn written(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// The events of Anthropic's API with these pieces of text.
fn message_events(pieces: &[&str]) -> Vec<Value> {
    let message = json!({"id": "chatcmpl-1", "type": "message", "model": "tiny-q4", "content": [],
        "usage": {"input_tokens": 6, "cache_read_input_tokens": 4, "output_tokens": 0}});
    let mut events = vec![json!({"type": "message_start", "message": message})];
    events.push(json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}));
    events.extend(pieces.iter().map(
        |piece| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}),
    ));
    events.push(json!({"type": "content_block_stop", "index": 0}));
    let usage = json!({"input_tokens": 6, "output_tokens": 5});
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    events
}

/// The events of OpenAI's Responses with these pieces of text.
fn response_events(pieces: &[&str]) -> Vec<Value> {
    let resource = |status: &str, usage: Value| {
        json!({"id": "resp_x", "object": "response", "model": "tiny-q4", "status": status, "output": [], "error": null,
            "usage": usage})
    };
    let mut events = vec![
        json!({"type": "response.created", "response": resource("in_progress", Value::Null)}),
        json!({"type": "response.in_progress", "response": resource("in_progress", Value::Null)}),
        json!({"type": "response.output_item.added", "item": {"type": "message", "content": []}}),
    ];
    events.extend(pieces.iter().map(|piece| json!({"type": "response.output_text.delta", "delta": piece})));
    let content = json!([{"type": "output_text", "text": pieces.concat()}]);
    events.push(json!({"type": "response.output_item.done", "item": {"type": "message", "content": content}}));
    let usage = json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 5});
    events.push(json!({"type": "response.completed", "response": resource("completed", usage)}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    events
}

/// The events that a client gets.
fn received(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let data = |event: &str| {
        let (name, data) = event.strip_prefix("event: ")?.split_once("\ndata: ")?;
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["type"], name);
        Some(data)
    };
    text.split_terminator("\n\n").map(|event| data(event).unwrap_or_else(|| panic!("{event}"))).collect()
}

const EXACT: (Tokens, Certainty) = (Tokens { prompt: 10, completion: 5, cached: 4 }, Certainty::Exact);

#[test]
fn only_the_id_and_the_model_of_a_stream_change() {
    for (dialect, mut events, id) in [
        (messages(), message_events(&["Hel", "lo"]), "msg_1"),
        (responses(), response_events(&["Hel", "lo"]), "resp_1"),
    ] {
        let mut stream = stream(&dialect);
        let out = stream.pass(written(&events).into()).unwrap();
        assert!(stream.is_done() && stream.end().unwrap().is_empty());
        for event in &mut events {
            for member in ["message", "response"] {
                if let Some(resource) = event.get_mut(member) {
                    (resource["id"], resource["model"]) = (id.into(), "acme/tiny".into());
                }
            }
        }
        assert_eq!(received(&out), events);
        assert_eq!(stream.meter.tokens(), EXACT);
    }
}

#[test]
fn a_stream_that_is_cut_anywhere_is_counted_by_what_was_sent() {
    let pieces = ["One ", "two ", "three and four and five"];
    for (dialect, events) in [(messages(), message_events(&pieces)), (responses(), response_events(&pieces))] {
        let mut counts = Vec::new();
        for count in 1..=events.len() {
            let mut stream = stream(&dialect);
            stream.pass(written(&events[..count]).into()).unwrap();
            let (tokens, certainty) = stream.meter.tokens();
            assert!(tokens.prompt >= 8, "{tokens:?}");
            assert_eq!(stream.end().is_err(), count < events.len(), "it has ended early");
            counts.push((tokens.completion, certainty));
        }
        let completions: Vec<u64> = counts.iter().map(|(completion, _)| *completion).collect();
        assert!(completions.is_sorted_by(|one, next| one <= next || *next == 5), "{completions:?}");
        // The last piece has more tokens than one.
        assert!(completions.contains(&2) && completions.contains(&7), "{completions:?}");
        assert_eq!(counts.last(), Some(&(5, Certainty::Exact)));
    }
}

#[test]
fn the_prompt_is_exact_from_the_start_of_a_message() {
    let mut stream = stream(&messages());
    let events = message_events(&["One"]);
    assert_eq!(stream.pass(written(&events[..1]).into()).unwrap(), "");
    assert_eq!(stream.meter.tokens(), (Tokens { prompt: 10, completion: 0, cached: 4 }, Certainty::Exact));
    assert_eq!(received(&stream.pass(written(&events[1..2]).into()).unwrap()).len(), 2);
}

#[test]
fn nothing_is_sent_until_the_engine_has_written_something() {
    for (dialect, events, first) in [(messages(), message_events(&["a"]), 1), (responses(), response_events(&["a"]), 2)]
    {
        let mut stream = stream(&dialect);
        let ping = json!({"type": "ping"});
        for event in events[..first].iter().chain([&ping]) {
            assert_eq!(stream.pass(format!(": alive\n\n{}", written(std::slice::from_ref(event))).into()).unwrap(), "");
        }
        assert_eq!(received(&stream.pass(written(&events[first..=first]).into()).unwrap()).len(), first + 1);
        assert_eq!(received(&stream.pass(written(&[ping]).into()).unwrap()).len(), 1);
        assert_eq!(stream.pass(": alive\n\n".into()).unwrap(), ": ping\n\n");
    }
}

#[test]
fn errors_within_a_stream_are_recognized() {
    let error = json!({"type": "error", "error": {"type": "internal_error", "message": "out of memory"}});
    let flat = json!({"type": "error", "code": "server_error", "message": "out of memory"});
    let failed = json!({"type": "response.failed", "response": {"error": {"message": "out of memory"}}});
    let own = json!({"error": {"message": "out of memory", "code": 500}});
    for (dialect, event) in [(messages(), &error), (messages(), &own), (responses(), &flat), (responses(), &failed)] {
        let found = stream(&dialect).pass(written(std::slice::from_ref(event)).into()).unwrap_err();
        assert!(matches!(&found, BadUpstreamResponse::Reported(error) if error.message == "out of memory"), "{found}");
    }
    for bad in ["data: [DONE]\n\n", "data: 7\n\n", "data: {\"x\":1}\n\n", "data: {\"type\":\n\n"] {
        assert!(stream(&messages()).pass(bad.into()).is_err(), "{bad}");
    }
}

#[test]
fn the_usage_of_a_response_that_fails_is_counted() {
    let mut stream = stream(&responses());
    stream.pass(written(&response_events(&["a"])[..4]).into()).unwrap();
    let usage = json!({"input_tokens": 10, "output_tokens": 300});
    let failed = json!({"type": "response.failed", "response": {"error": {"message": "x"}, "usage": usage}});
    assert!(stream.pass(written(&[failed]).into()).is_err());
    assert_eq!(stream.meter.tokens(), (Tokens { prompt: 10, completion: 300, cached: 0 }, Certainty::Exact));
}

#[test]
fn a_broken_response_fails_under_its_own_id_and_the_next_number() {
    let mut stream = stream(&responses());
    stream.pass(written(&response_events(&["a"])[..4]).into()).unwrap();
    assert!(stream.fail(&CallError::BadGateway { cause: "x".into() }));
    let failed = received(&stream.take_written());
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!((&failed[0]["type"], &failed[0]["sequence_number"]), (&"response.failed".into(), &4.into()));
    assert_eq!(
        (&failed[0]["response"]["id"], &failed[0]["response"]["model"]),
        (&"resp_1".into(), &"acme/tiny".into())
    );
    assert!(!self::stream(&messages()).fail(&CallError::BadGateway { cause: "x".into() }), "the surface writes it");
}

fn whole(dialect: &Dialect, response: &Value) -> (Result<Value, BadUpstreamResponse>, (Tokens, Certainty)) {
    let (mut meter, own) = (TokenMeter::new(8), OwnMembers::new(dialect, "acme/tiny").unwrap());
    let passed = normalize(&response.to_string().into(), &own, &mut meter);
    (passed.map(|bytes| serde_json::from_slice(&bytes).unwrap()), meter.tokens())
}

#[test]
fn whole_responses_are_passed_on_and_counted() {
    let message = json!({"id": "chatcmpl-1", "type": "message", "model": "tiny-q4", "extra": [1],
        "content": [{"type": "text", "text": "12345678"}, {"type": "tool_use", "name": "read", "input": {"a": 1}}],
        "usage": {"input_tokens": 6, "cache_read_input_tokens": 4, "output_tokens": 5}});
    let response = json!({"id": "resp_x", "object": "response", "model": "tiny-q4", "error": null,
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "12345678"}]},
            {"type": "function_call", "name": "read", "arguments": "{\"a\":1}"}],
        "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 5}});
    for (dialect, mut response, id) in [(messages(), message, "msg_1"), (responses(), response, "resp_1")] {
        let (passed, tokens) = whole(&dialect, &response);
        (response["id"], response["model"]) = (id.into(), "acme/tiny".into());
        assert_eq!((passed.unwrap(), tokens), (response.clone(), EXACT));

        let members = response.as_object_mut().unwrap();
        members.remove("usage");
        members.remove("model");
        let (passed, (tokens, certainty)) = whole(&dialect, &response);
        assert_eq!(passed.unwrap()["model"], "acme/tiny");
        // 8 bytes of text, 4 of a name, and some of arguments.
        assert_eq!((tokens.prompt, certainty), (8, Certainty::Estimated));
        assert!((4..=6).contains(&tokens.completion), "{tokens:?}");
    }
}

#[test]
fn invalid_whole_responses_are_rejected() {
    for bad in [json!([]), json!({}), json!({"type": "error", "error": {"message": "no"}}), json!({"content": "text"})]
    {
        assert!(whole(&messages(), &bad).0.is_err(), "{bad}");
    }
    for bad in [json!({"object": "response"}), json!({"status": "failed", "error": {"message": "no"}, "output": []})] {
        assert!(whole(&responses(), &bad).0.is_err(), "{bad}");
    }
}

#[test]
fn an_engine_cannot_repeat_what_is_changed() {
    let own = OwnMembers::new(&messages(), "acme/tiny").unwrap();
    for bad in [r#"{"model":"a","model":"b","content":[]}"#, r#"{"id":"a","content":[],"id":"b"}"#] {
        let passed = normalize(&Bytes::from_static(bad.as_bytes()), &own, &mut TokenMeter::new(8));
        assert!(matches!(passed, Err(BadUpstreamResponse::Unexpected(_))), "{bad}");
    }
    let event = "data: {\"type\":\"response.created\",\"response\":{},\"response\":{}}\n\n";
    assert!(stream(&responses()).pass(event.into()).is_err());
}

proptest! {
    #[test]
    fn a_stream_gives_the_same_events_however_it_is_split(
        is_message in any::<bool>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let (dialect, events) =
            if is_message { (messages(), message_events(&["é", "🙂"])) } else { (responses(), response_events(&["é", "🙂"])) };
        let text = written(&events).into_bytes();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        at.extend([0, text.len()]);
        at.sort_unstable();
        let mut stream = stream(&dialect);
        let mut out = Vec::new();
        for pair in at.windows(2) {
            out.extend_from_slice(&stream.pass(Bytes::copy_from_slice(&text[pair[0]..pair[1]])).unwrap());
        }
        let at_once = self::stream(&dialect).pass(text.into()).unwrap();
        prop_assert_eq!(out, at_once);
        prop_assert_eq!(stream.meter.tokens(), EXACT);
    }
}
