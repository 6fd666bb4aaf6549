//! Fuzz targets for the bodies of clients and of model servers, with serde_json as the reference.

use crate::count_tokens::read_length;
use crate::request::{
    BYTES_PER_TOKEN, EmbeddingOptions, Encoding, Operation, ParseError, ParsedRequest, SessionContext, StreamOptions,
    chat, completions, embeddings, rerank, tokens,
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
const COMPLETION_WORDS: &[&str] = &[
    ",\"prompt\":\"hi\"",
    ",\"prompt\":[\"a\",\"b\"]",
    ",\"prompt\":[[1],[2,3]]",
    ",\"prompt\":null",
    ",\"suffix\":\"x\"",
    ",\"echo\":true",
    ",\"logprobs\":2",
    ",\"best_of\":3",
    ",\"max_tokens\":0",
    ",\"tokens\":[1,2]",
    ",\"messages\":null",
];
const RERANK_WORDS: &[&str] = &[
    ",\"model\":\"a/b\"",
    ",\"query\":\"q\"",
    ",\"documents\":[\"a\",{\"text\":\"b\"}]",
    ",\"documents\":null",
    ",\"rank_fields\":[\"text\"]",
    ",\"top_n\":1",
    ",\"return_documents\":true",
    ",\"queries\":[\"a\",\"b\"]",
    ",\"items\":\"a\"",
    ",\"text_1\" : \"a\"",
    ",\"data_2\":[\"a\",\"b\"]",
    ",\"cache_salt\":\"s\"",
    ",\"relevance_score\":1e-3",
    ",\"score\":-0.5",
    ",\"index\":1",
    "\"results\":[]",
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
        let sent: Members = serde_json::from_slice(&sent).unwrap();
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

#[test]
fn completion_requests() {
    Fuzz::new("completion-request").words(REQUEST_WORDS).words(COMPLETION_WORDS).words(VALUE_WORDS).run(|bytes| {
        check_request(bytes, completions::parse(Bytes::copy_from_slice(bytes)));
    });
}

#[test]
fn tokenize_requests() {
    Fuzz::new("tokenize-request").words(REQUEST_WORDS).words(COMPLETION_WORDS).words(VALUE_WORDS).run(|bytes| {
        check_request(bytes, tokens::parse_tokenize(Bytes::copy_from_slice(bytes)));
    });
}

type Members = Map<String, Value>;

/// The request as serde_json reads it, and as it is sent; `None` if it is rejected.
fn read_and_sent(bytes: &[u8], parsed: Result<ParsedRequest, ParseError>) -> Option<(ParsedRequest, Members, Members)> {
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let request = parsed.ok().filter(|request| request.invalid.is_none())?;
    let members = match reference(text) {
        Reference::Value(Value::Object(members)) => members,
        Reference::Value(_) | Reference::Invalid => panic!("accepted, but not a JSON object"),
        Reference::Unknown => return None,
    };
    assert_eq!(members["model"], Value::from(request.model.as_str()));
    let sent = request.upstream_edits("up", false, None).apply(&request.body);
    let sent: Map<String, Value> = serde_json::from_slice(&sent).unwrap();
    assert_eq!(sent["model"], "up");
    Some((request, members, sent))
}

#[test]
fn rerank_requests() {
    Fuzz::new("rerank-request").words(RERANK_WORDS).words(VALUE_WORDS).run(|bytes| {
        let parsed = rerank::parse(Bytes::copy_from_slice(bytes));
        let Some((request, members, sent)) = read_and_sent(bytes, parsed) else { return };
        assert_eq!(sent["query"], members["query"]);
        let documents = |members: &Map<String, Value>| members["documents"].as_array().unwrap().clone();
        let (own, texts) = (documents(&members), documents(&sent));
        let Operation::Rerank(options) = &request.operation else { panic!("not a comparison") };
        assert_eq!((own.len(), options.scores), (texts.len(), texts.len()));
        for (own, text) in own.iter().zip(&texts) {
            assert!(text.is_string() && (own.is_object() || own == text), "{own} became {text}");
        }
        assert!(request.operation.echo_bytes() <= request.body.len(), "a response repeats no more than the request");
    });
}

#[test]
fn score_requests() {
    Fuzz::new("score-request").words(RERANK_WORDS).words(VALUE_WORDS).run(|bytes| {
        let parsed = rerank::parse_score(Bytes::copy_from_slice(bytes));
        let Some((request, members, sent)) = read_and_sent(bytes, parsed) else { return };
        let Operation::Rerank(options) = &request.operation else { panic!("not a comparison") };
        let count = |value: &Value| value.as_array().map_or(1, Vec::len);
        let texts: Vec<&String> = sent.keys().filter(|name| *name != "model").collect();
        assert_eq!(texts.len(), 2, "the engine gets nothing but the texts: {texts:?}");
        assert!(texts.iter().all(|name| sent[*name] == members[*name]), "{texts:?}");
        assert!(texts.iter().any(|name| count(&sent[*name]) == options.scores), "{texts:?}");
    });
}

#[test]
fn detokenize_requests() {
    Fuzz::new("detokenize-request").words(COMPLETION_WORDS).words(VALUE_WORDS).run(|bytes| {
        let parsed = tokens::parse_detokenize(Bytes::copy_from_slice(bytes));
        let Some((_, members, sent)) = read_and_sent(bytes, parsed) else { return };
        assert_eq!(sent["tokens"], members["tokens"]);
        assert!(sent["tokens"].as_array().unwrap().iter().all(Value::is_number), "{}", sent["tokens"]);
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

#[test]
fn completion_responses() {
    let body = r#"{"model":"a/b","prompt":["a","b"],"n":2,"echo":true}"#;
    let request = completions::parse(body.into()).unwrap();
    Fuzz::new("completion-response").words(STREAM_WORDS).words(&["\"text\":\"a\"", "\"logprobs\":null"]).run(|bytes| {
        let response = Bytes::copy_from_slice(bytes);
        for echo in [None, request.echo()] {
            let mut meter = TokenMeter::new(40);
            let choices = request.choices();
            let normalized = response::chat::normalize_texts(&response, "acme/tiny", choices, echo, &mut meter);
            if let Ok(normalized) = normalized {
                assert_json_stays_json(bytes, &normalized);
            }
        }
    });
}

#[test]
fn rerank_responses() {
    let rerank = r#"{"model":"a/b","query":"q","documents":["a","b"],"return_documents":true}"#;
    let score = r#"{"model":"a/b","queries":"q","documents":["a","b"]}"#;
    let requests = [rerank::parse(rerank.into()).unwrap(), rerank::parse_score(score.into()).unwrap()];
    Fuzz::new("rerank-response").words(RERANK_WORDS).words(VALUE_WORDS).run(|bytes| {
        let response = Bytes::copy_from_slice(bytes);
        for request in &requests {
            let Operation::Rerank(options) = &request.operation else { panic!("not a comparison") };
            let mut meter = TokenMeter::new(40);
            let normalized = response::rerank::normalize(&response, "acme/rank", options, "req_1", &mut meter);
            let Ok(normalized) = normalized else { continue };
            let Reference::Value(value) = reference(&normalized) else {
                panic!("not JSON: {}", normalized.escape_ascii())
            };
            let results = value.get("results").or(value.get("data")).and_then(Value::as_array);
            assert_eq!(results.map(Vec::len), Some(2), "one score for each text");
        }
    });
}

#[test]
fn tokenize_responses() {
    Fuzz::new("tokenize-response").words(COMPLETION_WORDS).words(VALUE_WORDS).run(|bytes| {
        let Some(length) = read_length(bytes, b"tokens") else { return };
        match reference(bytes) {
            Reference::Value(value) => {
                let tokens = value["tokens"].as_array().map(|tokens| tokens.len() as u64);
                // serde_json also reads a name with escapes.
                assert!(tokens == Some(length) || bytes.contains(&b'\\'), "{length} of {tokens:?}");
            }
            // What follows the object is not looked at.
            Reference::Invalid | Reference::Unknown => {}
        }
    });
}
