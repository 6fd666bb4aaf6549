//! Streams of a scripted engine, for the tests of all translations.

use super::StreamTranslator;
use crate::request::StreamOptions;
use crate::response::BadUpstreamResponse;
use crate::response::chat_stream::ChatStream;
use bytes::Bytes;
use serde_json::{Value, json};

/// The bytes for the client if the engine's bytes arrive in these pieces.
pub(super) fn pass(
    model: &str,
    translator: impl StreamTranslator + 'static,
    pieces: &[&[u8]],
) -> (String, Result<(), BadUpstreamResponse>) {
    let mut streaming = StreamOptions::default();
    streaming.usage = true;
    let mut stream = ChatStream::new(model, &streaming, 1, 10, Some(Box::new(translator)));
    let mut out = Vec::new();
    let mut run = || {
        for piece in pieces {
            out.extend_from_slice(&stream.pass(Bytes::copy_from_slice(piece))?);
        }
        out.extend_from_slice(&stream.end()?);
        Ok(())
    };
    let result = run();
    out.extend_from_slice(&stream.take_written());
    (String::from_utf8(out).unwrap(), result)
}

/// The chunks of an engine: one per delta, then the finish reason and the usage.
pub(super) fn engine_stream(deltas: &[Value], finish: &str) -> String {
    let chunk = |delta: &Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\n", json!({"id": "c", "created": 1, "model": "up", "choices": [choice]}))
    };
    let mut text: String = deltas.iter().map(|delta| chunk(delta, Value::Null)).collect();
    text += &chunk(&json!({}), finish.into());
    let usage = json!({"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14,
        "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 2}});
    text + &format!("data: {}\n\ndata: [DONE]\n\n", json!({"id": "c", "choices": [], "usage": usage}))
}

/// The delta that begins a tool call.
pub(super) fn call(index: u64, id: &str, name: &str, arguments: &str) -> Value {
    json!({"tool_calls": [{"index": index, "id": id, "type": "function",
        "function": {"name": name, "arguments": arguments}}]})
}

/// A delta with further arguments of a tool call.
pub(super) fn arguments(index: u64, arguments: &str) -> Value {
    json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})
}
