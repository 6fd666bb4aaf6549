//! Errors of a call.
//!
//! `Display` is for the client; causes are for our log.

use crate::request::{MAX_RESPONSE_BYTES, UnsupportedParam};
use dialects::{Failure, FailureKind};
use domain::budget::BudgetPeriod;
use domain::capabilities::{Capability, CapabilitySet};
use domain::limits::{Exceeded, RateLimitStatus};
use domain::quota::{Account, AccountOwner};
use domain::{CallClass, Caller, Month, NanoUsd, Timestamp};
use fleet::Outlook;
use json::{InvalidParam, ParseError};
use std::time::Duration;

/// The longest `Retry-After` for a place in a queue.
const MAX_RETRY_AFTER_SECS: u64 = 600;
/// The code of a hold timeout in our log; its response has no envelope.
const EDGE_TIMEOUT: &str = "edge_timeout";

/// Why a call was not served.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("{0}")]
    Unreadable(String),
    #[error("`{param}` is required")]
    Missing { param: String },
    /// A member whose name is not acceptable.
    #[error("`{param}` {why}")]
    BadName { param: String, why: String },
    #[error("`{param}` {why}")]
    Invalid { param: String, why: String },
    /// The model, which others share, does not accept the member.
    #[error("`{param}` {why}")]
    Unsupported { param: String, why: &'static str },
    /// No engine of the model can do what the request needs.
    #[error("this model does not support {missing} (`{param}`); it supports: {}", listed(*present))]
    Incapable { param: &'static str, missing: Capability, present: CapabilitySet },
    /// No engine of the model can take the prompt, so it is not sent to one.
    #[error("this model's maximum context length is {maximum} tokens, and `{param}` has about {tokens}")]
    PromptTooLong { param: &'static str, tokens: u64, maximum: u64 },
    #[error("no model is called `{model}`")]
    UnknownModel { model: String },
    #[error("the model is not serving right now")]
    NotServing { retry_after_secs: Option<u64> },
    /// The request has ended engines.
    #[error("model servers broke the connection on this request; it is not sent again for {retry_after_secs} s")]
    Quarantined { retry_after_secs: u64 },
    #[error("the endpoint has failed: {reason}")]
    EndpointFailed { reason: String },
    #[error("every replica of the endpoint is busy")]
    Overloaded,
    #[error("the workspace has {max} running calls, the most that it may have; retry when one has ended")]
    TooManyCalls { max: u32 },
    #[error(
        "{max} counts of tokens are running, the most that the workspace or its organization may have; retry when one \
         has ended"
    )]
    TooManyCounts { max: u32 },
    #[error("the bodies of this organization use up its share of memory; retry when some calls have ended")]
    OrganizationBusy,
    #[error("the server is busy; retry")]
    ServerBusy,
    #[error("too many calls are waiting for this endpoint")]
    HoldQueueFull,
    /// A call that yields to interactive ones has waited for its time, or too many wait.
    #[error("interactive calls leave no room for {class} calls{}; retry later{}", shown(outlook), instead_of(*class))]
    NoRoom { class: CallClass, outlook: Outlook },
    /// An interactive call has waited for the `queue_timeout` of its model, or too many wait.
    #[error("every replica of the model is busy{}; retry later", shown(outlook))]
    ModelBusy { outlook: Outlook },
    /// No replica became ready before the hold timeout.
    #[error("no replica of the endpoint was ready within the hold timeout")]
    HoldTimeout,
    #[error("another workspace owns this endpoint")]
    WrongWorkspace,
    #[error("the model did not respond within {} s", limit.as_secs_f64())]
    UpstreamTimeout { limit: Duration },
    /// `param` is the member of the request that makes it too large, or empty if that was noticed after the work.
    #[error("the response has more than {} MiB: stream it, or request less", MAX_RESPONSE_BYTES >> 20)]
    ResponseTooLarge { param: &'static str },
    #[error("the model server returned no usable response")]
    BadGateway { cause: String },
    /// The engine does not know the route of an API that it is configured to speak itself.
    #[error("the model server does not know the route of this API; `native` of its upstream may be wrong")]
    NativeRouteMissing { cause: String },
    #[error("{message}")]
    RateLimited { message: String, retry_after_secs: u64, rate_limits: RateLimitStatus },
    #[error("{message}")]
    QuotaExceeded {
        message: String,
        retry_after_secs: u64,
        rate_limits: RateLimitStatus,
        /// Enough of the quota is left, but running calls have reserved it.
        is_reserved: bool,
    },
    /// `retry_after_secs` is `None` for a budget that does not reset.
    #[error("{message}")]
    BudgetExceeded { message: String, retry_after_secs: Option<u64>, rate_limits: RateLimitStatus },
    /// Enough of a budget is left, but running calls have reserved it.
    #[error("{message}")]
    BudgetReserved { message: String, rate_limits: RateLimitStatus },
    #[error("the quota cannot be checked right now; try again")]
    QuotaUnavailable { cause: String, rate_limits: RateLimitStatus },
    #[error("usage cannot be recorded right now; try again")]
    JournalFull,
    /// The engine rejected the request, with its own message.
    #[error("{message}")]
    Rejected { status: UpstreamRejection, message: String, param: String, overflow: Option<ContextOverflow> },
}

/// A budget of which a call could not reserve what it needs.
pub(crate) struct ShortBudget {
    pub(crate) whose: String,
    pub(crate) period: BudgetPeriod,
    pub(crate) account: Account,
    /// The call costs at least this many nano-dollars.
    pub(crate) least: u64,
}

/// How a request exceeds the context of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextOverflow {
    /// The prompt alone is too long. `tokens` is more than `maximum`, the context length of the model.
    Prompt { tokens: u64, maximum: u64 },
    /// The prompt fits, but not together with the tokens that may be generated.
    Total,
}

/// The statuses of an engine that are forwarded to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamRejection {
    BadRequest,
    TooLarge,
    Unprocessable,
}

/// What waits before a call, after the reason why it was not served.
fn shown(outlook: &Outlook) -> String {
    let Outlook { ahead, wait } = outlook;
    let calls = match ahead {
        0 => return String::new(),
        1 => "1 call waits".to_owned(),
        more => format!("{more} calls wait"),
    };
    match wait {
        Some(wait) => format!(": about {calls} before this one, which takes about {} s", whole_seconds(*wait)),
        None => format!(": about {calls} before this one"),
    }
}

const fn instead_of(class: CallClass) -> &'static str {
    match class {
        CallClass::Flex => ", or without `service_tier`",
        CallClass::Interactive | CallClass::Batch => "",
    }
}

/// Who holds what is reserved of an account.
const fn holders(account: &Account) -> &'static str {
    match account.lost {
        0 => "running calls",
        _ => "running calls and nodes that have stopped",
    }
}

fn whole_seconds(time: Duration) -> u64 {
    time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0)).max(1)
}

pub(crate) fn listed(capabilities: CapabilitySet) -> String {
    capabilities.iter().map(Capability::as_str).collect::<Vec<_>>().join(", ")
}

impl CallError {
    pub(crate) fn unknown_model(model: &str) -> Self {
        Self::UnknownModel { model: model.chars().take(200).collect() }
    }

    /// `whose` names the owner of the limit.
    pub(crate) fn rate_limited(whose: &str, exceeded: &Exceeded) -> Self {
        let Exceeded { unit, limit, used, .. } = exceeded;
        let seconds = exceeded.retry_after_secs();
        let message =
            format!("rate limit of {whose} reached: {limit} {unit} per minute, {used} used; retry in {seconds} s");
        Self::RateLimited { message, retry_after_secs: seconds, rate_limits: exceeded.rate_limits }
    }

    /// The call needs at least `least` tokens.
    pub(crate) fn short_of_quota(
        caller: &Caller,
        (account, least): (&Account, u64),
        month: Month,
        now: Timestamp,
        rate_limits: RateLimitStatus,
    ) -> Self {
        let Account { owner, cap, used, reserved, .. } = account;
        let holders = holders(account);
        let owner = match owner {
            AccountOwner::Workspace => format!("workspace {}", caller.workspace),
            AccountOwner::Organization => format!("organization {}", caller.organization),
        };
        let resets_at = month.end();
        let message = format!(
            "monthly quota of {owner} reached: {cap} tokens, {used} used and {reserved} reserved by {holders}; \
             it resets at {resets_at}"
        );
        let seconds = resets_at.millis_since(now).div_ceil(1_000).max(1);
        let is_reserved = !account.is_gone_for(least);
        Self::QuotaExceeded { message, retry_after_secs: seconds, rate_limits, is_reserved }
    }

    pub(crate) fn short_of_budget(budget: &ShortBudget, now: Timestamp, rate_limits: RateLimitStatus) -> Self {
        let ShortBudget { whose, period, account, least } = budget;
        let (cap, used) = (NanoUsd::from_unsigned(account.cap), NanoUsd::from_unsigned(account.used));
        let reserved = NanoUsd::from_unsigned(account.reserved);
        let numbers = format!(
            "(window `{}`): {cap} USD, {used} used and {reserved} reserved by {}",
            period.window.as_str(),
            holders(account)
        );
        if !account.is_gone_for(*least) {
            let message = format!("budget of {whose} is reserved {numbers}; retry when some of them have ended");
            return Self::BudgetReserved { message, rate_limits };
        }
        let end = period.end();
        let when = end.map_or_else(|| "it does not reset".to_owned(), |end| format!("it resets at {end}"));
        let message = format!("budget of {whose} reached {numbers}; {when}");
        let retry_after_secs = end.map(|end| end.millis_since(now).div_ceil(1_000).max(1));
        Self::BudgetExceeded { message, retry_after_secs, rate_limits }
    }

    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(_) | Self::BadName { .. } => "invalid_payload",
            Self::Missing { .. } => "missing_parameter",
            Self::Invalid { .. } => "invalid_value",
            Self::Unsupported { .. } | Self::Incapable { .. } => "unsupported_parameter",
            Self::UnknownModel { .. } => "model_not_found",
            Self::NotServing { .. } | Self::EndpointFailed { .. } | Self::ModelBusy { .. } => "model_not_serving",
            Self::Quarantined { .. } => "request_quarantined",
            Self::Overloaded => "endpoint_overloaded",
            Self::TooManyCalls { .. } | Self::TooManyCounts { .. } | Self::OrganizationBusy => {
                "concurrency_limit_exceeded"
            }
            Self::ServerBusy => "server_busy",
            Self::HoldQueueFull => "hold_queue_full",
            Self::NoRoom { .. } => "resource_unavailable",
            Self::HoldTimeout => EDGE_TIMEOUT,
            Self::WrongWorkspace => "wrong_workspace",
            Self::UpstreamTimeout { .. } => "upstream_timeout",
            Self::ResponseTooLarge { .. } => "response_too_large",
            Self::BadGateway { .. } | Self::NativeRouteMissing { .. } => "bad_gateway",
            Self::RateLimited { .. } => "rate_limit_exceeded",
            Self::QuotaExceeded { .. } => "quota_exceeded",
            Self::BudgetExceeded { .. } | Self::BudgetReserved { .. } => "budget_exceeded",
            Self::QuotaUnavailable { .. } => "quota_unavailable",
            Self::JournalFull => "journal_full",
            Self::PromptTooLong { .. } | Self::Rejected { overflow: Some(_), .. } => "context_length_exceeded",
            Self::Rejected { overflow: None, .. } => "invalid_value",
        }
    }

    /// After how many seconds a place in the queue may be free, if that is known.
    pub fn expected_wait_secs(&self) -> Option<u64> {
        match self {
            Self::NoRoom { outlook, .. } | Self::ModelBusy { outlook } => {
                Some(outlook.wait.map_or(1, whole_seconds).min(MAX_RETRY_AFTER_SECS))
            }
            _ => None,
        }
    }

    /// Whether no engine has taken the call, for a reason that may pass without it: the same call may begin later.
    pub fn may_begin_later(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. }
                | Self::QuotaExceeded { is_reserved: true, .. }
                | Self::BudgetReserved { .. }
                | Self::QuotaUnavailable { .. }
                | Self::JournalFull
                | Self::TooManyCalls { .. }
                | Self::NoRoom { .. }
                | Self::ModelBusy { .. }
                | Self::Overloaded
                | Self::NotServing { .. }
                | Self::EndpointFailed { .. }
                | Self::HoldQueueFull
                | Self::HoldTimeout
        )
    }

    /// Whether a quota or a budget is used up.
    pub const fn is_spent(&self) -> bool {
        matches!(self, Self::QuotaExceeded { .. } | Self::BudgetExceeded { .. })
    }

    /// How the request exceeds the context of the model.
    pub fn overflow(&self) -> Option<ContextOverflow> {
        match self {
            Self::PromptTooLong { tokens, maximum, .. } => {
                Some(ContextOverflow::Prompt { tokens: *tokens, maximum: *maximum })
            }
            Self::Rejected { overflow, .. } => *overflow,
            _ => None,
        }
    }

    /// Calls `write` with the error in the words of other APIs.
    pub(crate) fn with_failure<T>(&self, write: impl FnOnce(Failure<'_>) -> T) -> T {
        write(Failure { kind: self.failure_kind(), message: &self.to_string() })
    }

    fn failure_kind(&self) -> FailureKind {
        match self {
            Self::PromptTooLong { .. } | Self::Rejected { overflow: Some(_), .. } => FailureKind::ContextOverflow,
            Self::RateLimited { .. }
            | Self::BudgetReserved { .. }
            | Self::TooManyCalls { .. }
            | Self::OrganizationBusy
            | Self::NoRoom { .. } => FailureKind::RateLimit,
            Self::QuotaExceeded { .. } | Self::BudgetExceeded { .. } => FailureKind::Quota,
            Self::NotServing { .. }
            | Self::Overloaded
            | Self::ServerBusy
            | Self::HoldQueueFull
            | Self::ModelBusy { .. } => FailureKind::Overloaded,
            _ => FailureKind::Server,
        }
    }

    /// Whether the client caused the error, before the call was admitted.
    pub fn is_failed_attempt(&self) -> bool {
        match self {
            Self::Unreadable(_)
            | Self::Missing { .. }
            | Self::BadName { .. }
            | Self::Invalid { .. }
            | Self::Unsupported { .. }
            | Self::Incapable { .. }
            | Self::PromptTooLong { .. }
            | Self::UnknownModel { .. }
            | Self::WrongWorkspace
            | Self::Quarantined { .. }
            | Self::TooManyCalls { .. }
            | Self::TooManyCounts { .. } => true,
            Self::ResponseTooLarge { param } => !param.is_empty(),
            // The limits of serverless calls must not end in a rejection of other calls.
            Self::RateLimited { .. }
            | Self::QuotaExceeded { .. }
            | Self::BudgetExceeded { .. }
            | Self::BudgetReserved { .. }
            | Self::NotServing { .. }
            | Self::EndpointFailed { .. }
            | Self::Overloaded
            | Self::OrganizationBusy
            | Self::ServerBusy
            | Self::HoldQueueFull
            | Self::NoRoom { .. }
            | Self::ModelBusy { .. }
            | Self::HoldTimeout
            | Self::UpstreamTimeout { .. }
            | Self::BadGateway { .. }
            | Self::NativeRouteMissing { .. }
            | Self::QuotaUnavailable { .. }
            | Self::JournalFull
            | Self::Rejected { .. } => false,
        }
    }

    /// The request member at fault, or an empty string.
    pub fn param(&self) -> &str {
        match self {
            Self::Missing { param }
            | Self::BadName { param, .. }
            | Self::Invalid { param, .. }
            | Self::Unsupported { param, .. }
            | Self::Rejected { param, .. } => param,
            Self::UnknownModel { .. } => "model",
            Self::PromptTooLong { param, .. } | Self::ResponseTooLarge { param } | Self::Incapable { param, .. } => {
                param
            }
            Self::Unreadable(_)
            | Self::NotServing { .. }
            | Self::Quarantined { .. }
            | Self::EndpointFailed { .. }
            | Self::Overloaded
            | Self::TooManyCalls { .. }
            | Self::TooManyCounts { .. }
            | Self::OrganizationBusy
            | Self::ServerBusy
            | Self::HoldQueueFull
            | Self::NoRoom { .. }
            | Self::ModelBusy { .. }
            | Self::HoldTimeout
            | Self::WrongWorkspace
            | Self::UpstreamTimeout { .. }
            | Self::BadGateway { .. }
            | Self::NativeRouteMissing { .. }
            | Self::RateLimited { .. }
            | Self::QuotaExceeded { .. }
            | Self::BudgetExceeded { .. }
            | Self::BudgetReserved { .. }
            | Self::QuotaUnavailable { .. }
            | Self::JournalFull => "",
        }
    }
}

impl From<ParseError> for CallError {
    fn from(error: ParseError) -> Self {
        match error {
            ParseError::Unreadable(why) => Self::Unreadable(why),
            ParseError::Missing { param } => Self::Missing { param },
            ParseError::BadName { param, why } => Self::BadName { param, why },
        }
    }
}

impl From<InvalidParam> for CallError {
    fn from(invalid: InvalidParam) -> Self {
        Self::Invalid { param: invalid.param, why: invalid.why }
    }
}

impl From<UnsupportedParam> for CallError {
    fn from(unsupported: UnsupportedParam) -> Self {
        Self::Unsupported { param: unsupported.param, why: unsupported.why }
    }
}
