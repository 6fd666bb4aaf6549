//! Why a call is not answered, in our own words.
//!
//! What a client may read is in `Display`; causes are for our log.

use crate::probe::{Fault, Invalid};
use domain::limits::{Exceeded, RateLimitStatus, Scope};
use domain::quota::Account;
use domain::usage::Actor;
use domain::{Caller, Month, Timestamp};
use std::time::Duration;

/// What the log calls a call that was held open in vain.
const EDGE_TIMEOUT: &str = "edge_timeout";

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
    #[error("the endpoint has failed: {reason}")]
    EndpointFailed { reason: String },
    #[error("every replica of the endpoint is busy")]
    Overloaded,
    #[error("too many calls wait for this endpoint")]
    HoldQueueFull,
    /// No replica came while the call was held open.
    #[error("the edge timeout")]
    HoldTimeout,
    #[error("another workspace owns this endpoint")]
    WrongWorkspace,
    #[error("the model did not answer within {} s", limit.as_secs_f64())]
    UpstreamTimeout { limit: Duration },
    #[error("the model server gave no usable answer")]
    BadGateway { cause: String },
    #[error("{message}")]
    RateLimited { message: String, retry_after_secs: u64, standings: RateLimitStatus },
    #[error("{message}")]
    QuotaExceeded { message: String, retry_after_secs: u64, standings: RateLimitStatus },
    #[error("the quota cannot be checked right now; try again")]
    QuotaUnavailable { cause: String, standings: RateLimitStatus },
    #[error("usage cannot be recorded right now; try again")]
    JournalFull,
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
    pub(crate) fn unknown_model(model: &str) -> Self {
        Self::UnknownModel { model: model.chars().take(200).collect() }
    }

    pub(crate) fn rate_limited(caller: &Caller, exceeded: &Exceeded) -> Self {
        let whose = match (exceeded.scope, &caller.actor) {
            (Scope::Key, Actor::Key(key)) => format!("key {key}"),
            (Scope::Key | Scope::Workspace, _) => format!("workspace {}", caller.workspace),
        };
        let Exceeded { unit, limit, used, .. } = exceeded;
        let seconds = exceeded.retry_after_secs();
        let message = format!(
            "rate limit of {whose} reached: {limit} {unit} per minute, {used} used; there is room again in {seconds} s"
        );
        Self::RateLimited { message, retry_after_secs: seconds, standings: exceeded.standings }
    }

    pub(crate) fn quota_exceeded(
        caller: &Caller,
        account: &Account,
        month: Month,
        now: Timestamp,
        standings: RateLimitStatus,
    ) -> Self {
        let Account { cap, used, reserved } = account;
        let resets_at = month.end();
        let message = format!(
            "monthly quota of workspace {} reached: {cap} tokens, {used} used and {reserved} reserved by calls under \
             way; it resets at {resets_at}",
            caller.workspace
        );
        let seconds = resets_at.millis_since(now).div_ceil(1_000).max(1);
        Self::QuotaExceeded { message, retry_after_secs: seconds, standings }
    }

    /// The stable word for it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "invalid_payload",
            Self::Missing { .. } => "missing_parameter",
            Self::Invalid { .. } => "invalid_value",
            Self::UnknownModel { .. } => "model_not_found",
            Self::NotServing { .. } | Self::EndpointFailed { .. } => "model_not_serving",
            Self::Overloaded => "endpoint_overloaded",
            Self::HoldQueueFull => "hold_queue_full",
            // Its answer has no envelope, so only our log says this word.
            Self::HoldTimeout => EDGE_TIMEOUT,
            Self::WrongWorkspace => "wrong_workspace",
            Self::UpstreamTimeout { .. } => "upstream_timeout",
            Self::BadGateway { .. } => "bad_gateway",
            Self::RateLimited { .. } => "rate_limit_exceeded",
            Self::QuotaExceeded { .. } => "quota_exceeded",
            Self::QuotaUnavailable { .. } => "quota_unavailable",
            Self::JournalFull => "journal_full",
            Self::Rejected { context_length: true, .. } => "context_length_exceeded",
            Self::Rejected { context_length: false, .. } => "invalid_value",
        }
    }

    /// The offending member, or nothing.
    pub fn param(&self) -> &str {
        match self {
            Self::Missing { param } | Self::Invalid { param, .. } | Self::Rejected { param, .. } => param,
            Self::UnknownModel { .. } => "model",
            Self::Unreadable(_)
            | Self::NotServing { .. }
            | Self::EndpointFailed { .. }
            | Self::Overloaded
            | Self::HoldQueueFull
            | Self::HoldTimeout
            | Self::WrongWorkspace
            | Self::UpstreamTimeout { .. }
            | Self::BadGateway { .. }
            | Self::RateLimited { .. }
            | Self::QuotaExceeded { .. }
            | Self::QuotaUnavailable { .. }
            | Self::JournalFull => "",
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
