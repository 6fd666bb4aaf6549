//! Why a call is not served, in words that a client may read. `http/error.rs` alone knows what that looks like.

/// A call that is not served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the body is not a JSON object: {problem}")]
    BadJson { problem: String },
    #[error("`{param}` is missing")]
    Missing { param: String },
    #[error("`{param}` {problem}")]
    Invalid { param: String, problem: String },
    #[error("`{param}` is not supported here: {reason}")]
    Unsupported { param: String, reason: String },
    #[error(
        "this model takes at most {limit} tokens: the prompt has {prompt}, and {asked} more were asked for as the answer"
    )]
    AnswerTooLong { limit: usize, prompt: usize, asked: usize },
    #[error("this model takes at most {limit} tokens: the prompt has {prompt}, and an answer needs at least one more")]
    PromptTooLong { limit: usize, prompt: usize },
    #[error("this model takes at most {limit} tokens for each input: input {index} has {tokens}")]
    InputTooLong { limit: usize, index: usize, tokens: usize },
    #[error("no model is called `{model}` here")]
    UnknownModel { model: String },
    #[error("the body is larger than {limit} bytes")]
    BodyTooLarge { limit: usize },
    #[error("all {limit} places of this engine are taken; try again soon")]
    Busy { limit: usize },
    #[error("the model is not ready yet: {reason}")]
    Loading { reason: String },
    #[error("there is nothing at this path")]
    UnknownRoute,
    #[error("this path takes {allowed} only")]
    WrongMethod { allowed: &'static str },
    #[error("the engine could not compute this answer")]
    Failed,
}

/// What kind of trouble it is; the status code follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Malformed,
    Unprocessable,
    NotFound,
    WrongMethod,
    TooLarge,
    Unavailable,
    Internal,
}

impl Refusal {
    /// Shorthand for a value that cannot be taken.
    pub(crate) fn invalid(param: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Invalid { param: param.into(), problem: problem.into() }
    }

    /// Shorthand for something that this engine or this model does not do.
    pub(crate) fn unsupported(param: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Unsupported { param: param.into(), reason: reason.into() }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::BadJson { .. } | Self::Missing { .. } => Kind::Malformed,
            Self::AnswerTooLong { .. } | Self::PromptTooLong { .. } | Self::InputTooLong { .. } => Kind::Malformed,
            Self::Invalid { .. } | Self::Unsupported { .. } => Kind::Unprocessable,
            Self::UnknownModel { .. } | Self::UnknownRoute => Kind::NotFound,
            Self::WrongMethod { .. } => Kind::WrongMethod,
            Self::BodyTooLarge { .. } => Kind::TooLarge,
            Self::Busy { .. } | Self::Loading { .. } => Kind::Unavailable,
            Self::Failed => Kind::Internal,
        }
    }

    /// A stable word for programs.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::BadJson { .. } => "invalid_json",
            Self::Missing { .. } => "missing_required_parameter",
            Self::Invalid { .. } => "invalid_value",
            Self::Unsupported { .. } => "unsupported_parameter",
            Self::AnswerTooLong { .. } | Self::PromptTooLong { .. } | Self::InputTooLong { .. } => {
                "context_length_exceeded"
            }
            Self::UnknownModel { .. } => "model_not_found",
            Self::BodyTooLarge { .. } => "body_too_large",
            Self::Busy { .. } => "queue_full",
            Self::Loading { .. } => "model_loading",
            Self::UnknownRoute => "unknown_route",
            Self::WrongMethod { .. } => "method_not_allowed",
            Self::Failed => "engine_failure",
        }
    }

    /// The member of the request that is meant; empty when none is.
    pub(crate) fn param(&self) -> &str {
        match self {
            Self::Missing { param } | Self::Invalid { param, .. } | Self::Unsupported { param, .. } => param,
            Self::AnswerTooLong { .. } => "max_tokens",
            Self::PromptTooLong { .. } => "messages",
            Self::InputTooLong { .. } => "input",
            Self::UnknownModel { .. } => "model",
            Self::BadJson { .. }
            | Self::BodyTooLarge { .. }
            | Self::Busy { .. }
            | Self::Loading { .. }
            | Self::UnknownRoute
            | Self::WrongMethod { .. }
            | Self::Failed => "",
        }
    }
}
