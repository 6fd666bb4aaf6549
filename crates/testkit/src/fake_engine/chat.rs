//! Unary chat answers.

use bytes::Bytes;
use serde_json::{Value, json};

use super::asked::Asked;
use super::script::{MAX_CHUNKS, Script};

/// All answers were created at the same second, so that snapshots hold.
pub(super) const CREATED: u64 = 1_700_000_000;
pub(super) const ANSWER_ID: &str = "chatcmpl-fake";

/// The body of a unary answer.
pub(super) fn render(script: &Script, asked: &Asked) -> Bytes {
    if let Some(raw) = &script.raw_body {
        return Bytes::from(raw.clone());
    }
    let mut text = script.text.repeat(chunk_count(script, asked));
    text.push_str(&"x".repeat(script.huge_bytes));
    let choice = |index: usize| {
        json!({
            "index": index,
            "message": {"role": "assistant", "content": text, "refusal": null},
            "logprobs": null,
            "finish_reason": script.finish_reason,
        })
    };
    let mut answer = json!({
        "id": ANSWER_ID,
        "object": "chat.completion",
        "created": CREATED,
        "model": script.model,
        "choices": (0..asked.choices).map(choice).collect::<Vec<_>>(),
    });
    if !script.no_usage {
        answer["usage"] = usage(script, completion_tokens(script, asked));
    }
    let mut body = answer.to_string();
    if script.wrong_json {
        body.pop();
    }
    Bytes::from(body)
}

/// How many tokens the whole answer has.
pub(super) fn completion_tokens(script: &Script, asked: &Asked) -> u64 {
    let most = if script.limit_ignored { None } else { asked.limit };
    let most = most.map_or(u64::MAX, |limit| limit.saturating_mul(asked.choices as u64));
    script.completion_tokens.unwrap_or((chunk_count(script, asked) * asked.choices) as u64).min(most)
}

/// One token to a chunk, and no more than the call allows.
pub(super) fn chunk_count(script: &Script, asked: &Asked) -> usize {
    let most = if script.limit_ignored { None } else { asked.limit };
    script.chunks.min(MAX_CHUNKS).min(most.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX)))
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
