//! Errors that all surfaces share, with their status, code and message. A surface adds its spelling of the code and its
//! envelope.

use crate::credential::{CredentialError, Forbidden};
use edge::request_body::BodyError;
use edge::throttle::Throttled;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

pub(super) const RETRY_SOON_SECS: u64 = 1;
const RETRY_LATER_SECS: u64 = 5;

/// Marks a response that is sent with a delay. A client that ignores `Retry-After` would otherwise send its next request
/// at once, and rejecting it is work, too.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delayed;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SurfaceError {
    #[error(transparent)]
    Credential(#[from] CredentialError),
    #[error("the headers exceed {limit} bytes")]
    HeadersTooLarge { limit: usize },
    #[error("there is no such route")]
    RouteNotFound,
    /// With the methods of the route, if the router does not add the header itself.
    #[error("this route {}", support(.allow.as_deref()))]
    MethodNotAllowed { allow: Option<String> },
    #[error(transparent)]
    Body(#[from] BodyError),
    /// The caller sends too many requests of a kind.
    #[error(transparent)]
    Throttled(#[from] Throttled),
    #[error("internal error")]
    Internal,
}

fn support(allow: Option<&str>) -> String {
    match allow {
        Some(allow) => format!("supports {allow}"),
        None => "does not support the method".into(),
    }
}

impl SurfaceError {
    /// The store has not responded since the start of this node.
    pub(super) fn store_unavailable() -> Self {
        CredentialError::StoreUnavailable { cause: "the node waits for the store".to_owned() }.into()
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Credential(error) => match error {
                CredentialError::Unauthenticated { .. } => StatusCode::UNAUTHORIZED,
                CredentialError::StoreUnavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
                CredentialError::Throttled(_) => StatusCode::TOO_MANY_REQUESTS,
                CredentialError::Forbidden(_) => StatusCode::FORBIDDEN,
                CredentialError::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            },
            Self::HeadersTooLarge { .. } => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::RouteNotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::Body(error) => match error {
                BodyError::TooLarge { .. } | BodyError::RatioTooHigh { .. } => StatusCode::PAYLOAD_TOO_LARGE,
                BodyError::TooSlow { .. } | BodyError::Stalled { .. } => StatusCode::REQUEST_TIMEOUT,
                BodyError::UnsupportedType(_) | BodyError::UnsupportedEncoding(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
                BodyError::BadEncoding | BodyError::TooManyMembers { .. } | BodyError::Incomplete => {
                    StatusCode::BAD_REQUEST
                }
                BodyError::ServerBusy => StatusCode::SERVICE_UNAVAILABLE,
                BodyError::OrganizationBusy => StatusCode::TOO_MANY_REQUESTS,
            },
            Self::Throttled(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The code in the spelling of the inference surface.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Credential(error) => match error {
                CredentialError::Unauthenticated { .. } => "invalid_api_key",
                CredentialError::StoreUnavailable { .. } => "store_unavailable",
                CredentialError::Throttled(_) => "rate_limit_exceeded",
                CredentialError::Forbidden(forbidden) => match forbidden {
                    Forbidden::CsrfFailed => "csrf_failed",
                    Forbidden::NoOrganizationContext => "no_organization_context",
                    Forbidden::NoWorkspaceContext => "no_workspace_context",
                    Forbidden::NotAMember => "not_a_member",
                    Forbidden::PermissionDenied(_) => "permission_denied",
                },
                CredentialError::Internal => "internal_error",
            },
            Self::HeadersTooLarge { .. } => "headers_too_large",
            Self::RouteNotFound => "route_not_found",
            Self::MethodNotAllowed { .. } => "method_not_allowed",
            Self::Body(error) => match error {
                BodyError::TooLarge { .. } | BodyError::RatioTooHigh { .. } => "payload_too_large",
                BodyError::TooSlow { .. } | BodyError::Stalled { .. } => "request_timeout",
                BodyError::UnsupportedType(_) | BodyError::UnsupportedEncoding(_) => "unsupported_media_type",
                BodyError::BadEncoding | BodyError::TooManyMembers { .. } | BodyError::Incomplete => "invalid_payload",
                BodyError::ServerBusy => "server_busy",
                BodyError::OrganizationBusy => "concurrency_limit_exceeded",
            },
            Self::Throttled(_) => "rate_limit_exceeded",
            Self::Internal => "internal_error",
        }
    }

    /// Whether the caller sends too many requests of a kind that protects the node.
    fn is_throttled(&self) -> bool {
        matches!(self, Self::Credential(CredentialError::Throttled(_)) | Self::Throttled(_))
    }

    /// Marks the response to a throttled request.
    pub(super) fn mark<B>(&self, response: &mut Response<B>) {
        if self.is_throttled() {
            response.extensions_mut().insert(Delayed);
        }
    }

    /// Whether the client caused the error. A call that was throttled is not counted again, so that a client that waits
    /// for `Retry-After` gets through.
    pub(crate) fn is_failed_attempt(&self) -> bool {
        let is_busy = matches!(self, Self::Body(BodyError::OrganizationBusy));
        self.status().is_client_error() && !self.is_throttled() && !is_busy
    }

    pub(crate) fn retry_after_secs(&self) -> Option<u64> {
        match self {
            Self::Credential(CredentialError::Throttled(throttled)) | Self::Throttled(throttled) => {
                Some(throttled.retry_after_secs())
            }
            Self::Body(BodyError::ServerBusy | BodyError::OrganizationBusy) => Some(RETRY_SOON_SECS),
            _ => retry_after_secs(self.status()),
        }
    }

    /// The cause, for the log only.
    pub(crate) fn cause(&self) -> Option<String> {
        match self {
            Self::Credential(error) => error.cause(),
            _ => None,
        }
    }

    /// Adds the headers that belong to the status.
    pub(crate) fn add_headers(&self, headers: &mut HeaderMap) {
        match self {
            Self::Credential(CredentialError::Unauthenticated { .. }) => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::MethodNotAllowed { allow: Some(allow) } => {
                if let Ok(allow) = HeaderValue::from_str(allow) {
                    headers.insert(header::ALLOW, allow);
                }
            }
            _ => {}
        }
    }
}

/// The `Retry-After` of a status, unless the error knows better.
pub(crate) fn retry_after_secs(status: StatusCode) -> Option<u64> {
    match status {
        StatusCode::SERVICE_UNAVAILABLE => Some(RETRY_LATER_SECS),
        StatusCode::REQUEST_TIMEOUT => Some(RETRY_SOON_SECS),
        _ => None,
    }
}
