//! Streams of a scripted engine, for the tests of all translations.

use crate::request::StreamOptions;
use crate::response::BadUpstreamResponse;
use crate::response::chat_stream::ChatStream;
use bytes::Bytes;
use dialects::Dialect;
use proptest::prelude::*;
use serde_json::{Value, json};

/// The bytes for the client if the engine's bytes arrive in these pieces.
pub(super) fn pass(model: &str, dialect: &Dialect, pieces: &[&[u8]]) -> (String, Result<(), BadUpstreamResponse>) {
    let mut streaming = StreamOptions::default();
    streaming.usage = true;
    pass_through(&mut ChatStream::new(model, &streaming, 1, 10, dialect.stream()), pieces)
}

/// The output for a stream that arrives in these pieces, and how it ended.
pub(crate) fn pass_through(stream: &mut ChatStream, pieces: &[&[u8]]) -> (String, Result<(), BadUpstreamResponse>) {
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

/// One piece of a response as an engine may send it.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    Text(String),
    Reasoning(String),
    /// The number of the call; its arguments are cut into pieces in order.
    Tool(u64),
}

/// Any piece of a response with up to this many tool calls.
pub(super) fn any_piece(calls: usize) -> impl Strategy<Value = Piece> {
    let calls = calls as u64;
    prop_oneof![
        "[a-z\"é🙂\\\\]{0,4}".prop_map(Piece::Text),
        "[a-z\n]{0,3}".prop_map(Piece::Reasoning),
        (0..calls).prop_map(Piece::Tool),
        (0..calls).prop_map(Piece::Tool),
    ]
}

/// The deltas of the pieces: each piece of a call has `step` letters of its arguments, and what is left comes last.
/// `calls` are the tool and the arguments of each.
pub(super) fn deltas_of(pieces: &[Piece], calls: &[(&str, &str)], step: usize) -> Vec<Value> {
    let mut rest: Vec<Vec<char>> = calls.iter().map(|(_, arguments)| arguments.chars().collect()).collect();
    let mut is_begun = vec![false; calls.len()];
    let mut take = |index: u64, count: usize| {
        let place = index as usize;
        let left = &mut rest[place];
        let taken: String = left.drain(..count.min(left.len())).collect();
        match std::mem::replace(&mut is_begun[place], true) {
            false => call(index, &format!("id{index}"), calls[place].0, &taken),
            true => arguments(index, &taken),
        }
    };
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    let mut begun = Vec::new();
    for piece in pieces {
        deltas.push(match piece {
            Piece::Text(text) => json!({"content": text}),
            Piece::Reasoning(text) => json!({"reasoning": text}),
            Piece::Tool(index) => {
                begun.push(*index);
                take(*index, step)
            }
        });
    }
    begun.sort_unstable();
    begun.dedup();
    deltas.extend(begun.into_iter().map(|index| take(index, usize::MAX)));
    deltas
}

/// The text in parts, cut at these places.
pub(super) fn parts<'a>(text: &'a str, cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
    cuts.extend([0, text.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]).collect()
}
