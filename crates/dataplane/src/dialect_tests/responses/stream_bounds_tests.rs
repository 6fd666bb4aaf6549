//! What a stream keeps in memory, and its bounds.

use super::stream_tests::{options, options_if_stored, stream as stream_of};
use bytes::BytesMut;
use dialects::responses::FinishedResponse;
use dialects::{StreamTranslator, TranslateError};
use domain::usage::Tokens;
use serde_json::{Value, json};

fn stream(members: Value) -> Box<dyn StreamTranslator> {
    stream_of(options(members))
}

/// Passes on a chunk with this text.
fn add(stream: &mut dyn StreamTranslator, text: &str) -> Result<(), TranslateError> {
    pass(stream, &json!({"index": 0, "delta": {"content": text}, "finish_reason": null}))
}

/// Passes on a chunk with a token whose log probabilities are about this long.
fn add_logprobs(stream: &mut dyn StreamTranslator, bytes: usize) -> Result<(), TranslateError> {
    let logprobs =
        json!({"content": [{"token": "x".repeat(bytes), "logprob": -0.5, "bytes": null, "top_logprobs": []}]});
    pass(stream, &json!({"index": 0, "delta": {"content": "x"}, "logprobs": logprobs, "finish_reason": null}))
}

fn pass(stream: &mut dyn StreamTranslator, choice: &Value) -> Result<(), TranslateError> {
    let chunk = json!({"choices": [choice]}).to_string();
    stream.chunk(chunk.as_bytes(), Tokens::default(), &mut BytesMut::new())
}

#[test]
fn a_stream_keeps_what_the_response_repeats_and_room_to_end() {
    let mut stream = stream(json!({"instructions": "x".repeat(5_000)}));
    let echo = stream.kept_bytes();
    assert!((5_000..8_000).contains(&echo), "{echo} bytes of the request");
    add(&mut *stream, &"y".repeat(10_000)).unwrap();
    let output = stream.kept_bytes() - echo;
    let mut end = BytesMut::new();
    stream.end(Tokens::default(), &mut end).unwrap();
    let written = end.len() - echo;
    assert!((40_000..45_000).contains(&written), "the output is written four times, in {written} bytes");
    assert!((50_000..60_000).contains(&output), "{output} bytes for the output and its copies");
}

#[test]
fn a_stream_whose_response_is_stored_keeps_room_for_that() {
    let output_of = |finished: Option<FinishedResponse>| {
        let mut stream = stream_of(options_if_stored(json!({}), finished));
        let echo = stream.kept_bytes();
        add(&mut *stream, &"y".repeat(10_000)).unwrap();
        stream.kept_bytes() - echo
    };
    assert!(output_of(Some(FinishedResponse::default())) > output_of(None) + 10_000);
}

#[test]
fn the_output_of_a_stream_is_bounded() {
    let (mut stream, text) = (stream(json!({})), "y".repeat(1 << 20));
    for _ in 0..15 {
        add(&mut *stream, &text).unwrap();
    }
    assert_eq!(add(&mut *stream, &text), Err(TranslateError::Unexpected("the response is too large")));
}

#[test]
fn the_tool_calls_of_a_chunk_are_bounded() {
    let with_calls = |count: usize| {
        let choice = json!({"index": 0, "delta": {"tool_calls": vec![json!({}); count]}, "finish_reason": null});
        pass(&mut *stream(json!({})), &choice)
    };
    assert_eq!(with_calls(1 << 12), Ok(()));
    assert!(with_calls((1 << 12) + 1).is_err());
}

#[test]
fn the_tool_calls_of_a_stream_are_bounded() {
    let mut stream = stream(json!({}));
    let mut add_call = |index: usize| {
        let delta = json!({"tool_calls": [{"index": index, "function": {"name": "f", "arguments": "{"}}]});
        pass(&mut *stream, &json!({"index": 0, "delta": delta, "finish_reason": null}))
    };
    for index in 0..1 << 12 {
        add_call(index).unwrap();
    }
    assert_eq!(add_call(7), Ok(()), "a call that is open goes on");
    assert_eq!(add_call(1 << 12), Err(TranslateError::Unexpected("there are too many tool calls")));
}

#[test]
fn the_ids_of_calls_without_a_name_are_bounded() {
    for id_comes_later in [false, true] {
        let mut stream = stream(json!({}));
        let mut add_call = |index: usize| {
            let call = json!({"index": index, "id": "x".repeat(1 << 20)});
            let calls = if id_comes_later { json!([{"index": index}, call]) } else { json!([call]) };
            pass(&mut *stream, &json!({"index": 0, "delta": {"tool_calls": calls}, "finish_reason": null}))
        };
        for index in 0..15 {
            add_call(index).unwrap();
        }
        assert_eq!(add_call(15), Err(TranslateError::Unexpected("the response is too large")));
    }
}

#[test]
fn log_probabilities_have_a_bound_of_their_own() {
    let mut stream = stream(json!({}));
    for _ in 0..31 {
        add_logprobs(&mut *stream, 1 << 20).unwrap();
    }
    let kept = stream.kept_bytes();
    assert!(kept > 31 << 20, "{kept} bytes are kept");
    add(&mut *stream, &"y".repeat(1 << 20)).unwrap();
    assert_eq!(add_logprobs(&mut *stream, 1 << 20), Err(TranslateError::Unexpected("the response is too large")));
}
