//! Why a call is not answered, in our own words.
//!
//! What a client may read is in `Display`; causes are for our log.

use crate::probe::{Fault, Invalid};
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("{0}")]
    Unreadable(String),
    #[error("`{param}` is required")]
    Missing { param: String },
    #[error("`{param}` {why}")]
    Invalid { param: String, why: String },
    #[error("no model is called `{model}`")]
    UnknownModel { model: String },
    #[error("the model is not serving right now")]
    NotServing { retry_after_secs: Option<u64> },
    #[error("the model did not answer within {} s", limit.as_secs_f64())]
    UpstreamTimeout { limit: Duration },
    #[error("the model server gave no usable answer")]
    BadGateway { cause: String },
    /// The engine refused what the client sent, and said why.
    #[error("{message}")]
    Rejected { status: Rejection, message: String, param: String, context_length: bool },
}

/// The refusals of an engine that are the client's business.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    BadRequest,
    TooLarge,
    Unprocessable,
}

impl Refusal {
    /// The stable word for it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "invalid_payload",
            Self::Missing { .. } => "missing_parameter",
            Self::Invalid { .. } => "invalid_value",
            Self::UnknownModel { .. } => "model_not_found",
            Self::NotServing { .. } => "model_not_serving",
            Self::UpstreamTimeout { .. } => "upstream_timeout",
            Self::BadGateway { .. } => "bad_gateway",
            Self::Rejected { context_length: true, .. } => "context_length_exceeded",
            Self::Rejected { context_length: false, .. } => "invalid_value",
        }
    }

    /// The offending member, or nothing.
    pub fn param(&self) -> &str {
        match self {
            Self::Missing { param } | Self::Invalid { param, .. } | Self::Rejected { param, .. } => param,
            Self::UnknownModel { .. } => "model",
            Self::Unreadable(_) | Self::NotServing { .. } | Self::UpstreamTimeout { .. } | Self::BadGateway { .. } => {
                ""
            }
        }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Unreadable(why) => Self::Unreadable(why),
            Fault::Missing { param } => Self::Missing { param },
        }
    }
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid { param: invalid.param, why: invalid.why }
    }
}
