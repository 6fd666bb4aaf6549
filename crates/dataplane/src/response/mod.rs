//! Normalizes the responses of engines on the way to the client.
//!
//! Engines deviate from the format that clients expect: they return their own model name, omit the role, change the
//! timestamp with every chunk, or send usage that was not requested. Everything else passes unchanged.

pub(crate) mod chat;
pub(crate) mod chat_stream;
mod chunk;
mod delta;
pub(crate) mod embeddings;
mod finish_reason;
mod gathered;
pub(crate) mod native;
mod overflow;
mod reasoning;
pub(crate) mod rerank;
pub(crate) mod service_tier;
mod sse;
mod tokens;
mod tool_calls;
pub(crate) mod upstream_error;
mod usage;

#[cfg(test)]
mod metering_tests;

pub(crate) use tokens::TokenMeter;

use crate::error::CallError;
use dialects::TranslateError;
use upstream_error::UpstreamError;

/// A response that cannot be forwarded; the cause is for our log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadUpstreamResponse {
    #[error("not JSON: {0}")]
    NotJson(#[from] json::JsonError),
    #[error("{0}")]
    Unexpected(&'static str),
    /// The stream ended before the response did.
    #[error("{0}")]
    Cut(&'static str),
    #[error("the engine reported: {}", .0.message)]
    Reported(UpstreamError),
    /// The engine ignored a member that must be obeyed.
    #[error("the engine ignored `{0}`")]
    Ignored(&'static str),
    /// One event is larger than any that is forwarded.
    #[error("an event is too large")]
    TooLarge,
    /// The model wrote something that the client's API cannot express. The engine has done its work: the tokens are
    /// billed, another attempt may write the same, and the replica is healthy.
    #[error("cannot be translated: {0}")]
    Untranslatable(#[from] TranslateError),
}

impl BadUpstreamResponse {
    /// The rejection of the request, if this is one: some engines check it only after they have begun a response with
    /// status 200. `None` if this response is about something else.
    pub(crate) fn rejection(&self, context_length: u64) -> Option<CallError> {
        let Self::Reported(error) = self else { return None };
        error.rejection(context_length)
    }
}

/// Notes a member that is changed. Each change takes more memory than the few bytes of a member that an engine may repeat.
fn note_once(is_noted: &mut bool) -> Result<(), BadUpstreamResponse> {
    if std::mem::replace(is_noted, true) {
        return Err(BadUpstreamResponse::Unexpected("the response repeats a member"));
    }
    Ok(())
}
