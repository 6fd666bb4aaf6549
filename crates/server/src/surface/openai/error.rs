//! How this surface says no: the nested envelope, four strings.
//!
//! The only file that knows the envelope and its statuses.

use crate::credential::{self, Forbidden};
use crate::edge::Body;
use crate::edge::request_body::Unread;
use bytes::Bytes;
use dataplane::{Refusal, Rejection, json};
use domain::limits::RateLimitStatus;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};

/// Everything this surface may refuse.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Whatever is wrong with the credential; the cause is for our log.
    Unauthenticated {
        cause: &'static str,
    },
    StoreUnavailable {
        cause: String,
    },
    /// A session that may not do this here.
    Forbidden(Forbidden),
    HeadersTooLarge {
        limit: usize,
    },
    UnknownRoute,
    MethodNotAllowed {
        allow: &'static str,
    },
    Unread(Unread),
    Call(Refusal),
    Internal,
}

impl From<credential::Refused> for Refused {
    fn from(refused: credential::Refused) -> Self {
        match refused {
            credential::Refused::Unauthenticated { cause } => Self::Unauthenticated { cause },
            credential::Refused::StoreUnavailable { cause } => Self::StoreUnavailable { cause },
            credential::Refused::Forbidden(forbidden) => Self::Forbidden(forbidden),
            credential::Refused::Internal => Self::Internal,
        }
    }
}

impl From<Unread> for Refused {
    fn from(unread: Unread) -> Self {
        Self::Unread(unread)
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self::Call(refusal)
    }
}

/// The official clients heed it before they look at the status.
const X_SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
const RETRY_SOON_SECS: u64 = 1;
const RETRY_LATER_SECS: u64 = 5;

impl Refused {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Unauthenticated { .. } => StatusCode::UNAUTHORIZED,
            Self::StoreUnavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::HeadersTooLarge { .. } => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::UnknownRoute => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::Unread(unread) => match unread {
                Unread::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
                Unread::TooSlow { .. } => StatusCode::REQUEST_TIMEOUT,
                Unread::UnsupportedType(_) | Unread::UnsupportedEncoding(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
                Unread::BadEncoding | Unread::Gone => StatusCode::BAD_REQUEST,
            },
            Self::Call(refusal) => match refusal {
                Refusal::Unreadable(_) | Refusal::Missing { .. } => StatusCode::BAD_REQUEST,
                Refusal::Invalid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
                Refusal::UnknownModel { .. } => StatusCode::NOT_FOUND,
                Refusal::RateLimited { .. } | Refusal::QuotaExceeded { .. } | Refusal::Overloaded => {
                    StatusCode::TOO_MANY_REQUESTS
                }
                Refusal::NotServing { .. }
                | Refusal::EndpointFailed { .. }
                | Refusal::HoldQueueFull
                | Refusal::QuotaUnavailable { .. }
                | Refusal::JournalFull => StatusCode::SERVICE_UNAVAILABLE,
                Refusal::HoldTimeout => StatusCode::GATEWAY_TIMEOUT,
                Refusal::WrongWorkspace => StatusCode::FORBIDDEN,
                Refusal::UpstreamTimeout { .. } => StatusCode::REQUEST_TIMEOUT,
                Refusal::BadGateway { .. } => StatusCode::BAD_GATEWAY,
                Refusal::Rejected { status, .. } => match status {
                    Rejection::BadRequest => StatusCode::BAD_REQUEST,
                    Rejection::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
                    Rejection::Unprocessable => StatusCode::UNPROCESSABLE_ENTITY,
                },
            },
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Unauthenticated { .. } => "invalid_api_key",
            Self::StoreUnavailable { .. } => "store_unavailable",
            Self::Forbidden(forbidden) => match forbidden {
                Forbidden::CsrfFailed => "csrf_failed",
                Forbidden::NoOrganizationContext => "no_organization_context",
                Forbidden::NoWorkspaceContext => "no_workspace_context",
                Forbidden::NotAMember => "not_a_member",
            },
            Self::HeadersTooLarge { .. } => "headers_too_large",
            Self::UnknownRoute => "route_not_found",
            Self::MethodNotAllowed { .. } => "method_not_allowed",
            Self::Unread(unread) => match unread {
                Unread::TooLarge { .. } => "payload_too_large",
                Unread::TooSlow { .. } => "request_timeout",
                Unread::UnsupportedType(_) | Unread::UnsupportedEncoding(_) => "unsupported_media_type",
                Unread::BadEncoding | Unread::Gone => "invalid_payload",
            },
            Self::Call(refusal) => refusal.code(),
            Self::Internal => "internal_error",
        }
    }

    /// What only our log says.
    pub(crate) fn cause(&self) -> Option<String> {
        match self {
            Self::Unauthenticated { cause } => Some((*cause).into()),
            Self::StoreUnavailable { cause }
            | Self::Call(Refusal::BadGateway { cause } | Refusal::QuotaUnavailable { cause, .. }) => {
                Some(cause.clone())
            }
            Self::Forbidden(_)
            | Self::HeadersTooLarge { .. }
            | Self::UnknownRoute
            | Self::MethodNotAllowed { .. }
            | Self::Unread(_)
            | Self::Call(_)
            | Self::Internal => None,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Unauthenticated { .. } => "Missing or invalid API key; send `Authorization: Bearer <key>`".into(),
            Self::StoreUnavailable { .. } => "the key cannot be checked right now; try again".into(),
            Self::Forbidden(forbidden) => forbidden.message().into(),
            Self::HeadersTooLarge { limit } => format!("the headers have more than {limit} bytes"),
            Self::UnknownRoute => "there is no such route".into(),
            Self::MethodNotAllowed { allow } => format!("this route takes {allow}"),
            Self::Unread(unread) => match unread {
                Unread::TooLarge { limit } => format!("the body has more than {limit} bytes"),
                Unread::TooSlow { limit } => format!("the body did not arrive within {} s", limit.as_secs_f64()),
                Unread::UnsupportedType(media) => {
                    format!("a body of type `{media}` is not read; send application/json")
                }
                Unread::UnsupportedEncoding(name) => {
                    format!("a body packed as `{name}` is not read; send gzip or plain")
                }
                Unread::BadEncoding => "the body is not gzip, though its headers say so".into(),
                Unread::Gone => "the body ended early".into(),
            },
            Self::Call(refusal) => refusal.to_string(),
            Self::Internal => "something went wrong on our side".into(),
        }
    }

    fn retry_after_secs(&self) -> Option<u64> {
        match self {
            Self::Call(
                Refusal::NotServing { retry_after_secs: Some(seconds) }
                | Refusal::RateLimited { retry_after_secs: seconds, .. }
                | Refusal::QuotaExceeded { retry_after_secs: seconds, .. },
            ) => Some((*seconds).max(1)),
            Self::Call(Refusal::Overloaded) => Some(RETRY_SOON_SECS),
            _ if self.status() == StatusCode::SERVICE_UNAVAILABLE => Some(RETRY_LATER_SECS),
            _ if self.status() == StatusCode::REQUEST_TIMEOUT => Some(RETRY_SOON_SECS),
            _ => None,
        }
    }

    /// What is left of the limits that refused the call.
    pub(crate) fn standings(&self) -> Option<RateLimitStatus> {
        match self {
            Self::Call(
                Refusal::RateLimited { standings, .. }
                | Refusal::QuotaExceeded { standings, .. }
                | Refusal::QuotaUnavailable { standings, .. },
            ) => Some(*standings),
            _ => None,
        }
    }

    pub(crate) fn dress(&self) -> Response<Body> {
        let param = match self {
            Self::Call(refusal) => refusal.param(),
            _ => "",
        };
        let body = envelope(kind(self.status()), self.code(), &self.message(), param);
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry_after_secs() {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        match self {
            Self::Unauthenticated { .. } => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::MethodNotAllowed { allow } => {
                headers.insert(header::ALLOW, HeaderValue::from_static(allow));
            }
            Self::Call(Refusal::QuotaExceeded { .. }) => {
                headers.insert(X_SHOULD_RETRY, HeaderValue::from_static("false"));
            }
            _ => {}
        }
        response
    }
}

/// The answer to a panic of ours.
pub(crate) fn internal() -> Response<Body> {
    Refused::Internal.dress()
}

/// The last event of a stream that broke.
pub(crate) fn event(refusal: &Refusal) -> Bytes {
    let kind = match refusal {
        Refusal::UpstreamTimeout { .. } => kind(StatusCode::REQUEST_TIMEOUT),
        _ => kind(StatusCode::BAD_GATEWAY),
    };
    let body = envelope(kind, refusal.code(), &refusal.to_string(), "");
    [b"data: ", &body[..], b"\n\n"].concat().into()
}

fn kind(status: StatusCode) -> &'static str {
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

fn envelope(kind: &str, code: &str, message: &str, param: &str) -> Vec<u8> {
    let mut body = Vec::with_capacity(96 + message.len());
    for (opening, text) in
        [("{\"error\":{\"type\":", kind), (",\"code\":", code), (",\"message\":", message), (",\"param\":", param)]
    {
        body.extend_from_slice(opening.as_bytes());
        body.extend_from_slice(&json::quote(text));
    }
    body.extend_from_slice(b"}}");
    body
}
