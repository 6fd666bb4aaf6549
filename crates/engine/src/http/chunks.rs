//! JSON of completions and of stream chunks.

use super::unix_seconds;
use crate::decode::{Logprob, TokenLogprob};
use crate::model::Model;
use bytes::Bytes;
use serde_json::{Value, json};

/// The API of a response.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseKind {
    Chat,
    Completion,
}

/// Members shared by all chunks of a response.
pub(super) struct ResponseHead {
    kind: ResponseKind,
    id: String,
    created: u64,
    /// Model name as given by the caller.
    model: String,
}

impl ResponseHead {
    pub(super) fn new(kind: ResponseKind, model: String) -> Self {
        let prefix = match kind {
            ResponseKind::Chat => "chatcmpl",
            ResponseKind::Completion => "cmpl",
        };
        Self { kind, id: format!("{prefix}-{:032x}", fastrand::u128(..)), created: unix_seconds(), model }
    }

    /// A complete response.
    pub(super) fn completion(&self, choices: &Value, usage: &Value) -> Value {
        json!({
            "id": self.id,
            "object": match self.kind {
                ResponseKind::Chat => "chat.completion",
                ResponseKind::Completion => "text_completion",
            },
            "created": self.created,
            "model": self.model,
            "choices": choices,
            "usage": usage,
        })
    }

    /// One event of a stream; `usage` is included only if requested.
    pub(super) fn chunk(&self, choices: &Value, usage: Option<Value>) -> Bytes {
        let mut chunk = json!({
            "id": self.id,
            "object": match self.kind {
                ResponseKind::Chat => "chat.completion.chunk",
                ResponseKind::Completion => "text_completion",
            },
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

/// The `choices` member of a chunk.
pub(super) fn delta(index: usize, delta: &Value, logprobs: &Value, finish: Option<&str>) -> Value {
    json!([{"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}])
}

/// Log probabilities of tokens, or null if not requested.
pub(super) fn logprobs(model: &Model, requested: bool, logprobs: &[Logprob]) -> Value {
    if !requested {
        return Value::Null;
    }
    let entry = |logprob: &Logprob| {
        let mut entry = token_logprob(model, logprob.chosen);
        entry["top_logprobs"] = logprob.top.iter().map(|top| token_logprob(model, *top)).collect();
        entry
    };
    json!({"content": logprobs.iter().map(entry).collect::<Vec<_>>(), "refusal": null})
}

fn token_logprob(model: &Model, value: TokenLogprob) -> Value {
    let bytes = model.vocabulary().token_to_piece(value.token, true, None);
    let logprob = finite(value.logprob);
    json!({"token": String::from_utf8_lossy(&bytes), "logprob": logprob, "bytes": bytes})
}

/// JSON has no infinity; OpenAI uses this value instead.
pub(super) fn finite(logprob: f32) -> f32 {
    logprob.max(-9999.0)
}
