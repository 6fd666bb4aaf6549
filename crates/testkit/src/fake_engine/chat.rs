//! Unary chat responses.

use bytes::Bytes;
use serde_json::json;

use super::personality::{Personality, timings, usage};
use super::request::ChatRequest;
use super::script::{MAX_CHUNKS, Script};

/// Fixed creation time, so that snapshots are stable.
pub(super) const CREATED: u64 = 1_700_000_000;
pub(super) const RESPONSE_ID: &str = "chatcmpl-fake";

/// Renders the body of a unary response.
pub(super) fn render(script: &Script, request: &ChatRequest) -> Bytes {
    if let Some(raw) = &script.raw_body {
        return Bytes::from(raw.clone());
    }
    let choice = |index: usize| {
        let mut text: String = (0..choice_chunks(script, request, index)).map(|chunk| script.content(chunk)).collect();
        text.push_str(&"x".repeat(script.huge_bytes));
        json!({
            "index": index,
            "message": {"role": "assistant", "content": text, "refusal": null},
            "logprobs": null,
            "finish_reason": script.finish_reason,
        })
    };
    let mut response = json!({
        "id": RESPONSE_ID,
        "object": "chat.completion",
        "created": CREATED,
        "model": script.model,
        "choices": (0..request.choices).map(choice).collect::<Vec<_>>(),
    });
    let of_one_choice = script.engine == Personality::LlamaServer;
    let tokens = if of_one_choice { choice_tokens(script, request, 0) } else { completion_tokens(script, request) };
    if !script.no_usage {
        response["usage"] = usage(script, tokens);
    }
    if of_one_choice {
        response["timings"] = timings(script, tokens);
    }
    let mut body = response.to_string();
    if script.wrong_json {
        body.pop();
    }
    Bytes::from(body)
}

/// Number of completion tokens of the response.
pub(super) fn completion_tokens(script: &Script, request: &ChatRequest) -> u64 {
    let limit = if script.limit_ignored { None } else { request.limit };
    let limit = limit.map_or(u64::MAX, |limit| limit.saturating_mul(request.choices as u64));
    let sum = || (0..request.choices).map(|index| choice_tokens(script, request, index)).sum();
    script.completion_tokens.unwrap_or_else(sum).min(limit)
}

/// Number of completion tokens of one choice.
pub(super) fn choice_tokens(script: &Script, request: &ChatRequest, index: usize) -> u64 {
    choice_chunks(script, request, index) as u64 + script.hidden_tokens
}

/// Number of content chunks of one choice.
pub(super) fn choice_chunks(script: &Script, request: &ChatRequest, index: usize) -> usize {
    chunk_count(script, request).saturating_sub(if script.uneven { index } else { 0 })
}

/// Number of content chunks of the first choice: one token each, within the limit of the call.
pub(super) fn chunk_count(script: &Script, request: &ChatRequest) -> usize {
    let limit = if script.limit_ignored { None } else { request.limit };
    script.chunks.min(MAX_CHUNKS).min(limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX)))
}
