//! How this surface says no: RFC 7807's members with `extensions`, or the small `{detail, code}` for what the request's
//! bytes alone tell. Both are `application/json`.
//!
//! The only file that knows the envelopes and their statuses.

use super::problems;
use crate::credential::{self, Forbidden};
use crate::edge::Body;
use crate::edge::request_body::Unread;
use control::endpoints::{EndpointError, EndpointErrorKind};
use domain::endpoint::{FieldError, FieldErrorCode};
use http::{HeaderValue, Response, StatusCode, header};
use serde::Serialize;
use serde_json::{Value, json};

/// Everything this surface may refuse.
#[derive(Debug)]
pub(crate) enum Refused {
    Credential(credential::Refused),
    HeadersTooLarge {
        limit: usize,
    },
    UnknownRoute,
    MethodNotAllowed {
        allow: &'static str,
    },
    Unread(Unread),
    /// What the bytes of the request tell.
    Early(FieldError),
    Command(EndpointError),
    Internal,
}

/// The one 401: nothing in it tells why.
const UNAUTHENTICATED: &str = "Missing or invalid API key; send `Authorization: Bearer <key>`";
const RETRY_SOON_SECS: u64 = 1;
const RETRY_ALLOTMENT_SECS: u64 = 2;
const RETRY_LATER_SECS: u64 = 5;

impl From<credential::Refused> for Refused {
    fn from(refused: credential::Refused) -> Self {
        Self::Credential(refused)
    }
}

impl From<Unread> for Refused {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::BadEncoding => Self::Early(body_fault("is not gzip, though its headers say so")),
            Unread::Gone => Self::Early(body_fault("ended early")),
            Unread::TooLarge { .. }
            | Unread::TooSlow { .. }
            | Unread::UnsupportedType(_)
            | Unread::UnsupportedEncoding(_) => Self::Unread(unread),
        }
    }
}

fn body_fault(why: &'static str) -> FieldError {
    FieldError::new("body", FieldErrorCode::MalformedJson, why)
}

impl From<FieldError> for Refused {
    fn from(fault: FieldError) -> Self {
        Self::Early(fault)
    }
}

impl From<EndpointError> for Refused {
    fn from(refusal: EndpointError) -> Self {
        Self::Command(refusal)
    }
}

impl From<control::CommandError> for Refused {
    fn from(refusal: control::CommandError) -> Self {
        Self::Command(refusal.into())
    }
}

/// Where a problem happened.
pub(super) struct Place<'a> {
    pub(super) public_url: &'a str,
    pub(super) request: &'a str,
}

#[derive(Serialize)]
struct Problem<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: String,
    instance: String,
    extensions: Value,
}

impl Refused {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Credential(refused) => match refused {
                credential::Refused::Unauthenticated { .. } => StatusCode::UNAUTHORIZED,
                credential::Refused::StoreUnavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
                credential::Refused::Forbidden(_) => StatusCode::FORBIDDEN,
                credential::Refused::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            },
            Self::HeadersTooLarge { .. } => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::UnknownRoute => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::Unread(unread) => match unread {
                Unread::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
                Unread::TooSlow { .. } => StatusCode::REQUEST_TIMEOUT,
                Unread::UnsupportedType(_) | Unread::UnsupportedEncoding(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
                Unread::BadEncoding | Unread::Gone => StatusCode::BAD_REQUEST,
            },
            Self::Early(fault) if fault.code.is_shapeless() => StatusCode::BAD_REQUEST,
            Self::Early(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Command(refusal) => match refusal.kind() {
                EndpointErrorKind::Missing => StatusCode::NOT_FOUND,
                EndpointErrorKind::OtherWorkspace => StatusCode::FORBIDDEN,
                EndpointErrorKind::Conflict => StatusCode::CONFLICT,
                EndpointErrorKind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
                EndpointErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
                EndpointErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            },
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Credential(refused) => match refused {
                credential::Refused::Unauthenticated { .. } => "UNAUTHENTICATED",
                credential::Refused::StoreUnavailable { .. } => "DATABASE_UNAVAILABLE",
                credential::Refused::Forbidden(forbidden) => match forbidden {
                    Forbidden::CsrfFailed => "CSRF_FAILED",
                    Forbidden::NoOrganizationContext => "NO_ORGANIZATION_CONTEXT",
                    Forbidden::NoWorkspaceContext => "NO_WORKSPACE_CONTEXT",
                    Forbidden::NotAMember => "NOT_A_MEMBER",
                },
                credential::Refused::Internal => "INTERNAL",
            },
            Self::HeadersTooLarge { .. } => "HEADERS_TOO_LARGE",
            Self::UnknownRoute => "ROUTE_NOT_FOUND",
            Self::MethodNotAllowed { .. } => "METHOD_NOT_ALLOWED",
            Self::Unread(unread) => match unread {
                Unread::TooLarge { .. } => "PAYLOAD_TOO_LARGE",
                Unread::TooSlow { .. } => "REQUEST_TIMEOUT",
                Unread::UnsupportedType(_) | Unread::UnsupportedEncoding(_) => "UNSUPPORTED_MEDIA_TYPE",
                Unread::BadEncoding | Unread::Gone => "MALFORMED_JSON",
            },
            Self::Early(fault) => fault.code.as_str(),
            Self::Command(refusal) => refusal.code(),
            Self::Internal => "INTERNAL",
        }
    }

    /// What only our log says.
    pub(super) fn cause(&self) -> Option<String> {
        match self {
            Self::Credential(credential::Refused::Unauthenticated { cause }) => Some((*cause).into()),
            Self::Credential(credential::Refused::StoreUnavailable { cause }) => Some(cause.clone()),
            Self::Command(refusal)
                if matches!(refusal.kind(), EndpointErrorKind::Unavailable | EndpointErrorKind::Internal) =>
            {
                Some(format!("{refusal:?}"))
            }
            _ => None,
        }
    }

    fn detail(&self) -> String {
        match self {
            Self::Credential(refused) => match refused {
                credential::Refused::Unauthenticated { .. } => UNAUTHENTICATED.into(),
                credential::Refused::StoreUnavailable { .. } => {
                    "The credential cannot be checked right now; try again.".into()
                }
                credential::Refused::Forbidden(forbidden) => forbidden.message().into(),
                credential::Refused::Internal => "Something went wrong inside.".into(),
            },
            Self::HeadersTooLarge { limit } => format!("The headers have more than {limit} bytes."),
            Self::UnknownRoute => "There is no such route.".into(),
            Self::MethodNotAllowed { allow } => format!("This route takes {allow}."),
            Self::Unread(unread) => match unread {
                Unread::TooLarge { limit } => format!("The body has more than {limit} bytes."),
                Unread::TooSlow { limit } => format!("The body did not arrive within {} s.", limit.as_secs_f64()),
                Unread::UnsupportedType(media) => {
                    format!("A body of type `{media}` is not read; send application/json.")
                }
                Unread::UnsupportedEncoding(name) => {
                    format!("A body packed as `{name}` is not read; send gzip or plain.")
                }
                Unread::BadEncoding | Unread::Gone => "The body cannot be read.".into(),
            },
            Self::Early(fault) => fault.to_string(),
            Self::Command(refusal) => refusal.to_string(),
            Self::Internal => "Something went wrong inside.".into(),
        }
    }

    fn extensions(&self, place: &Place<'_>) -> Value {
        match self {
            Self::Command(EndpointError::AllotmentExceeded(exceeding)) => {
                let remediation = format!("{}/docs/gpu-allotment", place.public_url);
                json!(exceeding.extensions(&remediation))
            }
            _ => json!({"code": self.code()}),
        }
    }

    fn body(&self, place: &Place<'_>) -> Value {
        if let Self::Early(fault) = self {
            return json!({"detail": fault.to_string(), "code": fault.code.as_str()});
        }
        let code = self.code();
        json!(Problem {
            r#type: format!("{}/problems/{}", place.public_url, problems::slug(code)),
            title: problems::of(code).title,
            status: self.status().as_u16(),
            detail: self.detail(),
            instance: format!("/v1/endpoints/{}", place.request),
            extensions: self.extensions(place),
        })
    }

    fn retry_after_secs(&self) -> Option<u64> {
        match self {
            Self::Command(EndpointError::AllotmentUnavailable { .. }) => Some(RETRY_ALLOTMENT_SECS),
            Self::Command(EndpointError::IdempotencyInProgress) => Some(RETRY_SOON_SECS),
            _ if self.status() == StatusCode::SERVICE_UNAVAILABLE => Some(RETRY_LATER_SECS),
            _ if self.status() == StatusCode::REQUEST_TIMEOUT => Some(RETRY_SOON_SECS),
            _ => None,
        }
    }

    pub(super) fn dress(&self, place: &Place<'_>) -> Response<Body> {
        let mut response = Response::new(Body::from(self.body(place).to_string()));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry_after_secs() {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        match self {
            Self::Credential(credential::Refused::Unauthenticated { .. }) => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::MethodNotAllowed { allow } => {
                headers.insert(header::ALLOW, HeaderValue::from_static(allow));
            }
            _ => {}
        }
        response
    }
}
