//! Errors of the inference surface: OpenAI's nested envelope of four strings.
//!
//! The only file that knows this envelope.

use crate::credential::CredentialError;
use crate::edge::Body;
use crate::surface::error::{SurfaceError, retry_after_secs};
use crate::surface::json;
use bytes::Bytes;
use dataplane::{CallError, UpstreamRejection};
use domain::RequestId;
use domain::limits::RateLimitStatus;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) enum InferenceError {
    Surface(#[from] SurfaceError),
    Call(#[from] CallError),
}

/// The body of every error.
#[derive(Serialize, ToSchema)]
#[schema(as = InferenceError)]
pub(super) struct ErrorEnvelope<'a> {
    error: ErrorMembers<'a>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = InferenceErrorMembers)]
struct ErrorMembers<'a> {
    /// A category, such as `invalid_request_error`.
    r#type: &'static str,
    /// Stable, for programs.
    code: &'static str,
    /// For people; it may change.
    message: String,
    /// The member of the request at fault, or empty.
    param: &'a str,
}

impl From<CredentialError> for InferenceError {
    fn from(error: CredentialError) -> Self {
        Self::Surface(error.into())
    }
}

/// The official clients obey this header before they look at the status.
const X_SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
const RETRY_SOON_SECS: u64 = 1;

impl InferenceError {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Surface(error) => error.status(),
            Self::Call(error) => match error {
                CallError::Unreadable(_)
                | CallError::Missing { .. }
                | CallError::BadName { .. }
                | CallError::Unsupported { .. } => StatusCode::BAD_REQUEST,
                CallError::Invalid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
                CallError::UnknownModel { .. } => StatusCode::NOT_FOUND,
                CallError::RateLimited { .. }
                | CallError::QuotaExceeded { .. }
                | CallError::Overloaded
                | CallError::WorkspaceBusy
                | CallError::TooManyCalls { .. } => StatusCode::TOO_MANY_REQUESTS,
                CallError::NotServing { .. }
                | CallError::Quarantined { .. }
                | CallError::EndpointFailed { .. }
                | CallError::HoldQueueFull
                | CallError::ServerBusy
                | CallError::QuotaUnavailable { .. }
                | CallError::JournalFull => StatusCode::SERVICE_UNAVAILABLE,
                CallError::HoldTimeout => StatusCode::GATEWAY_TIMEOUT,
                CallError::WrongWorkspace => StatusCode::FORBIDDEN,
                CallError::UpstreamTimeout { .. } => StatusCode::REQUEST_TIMEOUT,
                CallError::BadGateway { .. } => StatusCode::BAD_GATEWAY,
                CallError::Rejected { status, .. } => match status {
                    UpstreamRejection::BadRequest => StatusCode::BAD_REQUEST,
                    UpstreamRejection::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
                    UpstreamRejection::Unprocessable => StatusCode::UNPROCESSABLE_ENTITY,
                },
            },
        }
    }

    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Surface(error) => error.code(),
            Self::Call(error) => error.code(),
        }
    }

    /// Whether the client caused the error, before the call was admitted.
    pub(crate) fn is_failed_attempt(&self) -> bool {
        match self {
            Self::Surface(error) => error.is_failed_attempt(),
            Self::Call(error) => error.is_failed_attempt(),
        }
    }

    /// The cause, for the log only.
    pub(crate) fn cause(&self) -> Option<String> {
        match self {
            Self::Surface(error) => error.cause(),
            Self::Call(CallError::BadGateway { cause } | CallError::QuotaUnavailable { cause, .. }) => {
                Some(cause.clone())
            }
            Self::Call(_) => None,
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
                | CallError::TooManyCalls { .. }
                | CallError::WorkspaceBusy
                | CallError::ServerBusy,
            ) => Some(RETRY_SOON_SECS),
            Self::Surface(error) => error.retry_after_secs(),
            Self::Call(_) => retry_after_secs(self.status()),
        }
    }

    /// The state of the limits that rejected the call.
    pub(crate) fn rate_limits(&self) -> Option<RateLimitStatus> {
        match self {
            Self::Call(
                CallError::RateLimited { rate_limits, .. }
                | CallError::QuotaExceeded { rate_limits, .. }
                | CallError::QuotaUnavailable { rate_limits, .. },
            ) => Some(*rate_limits),
            _ => None,
        }
    }

    pub(crate) fn to_response(&self) -> Response<Body> {
        let param = match self {
            Self::Call(error) => error.param(),
            Self::Surface(_) => "",
        };
        let mut response = json(self.status(), envelope(self.status(), self.code(), self.to_string(), param));
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after_secs() {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        match self {
            Self::Surface(error) => {
                error.add_headers(headers);
                error.mark(&mut response);
            }
            Self::Call(CallError::QuotaExceeded { .. } | CallError::Quarantined { .. }) => {
                headers.insert(X_SHOULD_RETRY, HeaderValue::from_static("false"));
            }
            Self::Call(_) => {}
        }
        response
    }
}

/// The response after a panic.
pub(crate) fn internal() -> Response<Body> {
    InferenceError::Surface(SurfaceError::Internal).to_response()
}

/// The last event of a stream that broke.
pub(crate) fn event(error: &CallError, _request: &RequestId) -> Bytes {
    let status = match error {
        CallError::UpstreamTimeout { .. } => StatusCode::REQUEST_TIMEOUT,
        _ => StatusCode::BAD_GATEWAY,
    };
    let body = envelope(status, error.code(), error.to_string(), "");
    [b"data: ", &body[..], b"\n\n"].concat().into()
}

/// OpenAI's category of a status.
fn category(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        408 => "timeout_error",
        429 => "rate_limit_error",
        500 => "server_error",
        502 => "upstream_error",
        503 => "service_unavailable",
        _ => "invalid_request_error",
    }
}

fn envelope(status: StatusCode, code: &'static str, message: String, param: &str) -> Vec<u8> {
    let error = ErrorMembers { r#type: category(status), code, message, param };
    serde_json::to_vec(&ErrorEnvelope { error }).expect("an envelope has only text keys")
}
