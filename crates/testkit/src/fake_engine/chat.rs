//! Unary chat responses.

use bytes::Bytes;
use serde_json::{Value, json};

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
    let mut text = script.text.repeat(chunk_count(script, request));
    text.push_str(&"x".repeat(script.huge_bytes));
    let choice = |index: usize| {
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
    if !script.no_usage {
        response["usage"] = usage(script, completion_tokens(script, request));
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
    script.completion_tokens.unwrap_or((chunk_count(script, request) * request.choices) as u64).min(limit)
}

/// Number of content chunks: one token each, within the limit of the call.
pub(super) fn chunk_count(script: &Script, request: &ChatRequest) -> usize {
    let limit = if script.limit_ignored { None } else { request.limit };
    script.chunks.min(MAX_CHUNKS).min(limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX)))
}

pub(super) fn usage(script: &Script, completion_tokens: u64) -> Value {
    let mut usage = json!({
        "prompt_tokens": script.prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": script.prompt_tokens + completion_tokens,
    });
    if let Some(cached_tokens) = script.cached_tokens {
        usage["prompt_tokens_details"] = json!({"cached_tokens": cached_tokens});
    }
    usage
}
