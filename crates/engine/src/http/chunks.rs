//! The JSON of answers and of the chunks of a stream.

use super::unix_seconds;
use crate::decode::{Chances, Logprob};
use crate::model::Model;
use bytes::Bytes;
use serde_json::{Value, json};

/// What all chunks of an answer have in common.
pub(super) struct Head {
    id: String,
    created: u64,
    /// As the caller wrote it.
    model: String,
}

impl Head {
    pub(super) fn new(model: String) -> Self {
        Self { id: format!("chatcmpl-{:032x}", fastrand::u128(..)), created: unix_seconds(), model }
    }

    /// A whole answer.
    pub(super) fn answer(&self, choices: &Value, usage: &Value) -> Value {
        json!({
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": choices,
            "usage": usage,
        })
    }

    /// One event of a stream; `usage` is there only where it was asked for.
    pub(super) fn chunk(&self, choices: &Value, usage: Option<Value>) -> Bytes {
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
        });
        if let Some(usage) = usage {
            chunk["usage"] = usage;
        }
        event(&chunk)
    }
}

/// A value as a server-sent event.
pub(super) fn event(value: &Value) -> Bytes {
    Bytes::from(format!("data: {value}\n\n"))
}

/// The choice of a chunk.
pub(super) fn delta(index: usize, delta: &Value, logprobs: &Value, finish: Option<&str>) -> Value {
    json!([{"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}])
}

/// Probabilities of tokens, or null when none were asked for.
pub(super) fn logprobs(model: &Model, asked: bool, logprobs: &[Logprob]) -> Value {
    if !asked {
        return Value::Null;
    }
    let entry = |logprob: &Logprob| {
        let mut entry = chances(model, logprob.chosen);
        entry["top_logprobs"] = logprob.top.iter().map(|top| chances(model, *top)).collect();
        entry
    };
    json!({"content": logprobs.iter().map(entry).collect::<Vec<_>>(), "refusal": null})
}

fn chances(model: &Model, chances: Chances) -> Value {
    let bytes = model.vocabulary().token_to_piece(chances.token, true, None);
    // JSON has no infinity; this is what OpenAI writes for "never".
    let logprob = chances.logprob.max(-9999.0);
    json!({"token": String::from_utf8_lossy(&bytes), "logprob": logprob, "bytes": bytes})
}
