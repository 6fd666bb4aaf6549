//! Fuzz targets for the bodies of clients and of model servers, with serde_json as the reference.

use crate::request::{
    BYTES_PER_TOKEN, EmbeddingOptions, Encoding, ParseError, ParsedRequest, SessionContext, StreamOptions, chat,
    embeddings,
};
use crate::response::chat_stream::ChatStream;
use crate::response::native::NativeEvents;
use crate::response::native::tests::{messages, responses};
use crate::response::{self, TokenMeter, upstream_error};
use bytes::Bytes;
use dialects::Dialect;
use domain::model::{EngineKind, ImageTokens, ReasoningNames};
use fuzz::Fuzz;
use serde_json::{Map, Value};

const REQUEST_WORDS: &[&str] = &[
    ",\"model\":\"a/b\"",
    ",\"Model\":\"x\"",
    ",\"mod\\u0065l\":\"x\"",
    ",\"messages\":[]",
    ",\"stream\":true",
    ",\"stream_options\":{\"include_usage\":true}",
    ",\"stream_options\":null",
    ",\"n\":2",
    ",\"max_tokens\":5",
    ",\"max_tokens\":null",
    ",\"max_completion_tokens\":9",
    ",\"cache_salt\":\"s\"",
    ",\"cache_salt\":null",
    ",\"cache_prompt\":true",
    ",\"temperature\":1.0",
    ",\"tools\":[]",
    ",\"stop\":[\"a\"]",
    ",\"input\":[\"a\",\"b\"]",
    ",\"input\":[1,2]",
    ",\"encoding_format\":\"base64\"",
    ",\"dimensions\":3",
];
/// Pieces of values, for the requests of every API.
pub(crate) const VALUE_WORDS: &[&str] = &["null", "1e400", "[", "]", "{", "}", "\"", "\\u0041", "\u{e9}", "\u{feff}"];
pub(crate) const STREAM_WORDS: &[&str] = &[
    "data: ",
    "data:",
    "\n",
    "\n\n",
    "\r\n",
    "\r\n\r\n",
    "\r",
    ": ping\n\n",
    "event: x\n",
    "data: [DONE]\n\n",
    "\"usage\":",
    "\"usage\":null",
    ",\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}",
    "\"choices\":[]",
    "\"delta\":null",
    "\"role\":\"assistant\"",
    "\"role\":null",
    ",\"finish_reason\":\"stop\"",
    "\"finish_reason\":null",
    "\"index\":127",
    "\"index\":128",
    ",\"error\":{\"message\":\"x\"}",
    "\"object\":\"error\"",
    "\"tool_calls\":[{}]",
    ",\"id\":\"a\"",
    ",\"created\":7",
    ",\"model\":\"x\"",
    "null",
    "1e400",
    "{",
    "}",
    "[",
    "]",
    "\u{e9}",
];

/// The value, if serde_json can represent it.
pub(crate) enum Reference {
    Value(Value),
    Invalid,
    /// Valid JSON, but too deep or with a number that is too large for serde_json.
    Unknown,
}

pub(crate) fn reference(text: &[u8]) -> Reference {
    match serde_json::from_slice(text) {
        Ok(value) => Reference::Value(value),
        Err(error) => {
            let error = error.to_string();
            let is_unknown = error.contains("out of range") || error.contains("recursion limit");
            if is_unknown { Reference::Unknown } else { Reference::Invalid }
        }
    }
}

/// Members that the gateway edits on the way to a model server.
const EDITED: [&str; 6] =
    ["model", "stream_options", "max_tokens", "max_completion_tokens", "cache_salt", "cache_prompt"];

/// A request that is accepted is the one that serde_json reads, and stays so after all edits.
fn check_request(bytes: &[u8], parsed: Result<ParsedRequest, ParseError>) {
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let (request, members) = match (parsed, reference(text)) {
        (Ok(request), Reference::Value(Value::Object(members))) => (request, members),
        (Ok(_), Reference::Value(_) | Reference::Invalid) => panic!("accepted, but not a JSON object"),
        (Ok(_), Reference::Unknown) | (Err(_), _) => return,
    };
    if request.invalid.is_some() {
        return;
    }
    assert_eq!(members["model"], Value::from(request.model.as_str()));
    // An empty member counts as a digest of eight bytes, an image by its dimensions.
    let images = memchr::memmem::find_iter(text, "image_url").count() as u64;
    let most = 8 * text.len() as u64 + images * ImageTokens::default().most * BYTES_PER_TOKEN;
    assert!(request.fingerprint("tenant", SessionContext::default()).bytes() <= most);
    let limit = request.estimate.limit_to_send(7);
    for engine in [EngineKind::ForebayEngine, EngineKind::Vllm, EngineKind::Sglang, EngineKind::LlamaServer] {
        let mut edits = request.upstream_edits("up", true, limit);
        request.name_reasoning(Some(engine), &mut edits);
        request.isolate_cache(engine, "5a17", &mut edits);
        let length = edits.length(request.body.len());
        let sent = edits.apply(&request.body);
        assert_eq!(sent.len(), length);
        let sent: Map<String, Value> = serde_json::from_slice(&sent).unwrap();
        assert_eq!(sent["model"], "up");
        let others = |members: &Map<String, Value>| {
            let mut others = members.clone();
            EDITED.iter().for_each(|edited| drop(others.remove(*edited)));
            for message in others.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten() {
                message
                    .as_object_mut()
                    .map(|message| ["reasoning", "reasoning_content"].map(|name| message.remove(name)));
            }
            others
        };
        assert_eq!(others(&sent), others(&members));
        check_limits(limit, &sent);
        match engine {
            EngineKind::LlamaServer => assert_eq!(sent["cache_prompt"], false),
            EngineKind::ForebayEngine | EngineKind::Vllm | EngineKind::Sglang => {
                assert!(sent["cache_salt"].as_str().unwrap().starts_with("5a17"));
            }
        }
    }
}

/// If a limit is to be sent, no engine can read another one.
fn check_limits(limit: Option<u64>, sent: &Map<String, Value>) {
    let Some(limit) = limit else { return };
    let limits: Vec<u64> =
        ["max_tokens", "max_completion_tokens"].iter().filter_map(|name| sent.get(*name)?.as_u64()).collect();
    assert!(!limits.is_empty() && limits.iter().all(|sent| *sent <= limit), "{limits:?} above {limit}");
}

#[test]
fn chat_requests() {
    Fuzz::new("chat-request").words(REQUEST_WORDS).words(VALUE_WORDS).run(|bytes| {
        check_request(bytes, chat::parse(Bytes::copy_from_slice(bytes)));
    });
}

#[test]
fn embedding_requests() {
    Fuzz::new("embedding-request").words(REQUEST_WORDS).words(VALUE_WORDS).run(|bytes| {
        check_request(bytes, embeddings::parse(Bytes::copy_from_slice(bytes)));
    });
}

/// What the client of a stream sees, the tokens that were counted, and whether the stream ended well.
pub(crate) fn relay(pieces: &[&[u8]], dialect: &Dialect) -> (Vec<u8>, String, bool) {
    let mut options = StreamOptions::default();
    options.usage = true;
    relay_through(ChatStream::new("acme/tiny", &options, 1, 40, dialect.stream()), pieces)
}

fn relay_through(mut stream: ChatStream, pieces: &[&[u8]]) -> (Vec<u8>, String, bool) {
    let mut out = Vec::new();
    let mut run = || {
        for piece in pieces {
            out.extend_from_slice(&stream.pass(Bytes::copy_from_slice(piece))?);
        }
        out.extend_from_slice(&stream.end()?);
        Ok::<(), response::BadUpstreamResponse>(())
    };
    let is_ok = run().is_ok();
    out.extend_from_slice(&stream.take_written());
    (out, format!("{:?}", stream.meter.tokens()), is_ok)
}

/// The data of the events in a stream, read as the HTML standard says: lines end with CR, LF or CRLF.
pub(crate) fn events(stream: &str) -> Vec<String> {
    let text = stream.replace("\r\n", "\n").replace('\r', "\n");
    let event =
        |event: &str| event.lines().filter_map(|line| line.strip_prefix("data: ")).collect::<Vec<_>>().join("\n");
    text.split("\n\n").map(event).filter(|data| !data.is_empty()).collect()
}

#[test]
fn chat_streams() {
    Fuzz::new("chat-stream").words(STREAM_WORDS).run(|bytes| {
        let whole = relay(&[bytes], &Dialect::Chat);
        assert_eq!(relay(&fuzz::pieces(bytes), &Dialect::Chat), whole, "in pieces");
        let (out, _, is_ok) = whole;
        // Text that is not UTF-8 passes; it is the engine's text.
        let Ok(text) = std::str::from_utf8(&out) else { return };
        let events = events(text);
        let ends = events.iter().filter(|event| *event == "[DONE]").count();
        assert_eq!(ends, usize::from(is_ok), "one end if all is well");
        for event in events.iter().filter(|event| *event != "[DONE]") {
            assert!(!matches!(reference(event.as_bytes()), Reference::Invalid), "{event}");
        }
    });
}

#[test]
fn native_streams() {
    Fuzz::new("native-stream").words(STREAM_WORDS).run(|bytes| {
        for dialect in [messages(), responses()] {
            let stream = || {
                let events = NativeEvents::new(&dialect, "acme/tiny").expect("engines know the API");
                ChatStream::native("acme/tiny", &StreamOptions::default(), 40, events)
            };
            let whole = relay_through(stream(), &[bytes]);
            assert_eq!(relay_through(stream(), &fuzz::pieces(bytes)), whole, "in pieces");
            let Ok(text) = std::str::from_utf8(&whole.0) else { continue };
            for event in events(text) {
                assert!(!matches!(reference(event.as_bytes()), Reference::Invalid), "{event}");
            }
        }
    });
}

pub(crate) fn assert_json_stays_json(response: &[u8], normalized: &[u8]) {
    if std::str::from_utf8(response).is_ok() {
        assert!(!matches!(reference(normalized), Reference::Invalid), "{}", normalized.escape_ascii());
    }
}

#[test]
fn chat_responses() {
    Fuzz::new("chat-response").words(STREAM_WORDS).run(|bytes| {
        let mut meter = TokenMeter::new(40);
        let response = Bytes::copy_from_slice(bytes);
        if let Ok(normalized) = response::chat::normalize(&response, "acme/tiny", 128, ReasoningNames::Both, &mut meter)
        {
            assert_json_stays_json(bytes, &normalized);
        }
        let error = upstream_error::read(bytes);
        for text in [&error.message, &error.param, &upstream_error::message(bytes)] {
            assert!(text.chars().count() <= 500 && !text.contains(char::is_control));
        }
    });
}

#[test]
fn embedding_responses() {
    Fuzz::new("embedding-response").words(STREAM_WORDS).run(|bytes| {
        for encoding in [Encoding::Float, Encoding::Base64] {
            let options = EmbeddingOptions { encoding, dimensions: None, inputs: 1 };
            let mut meter = TokenMeter::new(40);
            let response = Bytes::copy_from_slice(bytes);
            if let Ok(normalized) = response::embeddings::normalize(&response, "acme/tiny", &options, &mut meter) {
                assert_json_stays_json(bytes, &normalized);
            }
        }
    });
}
