//! Errors of inference, without the envelope of a surface.

use super::FailedBatchRequest;
use crate::credential::CredentialError;
use crate::surface::Body;
use crate::surface::error::{SurfaceError, retry_after_secs};
use crate::surface::openai::StoredResponseError;
use control::batches::BatchError;
use dataplane::request::ParseError;
use dataplane::{CallError, UpstreamRejection};
use domain::Caller;
use domain::limits::RateLimitStatus;
use domain::usage::Actor;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) enum InferenceError {
    Surface(#[from] SurfaceError),
    Call(#[from] CallError),
    Stored(#[from] StoredResponseError),
    Batch(#[from] FailedBatchRequest),
}

impl From<CredentialError> for InferenceError {
    fn from(error: CredentialError) -> Self {
        Self::Surface(error.into())
    }
}

impl From<BatchError> for InferenceError {
    fn from(error: BatchError) -> Self {
        Self::Batch(error.into())
    }
}

impl From<ParseError> for InferenceError {
    fn from(error: ParseError) -> Self {
        Self::Call(error.into())
    }
}

/// An endpoint of another workspace: for a key the plain 401, which reveals nothing; a user learns where to look.
pub(in crate::surface) fn call_error(error: CallError, caller: &Caller) -> InferenceError {
    match (&error, &caller.actor) {
        (CallError::WrongWorkspace, Actor::Key(_)) => {
            CredentialError::Unauthenticated { cause: "a key of another workspace" }.into()
        }
        _ => InferenceError::Call(error),
    }
}

/// The status of an error, also of one that ends a stream, where it only decides on the category.
pub(in crate::surface) fn call_status(error: &CallError) -> StatusCode {
    match error {
        CallError::Unreadable(_)
        | CallError::Missing { .. }
        | CallError::BadName { .. }
        | CallError::Unsupported { .. }
        | CallError::Incapable { .. }
        | CallError::PromptTooLong { .. }
        | CallError::ResponseTooLarge { .. } => StatusCode::BAD_REQUEST,
        CallError::Invalid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        CallError::UnknownModel { .. } => StatusCode::NOT_FOUND,
        CallError::RateLimited { .. }
        | CallError::QuotaExceeded { .. }
        | CallError::BudgetExceeded { .. }
        | CallError::BudgetReserved { .. }
        | CallError::Overloaded
        | CallError::NoRoom { .. }
        | CallError::OrganizationBusy
        | CallError::TooManyCalls { .. }
        | CallError::TooManyCounts { .. } => StatusCode::TOO_MANY_REQUESTS,
        CallError::NotServing { .. }
        | CallError::ModelBusy { .. }
        | CallError::Quarantined { .. }
        | CallError::EndpointFailed { .. }
        | CallError::HoldQueueFull
        | CallError::ServerBusy
        | CallError::QuotaUnavailable { .. }
        | CallError::JournalFull => StatusCode::SERVICE_UNAVAILABLE,
        CallError::HoldTimeout => StatusCode::GATEWAY_TIMEOUT,
        CallError::WrongWorkspace => StatusCode::FORBIDDEN,
        CallError::UpstreamTimeout { .. } => StatusCode::REQUEST_TIMEOUT,
        CallError::BadGateway { .. } | CallError::NativeRouteMissing { .. } => StatusCode::BAD_GATEWAY,
        CallError::Rejected { status, .. } => match status {
            UpstreamRejection::BadRequest => StatusCode::BAD_REQUEST,
            UpstreamRejection::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            UpstreamRejection::Unprocessable => StatusCode::UNPROCESSABLE_ENTITY,
        },
    }
}

/// The official clients obey this header before they look at the status.
pub(in crate::surface) const X_SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
const RETRY_SOON_SECS: u64 = 1;
/// A batch takes a while.
const RETRY_WHEN_ENDED_SECS: u64 = 60;

impl InferenceError {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Surface(error) => error.status(),
            Self::Stored(error) => error.status(),
            Self::Batch(error) => error.status(),
            Self::Call(error) => call_status(error),
        }
    }

    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Surface(error) => error.code(),
            Self::Call(error) => error.code(),
            Self::Stored(error) => error.code(),
            Self::Batch(error) => error.code(),
        }
    }

    /// Whether the client caused the error, before the call was admitted.
    pub(crate) fn is_failed_attempt(&self) -> bool {
        match self {
            Self::Surface(error) => error.is_failed_attempt(),
            Self::Call(error) => error.is_failed_attempt(),
            Self::Stored(error) => error.status().is_client_error(),
            Self::Batch(error) => error.status().is_client_error(),
        }
    }

    /// The cause, for the log only.
    pub(crate) fn cause(&self) -> Option<String> {
        match self {
            Self::Surface(error) => error.cause(),
            Self::Call(
                CallError::BadGateway { cause }
                | CallError::NativeRouteMissing { cause }
                | CallError::QuotaUnavailable { cause, .. },
            )
            | Self::Stored(StoredResponseError::Unavailable { cause }) => Some(cause.clone()),
            Self::Batch(error) => error.cause(),
            Self::Call(_) | Self::Stored(_) => None,
        }
    }

    fn retry_after_secs(&self) -> Option<u64> {
        match self {
            Self::Call(
                CallError::NotServing { retry_after_secs: Some(seconds) }
                | CallError::Quarantined { retry_after_secs: seconds }
                | CallError::RateLimited { retry_after_secs: seconds, .. }
                | CallError::QuotaExceeded { retry_after_secs: seconds, .. },
            ) => Some((*seconds).max(1)),
            Self::Call(
                CallError::Overloaded
                | CallError::BudgetReserved { .. }
                | CallError::TooManyCalls { .. }
                | CallError::TooManyCounts { .. }
                | CallError::OrganizationBusy
                | CallError::ServerBusy,
            ) => Some(RETRY_SOON_SECS),
            Self::Call(error @ (CallError::NoRoom { .. } | CallError::ModelBusy { .. })) => error.expected_wait_secs(),
            Self::Call(CallError::BudgetExceeded { retry_after_secs, .. }) => *retry_after_secs,
            Self::Surface(error) => error.retry_after_secs(),
            Self::Batch(error) if error.is_final() => Some(RETRY_WHEN_ENDED_SECS),
            Self::Call(_) | Self::Stored(_) | Self::Batch(_) => retry_after_secs(self.status()),
        }
    }

    /// The state of the limits that rejected the call.
    pub(crate) fn rate_limits(&self) -> Option<RateLimitStatus> {
        match self {
            Self::Call(
                CallError::RateLimited { rate_limits, .. }
                | CallError::QuotaExceeded { rate_limits, .. }
                | CallError::BudgetExceeded { rate_limits, .. }
                | CallError::BudgetReserved { rate_limits, .. }
                | CallError::QuotaUnavailable { rate_limits, .. },
            ) => Some(*rate_limits),
            _ => None,
        }
    }

    /// The member of the request at fault, or an empty text.
    pub(crate) fn param(&self) -> &str {
        match self {
            Self::Call(error) => error.param(),
            Self::Stored(error) => error.param(),
            Self::Batch(error) => error.param(),
            Self::Surface(_) => "",
        }
    }

    /// Adds the headers that belong to the error on every surface.
    pub(crate) fn finish(&self, response: &mut Response<Body>) {
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after_secs() {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        match self {
            Self::Surface(error) => {
                error.add_headers(headers);
                error.mark(response);
            }
            Self::Call(
                CallError::QuotaExceeded { .. } | CallError::BudgetExceeded { .. } | CallError::Quarantined { .. },
            ) => {
                headers.insert(X_SHOULD_RETRY, HeaderValue::from_static("false"));
            }
            Self::Batch(error) if error.is_final() => {
                headers.insert(X_SHOULD_RETRY, HeaderValue::from_static("false"));
            }
            Self::Call(_) | Self::Stored(_) | Self::Batch(_) => {}
        }
    }
}
