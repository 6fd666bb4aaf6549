//! Why an attempt at a replica failed, and what that means for the call.

use crate::error::{CallError, UpstreamRejection};
use crate::resolve::Target;
use crate::response::{BadUpstreamResponse, TokenMeter, upstream_error};
use crate::response_memory::NoBodyMemory;
use crate::usage_tap::FailedAttempt;
use domain::model::NativeApi;
use http::StatusCode;
use http1::ResponseHead;
use http1::client::{CollectError, ExchangeError, SendError};
use outbound::is_local_failure;
use std::io;
use std::time::Duration;

/// The maximum `Retry-After` of an engine; the timers of some clients overflow on more.
const MAX_RETRY_AFTER_SECS: u64 = 3600;

/// Why one attempt at a replica failed.
#[derive(Debug)]
pub(crate) enum AttemptError {
    /// The replica does not accept connections.
    Unreachable(String),
    /// No response began: the connection broke before the request was written, the head is invalid, or the replica is down.
    Lost(String),
    /// The connection broke after the request was written and before the response began, or a stream after its head: the
    /// request may have ended the engine, or the replica closed a connection from the pool just as it was taken.
    Crashed { cause: String, on_reused: bool },
    /// The connection broke inside of the response.
    Cut(String),
    /// The replica returned a server error or an invalid response.
    Bad(String),
    /// No connection could be opened for a reason on our side.
    LocalFailure(String),
    /// The replica is at its capacity.
    Busy { retry_after_secs: Option<u64> },
    /// The model wrote something that the client's API cannot express, see [`BadUpstreamResponse::Untranslatable`].
    Untranslatable { cause: String, meter: Box<TokenMeter> },
    /// A healthy replica did not complete a response that is not streamed in time: the client asked for too much at once.
    TimedOutWhole { limit: Duration },
    /// Another replica would return the same.
    Final(CallError),
}

impl AttemptError {
    pub(crate) fn into_call_error(self, target: &Target) -> CallError {
        match self {
            Self::Busy { .. } if matches!(target, Target::Dedicated(_)) => CallError::Overloaded,
            Self::Unreachable(_) | Self::LocalFailure(_) => CallError::NotServing { retry_after_secs: None },
            Self::Lost(cause)
            | Self::Crashed { cause, .. }
            | Self::Cut(cause)
            | Self::Bad(cause)
            | Self::Untranslatable { cause, .. } => CallError::BadGateway { cause },
            Self::Busy { retry_after_secs } => CallError::NotServing { retry_after_secs },
            Self::TimedOutWhole { limit } => CallError::UpstreamTimeout { limit },
            Self::Final(error) => error,
        }
    }

    /// One word for traces.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::Lost(_) | Self::Crashed { .. } | Self::Cut(_) | Self::Bad(_) | Self::Untranslatable { .. } => {
                "bad_gateway"
            }
            Self::LocalFailure(_) => "no_connection",
            Self::Busy { .. } => "busy",
            Self::TimedOutWhole { .. } => "upstream_timeout",
            Self::Final(error) => error.code(),
        }
    }

    /// What the attempt cost the engine, if it got the request; `None` if that was counted.
    pub(super) fn end(&self) -> Option<FailedAttempt> {
        match self {
            Self::Unreachable(_) | Self::LocalFailure(_) | Self::Busy { .. } => Some(FailedAttempt::NotTaken),
            Self::Lost(_) | Self::Crashed { .. } | Self::Cut(_) | Self::Bad(_) => Some(FailedAttempt::Failed),
            Self::Untranslatable { .. } => None,
            Self::TimedOutWhole { .. }
            | Self::Final(CallError::ResponseTooLarge { .. } | CallError::OrganizationBusy) => {
                Some(FailedAttempt::ClientsEnd)
            }
            Self::Final(CallError::UpstreamTimeout { .. } | CallError::ServerBusy) => Some(FailedAttempt::Failed),
            Self::Final(_) => Some(FailedAttempt::Rejected),
        }
    }

    /// Whether the call ends with this error, however many replicas there are.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::Final(_) | Self::TimedOutWhole { .. } | Self::Untranslatable { .. })
    }

    pub(crate) fn cause(&self) -> Option<String> {
        match self {
            Self::Unreachable(cause)
            | Self::Lost(cause)
            | Self::Crashed { cause, .. }
            | Self::Cut(cause)
            | Self::Bad(cause)
            | Self::Untranslatable { cause, .. }
            | Self::LocalFailure(cause) => Some(cause.clone()),
            Self::Busy { .. } => Some("the replica is at its capacity".into()),
            Self::TimedOutWhole { .. } | Self::Final(_) => None,
        }
    }
}

pub(crate) fn collect_error(error: CollectError<NoBodyMemory>) -> AttemptError {
    match error {
        CollectError::Exchange(ExchangeError::Stalled(limit)) => {
            AttemptError::Final(CallError::UpstreamTimeout { limit })
        }
        CollectError::Exchange(error) => connection_error(&error),
        CollectError::NoMemory(missing) => AttemptError::Final(missing.into()),
        CollectError::TooLarge(_) => AttemptError::Final(CallError::ResponseTooLarge { param: "" }),
    }
}

pub(super) fn connect_error(error: &io::Error) -> AttemptError {
    let cause = format!("cannot connect: {error}");
    if is_local_failure(error) { AttemptError::LocalFailure(cause) } else { AttemptError::Unreachable(cause) }
}

pub(super) fn send_error(error: &SendError, on_reused: bool) -> AttemptError {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let cause = format!("no response: {error}");
    // Not an invalid response.
    let is_end = matches!(error.cause.kind(), UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe);
    if error.is_written && is_end { AttemptError::Crashed { cause, on_reused } } else { AttemptError::Lost(cause) }
}

pub(super) fn connection_error(error: &ExchangeError) -> AttemptError {
    match error {
        ExchangeError::Connection(_) => AttemptError::Cut(error.to_string()),
        ExchangeError::Stalled(_) => AttemptError::Bad(error.to_string()),
    }
}

/// `meter` has counted the response of a model with this context length.
pub(super) fn bad_response(error: BadUpstreamResponse, meter: TokenMeter, context_length: u64) -> AttemptError {
    if let Some(rejection) = error.rejection(context_length) {
        return AttemptError::Final(rejection);
    }
    match error {
        BadUpstreamResponse::Ignored(param) => AttemptError::Final(CallError::Invalid {
            param: param.into(),
            why: "is not supported by this model".into(),
        }),
        BadUpstreamResponse::TooLarge => AttemptError::Final(CallError::ResponseTooLarge { param: "" }),
        BadUpstreamResponse::Untranslatable(_) => {
            AttemptError::Untranslatable { cause: error.to_string(), meter: Box::new(meter) }
        }
        other @ (BadUpstreamResponse::NotJson(_)
        | BadUpstreamResponse::Unexpected(_)
        | BadUpstreamResponse::Cut(_)
        | BadUpstreamResponse::Reported(_)) => AttemptError::Bad(other.to_string()),
    }
}

/// Engines also return 404 for a model that they do not have, so the setting is only a guess.
fn native_route_missing(cause: &str, api: NativeApi) -> CallError {
    let api = api.as_str();
    let advice = format!("if the model server does not serve /{api}, remove \"{api}\" from `native` of its upstream");
    CallError::NativeRouteMissing { cause: format!("{cause}; {advice}") }
}

/// The meaning of a status other than 200 from a model with this context length. `native` is the API of a call that was
/// passed through.
pub(super) fn status_error(
    head: &ResponseHead,
    body: &[u8],
    native: Option<NativeApi>,
    context_length: u64,
) -> AttemptError {
    let error = upstream_error::read(body);
    let status = match head.status {
        StatusCode::INTERNAL_SERVER_ERROR if error.is_about_media() => UpstreamRejection::BadRequest,
        StatusCode::BAD_REQUEST => UpstreamRejection::BadRequest,
        StatusCode::PAYLOAD_TOO_LARGE => UpstreamRejection::TooLarge,
        StatusCode::UNPROCESSABLE_ENTITY => UpstreamRejection::Unprocessable,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            let seconds = head.retry_after_secs.map(|seconds| seconds.min(MAX_RETRY_AFTER_SECS));
            return AttemptError::Busy { retry_after_secs: seconds };
        }
        status => {
            let cause = format!("status {}: {}", status.as_u16(), upstream_error::message(body));
            return match (status, native) {
                (StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED, Some(api)) => {
                    AttemptError::Final(native_route_missing(&cause, api))
                }
                _ if status.is_server_error() => AttemptError::Bad(cause),
                _ => AttemptError::Final(CallError::BadGateway { cause }),
            };
        }
    };
    let overflow = error.overflow(context_length);
    let message = if error.message.is_empty() { "the model rejected the request".into() } else { error.message };
    AttemptError::Final(CallError::Rejected { status, message, param: error.param, overflow })
}
