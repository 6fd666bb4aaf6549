//! Errors of a call, with messages for clients. `http/error.rs` converts them into responses.

use crate::long_text::MAX_RUN;

/// Why a call is rejected or has failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("the body is not a JSON object: {problem}")]
    BadJson { problem: String },
    #[error("`{param}` is missing")]
    Missing { param: String },
    #[error("`{param}` {problem}")]
    Invalid { param: String, problem: String },
    #[error("`{param}` is not supported: {reason}")]
    Unsupported { param: String, reason: String },
    #[error(
        "the context length is {limit} tokens: the prompt has {prompt}, and {requested} more were requested for the completion"
    )]
    CompletionTooLong { limit: usize, prompt: usize, requested: usize },
    #[error("the context length is {limit} tokens: the prompt has {prompt}, and a completion needs at least one more")]
    PromptTooLong { limit: usize, prompt: usize, param: &'static str },
    #[error("the maximum input length is {limit} tokens: input {index} has {tokens}")]
    InputTooLong { limit: usize, index: usize, tokens: usize },
    #[error("there is no model `{model}`")]
    UnknownModel { model: String },
    #[error("the body is larger than {limit} bytes")]
    BodyTooLarge { limit: usize },
    #[error("the queue of this engine is full ({limit} calls); try again soon")]
    Busy { limit: usize },
    #[error("the model is not ready yet: {reason}")]
    Loading { reason: String },
    #[error("the key of this engine is missing or wrong")]
    Unauthenticated,
    #[error("unknown path")]
    UnknownRoute,
    #[error("this path only supports {allowed}")]
    WrongMethod { allowed: &'static str },
    #[error("the engine failed to compute the response")]
    Failed,
}

/// Category of an error, which determines the status code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    Malformed,
    Unprocessable,
    Unauthenticated,
    NotFound,
    WrongMethod,
    TooLarge,
    Unavailable,
    Internal,
}

impl RequestError {
    /// An invalid value.
    pub(crate) fn invalid(param: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Invalid { param: param.into(), problem: problem.into() }
    }

    /// A feature that this engine or model does not support.
    pub(crate) fn unsupported(param: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Unsupported { param: param.into(), reason: reason.into() }
    }

    /// A text that would exhaust the stack of a tokenizer, or take it too long.
    pub(crate) fn long_run(param: impl Into<String>) -> Self {
        let run = "without white space, or of one kind";
        let problem = format!("has more characters in a row, {run}, than the tokenizer takes (at most {MAX_RUN})");
        Self::invalid(param, problem)
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            Self::BadJson { .. } | Self::Missing { .. } => ErrorKind::Malformed,
            Self::CompletionTooLong { .. } | Self::PromptTooLong { .. } | Self::InputTooLong { .. } => {
                ErrorKind::Malformed
            }
            Self::Invalid { .. } | Self::Unsupported { .. } => ErrorKind::Unprocessable,
            Self::Unauthenticated => ErrorKind::Unauthenticated,
            Self::UnknownModel { .. } | Self::UnknownRoute => ErrorKind::NotFound,
            Self::WrongMethod { .. } => ErrorKind::WrongMethod,
            Self::BodyTooLarge { .. } => ErrorKind::TooLarge,
            Self::Busy { .. } | Self::Loading { .. } => ErrorKind::Unavailable,
            Self::Failed => ErrorKind::Internal,
        }
    }

    /// Stable, machine-readable code.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::BadJson { .. } => "invalid_json",
            Self::Missing { .. } => "missing_required_parameter",
            Self::Invalid { .. } => "invalid_value",
            Self::Unsupported { .. } => "unsupported_parameter",
            Self::CompletionTooLong { .. } | Self::PromptTooLong { .. } | Self::InputTooLong { .. } => {
                "context_length_exceeded"
            }
            Self::UnknownModel { .. } => "model_not_found",
            Self::BodyTooLarge { .. } => "body_too_large",
            Self::Busy { .. } => "queue_full",
            Self::Loading { .. } => "model_loading",
            Self::Unauthenticated => "invalid_api_key",
            Self::UnknownRoute => "unknown_route",
            Self::WrongMethod { .. } => "method_not_allowed",
            Self::Failed => "engine_failure",
        }
    }

    /// The request member that caused the error; empty if none.
    pub(crate) fn param(&self) -> &str {
        match self {
            Self::Missing { param } | Self::Invalid { param, .. } | Self::Unsupported { param, .. } => param,
            Self::CompletionTooLong { .. } => "max_tokens",
            Self::PromptTooLong { param, .. } => param,
            Self::InputTooLong { .. } => "input",
            Self::UnknownModel { .. } => "model",
            Self::BadJson { .. }
            | Self::BodyTooLarge { .. }
            | Self::Busy { .. }
            | Self::Loading { .. }
            | Self::Unauthenticated
            | Self::UnknownRoute
            | Self::WrongMethod { .. }
            | Self::Failed => "",
        }
    }
}
