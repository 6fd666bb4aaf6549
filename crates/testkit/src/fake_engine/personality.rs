//! How real engines report usage, by name. Seen at vLLM 0.32 and llama.cpp's server b11669; the others by their sources:
//!
//! | engine | running usage, if requested | chunks without it | at the end | unary, several choices |
//! |---|---|---|---|---|
//! | `vllm` | of the chunk's choice, from the role on | no member | one chunk, the sum | the sum |
//! | `sglang` | of the chunk's choice, in content only | no member | one chunk, the sum | the sum |
//! | `llama-server` | none | no member | one chunk per choice, of that choice, with `timings` | the first choice |
//! | `forebay-engine` | of the chunk's choice, from the role on | null | one chunk, the sum | the sum |
//!
//! vLLM and forebay-engine send all roles first, the others each role before its choice. SGLang sends the finish reasons
//! after all text; vLLM sends that of a choice which reached its limit with its last text. llama.cpp's server obeys `n_predict`
//! and `n_cmpl` before `max_tokens` and `n`, continues a last message of the assistant without being asked to, has an order of
//! members of its own, closes the connection after an error, and returns 500 for media that its model cannot read.

use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::request::ChatRequest;
use super::script::Script;

/// The engine whose usage reports are imitated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Personality {
    #[default]
    Vllm,
    Sglang,
    LlamaServer,
    ForebayEngine,
}

/// The place of a chunk in the stream of its choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Role,
    Content,
    Finish,
}

impl Personality {
    pub const ALL: [Self; 4] = [Self::Vllm, Self::Sglang, Self::LlamaServer, Self::ForebayEngine];

    /// Whether all roles are sent before any text.
    pub(super) fn sends_roles_first(self) -> bool {
        matches!(self, Self::Vllm | Self::ForebayEngine)
    }

    /// Whether each choice ends at once, rather than after the text of all choices.
    pub(super) fn ends_choices_apart(self) -> bool {
        matches!(self, Self::LlamaServer)
    }

    /// Whether a choice with this finish reason ends with the chunk of its last text.
    pub(super) fn ends_with_text(self, finish_reason: &str) -> bool {
        self == Self::Vllm && finish_reason == "length"
    }

    /// The content of the delta that begins a choice.
    pub(super) fn first_content(self) -> &'static str {
        if self == Self::LlamaServer { "null" } else { "\"\"" }
    }

    /// The status and the message with which the engine rejects a member, or parts of this type, without an option for it.
    pub(super) fn refusal(self, name: &str) -> (StatusCode, String) {
        let media = [("image_url", "image"), ("input_audio", "audio"), ("video_url", "video")];
        match media.iter().find(|(part, _)| self == Self::LlamaServer && *part == name) {
            Some((_, medium)) => {
                let hint = "hint: if this is unexpected, you may need to provide the mmproj";
                (StatusCode::INTERNAL_SERVER_ERROR, format!("{medium} input is not supported - {hint}"))
            }
            None => (StatusCode::BAD_REQUEST, format!("`{name}` is not supported")),
        }
    }

    /// Whether a chunk at this place carries the running usage that was requested.
    pub(super) fn has_running_usage(self, place: Place) -> bool {
        match self {
            Self::Vllm | Self::ForebayEngine => true,
            Self::Sglang => place == Place::Content,
            Self::LlamaServer => false,
        }
    }

    /// Whether chunks have a null if usage was requested, but not running usage.
    pub(super) fn sends_null(self) -> bool {
        self == Self::ForebayEngine
    }

    /// Applies the members that only this engine knows.
    pub(super) fn read_own_members(self, request: &mut ChatRequest) {
        if self == Self::LlamaServer {
            request.limit = request.n_predict.or(request.limit);
            request.choices = request.n_cmpl.unwrap_or(request.choices);
            request.continues = true;
        }
    }
}

/// A way to report usage wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UsageFault {
    /// Counts are floats, such as `7.0`.
    Floats,
    /// Counts are null.
    Nulls,
    /// The total is null.
    NullTotal,
    /// There is no total.
    NoTotal,
    /// There are no completion tokens.
    NoCompletion,
    Negative,
    /// Completion tokens are 2^32 - 1.
    NearU32,
    /// Completion tokens are 2^64 - 1.
    NearU64,
    /// Completion tokens are 0.
    Zero,
}

impl UsageFault {
    pub const ALL: [Self; 9] = [
        Self::Floats,
        Self::Nulls,
        Self::NullTotal,
        Self::NoTotal,
        Self::NoCompletion,
        Self::Negative,
        Self::NearU32,
        Self::NearU64,
        Self::Zero,
    ];
}

/// The `usage` of a chunk that is not the last. vLLM reports cached tokens only at the end.
pub(super) fn running_usage(script: &Script, completion_tokens: u64) -> Value {
    let mut usage = usage(script, completion_tokens);
    if script.engine == Personality::Vllm
        && let Some(members) = usage.as_object_mut()
    {
        members.remove("prompt_tokens_details");
    }
    usage
}

/// A `usage` object, with the script's fault.
pub(super) fn usage(script: &Script, completion_tokens: u64) -> Value {
    let (prompt, total) = (script.prompt_tokens, script.prompt_tokens.saturating_add(completion_tokens));
    let mut usage = json!({"prompt_tokens": prompt, "completion_tokens": completion_tokens, "total_tokens": total});
    if let Some(cached_tokens) = script.cached_tokens {
        usage["prompt_tokens_details"] = json!({"cached_tokens": cached_tokens});
    }
    let Some(fault) = script.usage_fault else { return usage };
    let members = usage.as_object_mut().expect("usage is an object");
    let float = |count: u64| json!(count as f64);
    match fault {
        UsageFault::Floats => {
            members.insert("prompt_tokens".into(), float(prompt));
            members.insert("completion_tokens".into(), float(completion_tokens));
            members.insert("total_tokens".into(), float(total));
        }
        UsageFault::Nulls => {
            for name in ["prompt_tokens", "completion_tokens", "total_tokens"] {
                members.insert(name.into(), Value::Null);
            }
        }
        UsageFault::NullTotal => drop(members.insert("total_tokens".into(), Value::Null)),
        UsageFault::NoTotal => drop(members.remove("total_tokens")),
        UsageFault::NoCompletion => drop(members.remove("completion_tokens")),
        UsageFault::Negative => drop(members.insert("completion_tokens".into(), json!(-1))),
        UsageFault::NearU32 => drop(members.insert("completion_tokens".into(), json!(u32::MAX))),
        UsageFault::NearU64 => drop(members.insert("completion_tokens".into(), json!(u64::MAX))),
        UsageFault::Zero => drop(members.insert("completion_tokens".into(), json!(0))),
    }
    usage
}

/// The `timings` of llama.cpp's server, for one choice.
pub(super) fn timings(script: &Script, completion_tokens: u64) -> Value {
    json!({"cache_n": 0, "prompt_n": script.prompt_tokens, "prompt_ms": 1.5, "predicted_n": completion_tokens, "predicted_ms": 2.5})
}
