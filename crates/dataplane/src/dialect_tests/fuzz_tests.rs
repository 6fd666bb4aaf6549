//! Fuzz targets for the translations: what clients send to other APIs, and what engines answer.

use super::OpenSeal;
use crate::fuzz_tests::{Reference, STREAM_WORDS, VALUE_WORDS, assert_json_stays_json, events, reference, relay};
use crate::request::{ParseError, ParsedRequest, Translated};
use crate::response::{self, TokenMeter};
use bytes::Bytes;
use dialects::messages::MessagesRequest;
use dialects::responses::{History, ResponseContext, ResponsesRequest};
use dialects::{Dialect, Traits};
use domain::model::ReasoningNames;
use fuzz::Fuzz;
use serde_json::Value;
use std::sync::Arc;

const BLOCK_WORDS: &[&str] = &[
    ",\"stream\":true",
    ",\"max_tokens\":5",
    ",\"temperature\":1.0",
    ",{\"role\":\"user\",\"content\":\"a\"}",
    ",{\"role\":\"assistant\",\"content\":[]}",
    "\"role\":\"system\"",
    "\"role\":\"developer\"",
    "\"type\":\"text\"",
    "\"type\":\"input_text\"",
    "\"type\":\"image\"",
    "\"type\":\"thinking\"",
    "\"type\":\"tool_use\"",
    "\"type\":\"tool_result\"",
    "\"type\":\"function_call\"",
    "\"type\":\"function_call_output\"",
    "\"type\":\"item_reference\"",
    "\"type\":\"custom\"",
    ",\"tool_choice\":{\"type\":\"any\"}",
    ",\"tool_choice\":\"none\"",
    ",\"cache_control\":{\"type\":\"ephemeral\"}",
    ",\"output_config\":{}",
];

pub(super) fn messages(body: &[u8]) -> Result<(ParsedRequest, Dialect), ParseError> {
    let request = MessagesRequest::parse(Bytes::copy_from_slice(body))?;
    let chat = Translated::parse(request.into_chat(Traits::default(), "msg_1".into())?)?;
    Ok((chat.request, Dialect::Messages(Arc::new(chat.options))))
}

pub(super) fn responses(body: &[u8]) -> Result<(ParsedRequest, Dialect), ParseError> {
    let request = ResponsesRequest::parse(Bytes::copy_from_slice(body))?;
    request.references(9)?;
    let (history, seal) = (History::default(), Arc::new(OpenSeal { workspace: 1 }));
    check_stored(&request.stored_input(&history, &*seal)?, &seal);
    let context = ResponseContext { unique: "1".into(), now: || 7, history, seal, stored: None };
    let chat = Translated::parse(request.into_chat(Traits::default(), context)?)?;
    Ok((chat.request, Dialect::Responses(Arc::new(chat.options))))
}

/// What is stored of an input can be read again, and nothing of it is left out then.
fn check_stored(input: &[u8], seal: &OpenSeal) {
    let body = [b"{\"model\":\"m\",\"input\":", input, b"}"].concat();
    let request = ResponsesRequest::parse(body.into()).expect("a stored input is JSON");
    let again = request.stored_input(&History::default(), seal).expect("a stored input has known items");
    assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(input));
}

/// The dialects of requests with tools, for what engines answer.
fn dialects() -> [Dialect; 2] {
    let message = br#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"}],"stop_sequences":["b"]}"#;
    let response = br#"{"model":"m","input":"a","reasoning":{"summary":"auto"},"tools":[
        {"type":"custom","name":"a"},{"type":"function","name":"b"}]}"#;
    [messages(message).unwrap().1, responses(response).unwrap().1]
}

/// A request that is accepted becomes a chat request for the same model.
fn check_request(body: &[u8], translated: Result<(ParsedRequest, Dialect), ParseError>) {
    let Ok((chat, _)) = translated else { return };
    let text = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let Reference::Value(sent) = reference(text) else {
        assert!(!matches!(reference(text), Reference::Invalid), "accepted, but not JSON");
        return;
    };
    if chat.invalid.is_none() {
        let chat: Value = serde_json::from_slice(&chat.body).unwrap();
        assert_eq!(chat["model"], sent["model"]);
        assert_eq!(chat["stream"] == true, sent["stream"] == true);
    }
}

#[test]
fn messages_requests() {
    Fuzz::new("messages-request")
        .words(BLOCK_WORDS)
        .words(VALUE_WORDS)
        .executions(5_000)
        .run(|bytes| check_request(bytes, messages(bytes)));
}

#[test]
fn responses_requests() {
    Fuzz::new("responses-request")
        .words(BLOCK_WORDS)
        .words(VALUE_WORDS)
        .executions(5_000)
        .run(|bytes| check_request(bytes, responses(bytes)));
}

/// The events do not depend on how the engine's bytes arrive, and each is JSON.
#[test]
fn translated_streams() {
    let dialects = dialects();
    Fuzz::new("chat-stream").words(STREAM_WORDS).executions(2_000).run(|bytes| {
        for dialect in &dialects {
            let whole = relay(&[bytes], dialect);
            assert_eq!(relay(&fuzz::pieces(bytes), dialect), whole, "in pieces");
            let Ok(text) = std::str::from_utf8(&whole.0) else { continue };
            for event in events(text) {
                assert!(!matches!(reference(event.as_bytes()), Reference::Invalid), "{event}");
            }
        }
    });
}

#[test]
fn translated_responses() {
    let dialects = dialects();
    Fuzz::new("chat-response").words(STREAM_WORDS).run(|bytes| {
        let mut meter = TokenMeter::new(40);
        let bytes = Bytes::copy_from_slice(bytes);
        let Ok(chat) = response::chat::normalize(&bytes, "m", 128, ReasoningNames::Both, &mut meter) else { return };
        for dialect in &dialects {
            if let Ok(translated) = dialect.translate(chat.clone(), meter.tokens().0) {
                assert_json_stays_json(&bytes, &translated);
            }
        }
    });
}
