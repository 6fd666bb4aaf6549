//! How this surface says no: `{"code","error",…}`, with further members where they help.
//!
//! The only file that knows the envelope and its statuses.

use crate::edge::request_body::Unread;
use axum::response::{IntoResponse, Response};
use control::{CommandError, CommandErrorKind};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// Everything this surface may refuse.
#[derive(Debug)]
pub(crate) enum Refused {
    NotSignedIn,
    CsrfFailed,
    AdminOnly,
    OperatorOnly,
    NotFound,
    MethodNotAllowed,
    HeadersTooLarge {
        limit: usize,
    },
    Unread(Unread),
    /// What is said cannot be understood, or lacks something.
    InvalidPayload {
        field: Option<String>,
        why: String,
    },
    /// It is understood, and not possible.
    InvalidValue {
        field: String,
        why: String,
    },
    /// With the record that is there now.
    VersionConflict {
        current: Value,
    },
    Control(CommandError),
    Internal,
}

/// The code of a refusal, for our log.
#[derive(Clone, Copy)]
pub(crate) struct Code(pub &'static str);

/// How every refusal looks.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes what `body` writes")]
pub(crate) struct Error {
    /// Stable, and made for programs.
    #[schema(example = "not_found")]
    code: String,
    /// For people; it may change.
    error: String,
    /// The member of the request that is at fault.
    #[schema(nullable = false)]
    field: Option<String>,
    /// The limit that is reached.
    #[schema(nullable = false)]
    limit: Option<u64>,
    /// The record that is there now, in a `version_conflict`.
    #[schema(nullable = false, value_type = Option<Object>)]
    current: Option<Value>,
}

impl From<CommandError> for Refused {
    fn from(refusal: CommandError) -> Self {
        Self::Control(refusal)
    }
}

impl From<domain::ids::IdError> for Refused {
    fn from(bad: domain::ids::IdError) -> Self {
        Self::Control(bad.into())
    }
}

impl From<Unread> for Refused {
    fn from(unread: Unread) -> Self {
        Self::Unread(unread)
    }
}

impl Refused {
    pub(crate) fn invalid(field: &str, why: &str) -> Self {
        Self::InvalidValue { field: field.to_owned(), why: why.to_owned() }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::NotSignedIn => StatusCode::UNAUTHORIZED,
            Self::CsrfFailed | Self::AdminOnly | Self::OperatorOnly => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::HeadersTooLarge { .. } => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::Unread(unread) => match unread {
                Unread::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
                Unread::TooSlow { .. } => StatusCode::REQUEST_TIMEOUT,
                Unread::UnsupportedType(_) | Unread::UnsupportedEncoding(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
                Unread::BadEncoding | Unread::Gone => StatusCode::BAD_REQUEST,
            },
            Self::InvalidPayload { .. } => StatusCode::BAD_REQUEST,
            Self::InvalidValue { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            Self::VersionConflict { .. } => StatusCode::CONFLICT,
            Self::Control(refusal) => match refusal.kind() {
                CommandErrorKind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
                CommandErrorKind::Missing => StatusCode::NOT_FOUND,
                CommandErrorKind::Conflict => StatusCode::CONFLICT,
                CommandErrorKind::Unauthenticated => StatusCode::UNAUTHORIZED,
                CommandErrorKind::Forbidden => StatusCode::FORBIDDEN,
                CommandErrorKind::TooMany => StatusCode::TOO_MANY_REQUESTS,
                CommandErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
                CommandErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            },
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::NotSignedIn => "not_signed_in",
            Self::CsrfFailed => "csrf_failed",
            Self::AdminOnly => "admin_only",
            Self::OperatorOnly => "operator_only",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::HeadersTooLarge { .. } => "headers_too_large",
            Self::Unread(unread) => match unread {
                Unread::TooLarge { .. } => "payload_too_large",
                Unread::TooSlow { .. } => "request_timeout",
                Unread::UnsupportedType(_) | Unread::UnsupportedEncoding(_) => "unsupported_media_type",
                Unread::BadEncoding | Unread::Gone => "invalid_payload",
            },
            Self::InvalidPayload { .. } => "invalid_payload",
            Self::InvalidValue { .. } => "invalid_value",
            Self::VersionConflict { .. } => "version_conflict",
            Self::Control(refusal) => refusal.code(),
            Self::Internal => "internal_error",
        }
    }

    fn message(&self) -> String {
        match self {
            Self::NotSignedIn => "sign in first".into(),
            Self::CsrfFailed => "the header X-CSRF-Token is missing, or not the token of this session".into(),
            Self::AdminOnly => "only an administrator may do this".into(),
            Self::OperatorOnly => "only the operator may do this".into(),
            Self::NotFound => "there is no such thing".into(),
            Self::MethodNotAllowed => "this path does not take that method".into(),
            Self::HeadersTooLarge { limit } => format!("the headers have more than {limit} bytes"),
            Self::Unread(unread) => match unread {
                Unread::TooLarge { limit } => format!("the body has more than {limit} bytes"),
                Unread::TooSlow { limit } => format!("the body did not arrive within {} s", limit.as_secs_f64()),
                Unread::UnsupportedType(media) => format!("`{media}` is not read; send application/json"),
                Unread::UnsupportedEncoding(name) => {
                    format!("a body packed as `{name}` is not read; send gzip or plain")
                }
                Unread::BadEncoding => "the body is not gzip, though its headers say so".into(),
                Unread::Gone => "the body ended early".into(),
            },
            Self::InvalidPayload { why, .. } | Self::InvalidValue { why, .. } => why.clone(),
            Self::VersionConflict { .. } => "it was changed by someone else since it was read".into(),
            Self::Control(refusal) => refusal.to_string(),
            Self::Internal => "something went wrong on our side".into(),
        }
    }

    fn body(&self) -> Value {
        let mut body = Map::new();
        body.insert("code".into(), self.code().into());
        body.insert("error".into(), self.message().into());
        let field = match self {
            Self::InvalidPayload { field, .. } => field.as_deref(),
            Self::InvalidValue { field, .. } => Some(field.as_str()),
            Self::Control(refusal) => refusal.field(),
            _ => None,
        };
        if let Some(field) = field {
            body.insert("field".into(), field.into());
        }
        match self {
            Self::VersionConflict { current } => drop(body.insert("current".into(), current.clone())),
            Self::Control(CommandError::KeyLimitReached { limit }) => drop(body.insert("limit".into(), json!(limit))),
            Self::Control(CommandError::OperatorOnly(limit)) => drop(body.insert("limit".into(), json!(limit.ceiling))),
            _ => {}
        }
        Value::Object(body)
    }

    fn retry_after_secs(&self) -> Option<u64> {
        const RETRY_LATER_SECS: u64 = 5;
        match self {
            Self::Control(CommandError::TooManyAttempts { wait, now }) => Some(wait.retry_after_secs(*now)),
            Self::Unread(Unread::TooSlow { .. }) => Some(1),
            _ if self.status() == StatusCode::SERVICE_UNAVAILABLE => Some(RETRY_LATER_SECS),
            _ => None,
        }
    }

    /// What only our log says.
    fn log(&self) {
        match self {
            Self::Control(refusal @ (CommandError::StoreUnavailable { cause: _ } | CommandError::Internal { .. })) => {
                tracing::error!(error = ?refusal, "a request to the console's surface failed");
            }
            Self::Internal => tracing::error!("a handler of the console's surface panicked"),
            _ => {}
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        self.log();
        let mut response = (self.status(), axum::Json(self.body())).into_response();
        response.extensions_mut().insert(Code(self.code()));
        if let Some(seconds) = self.retry_after_secs() {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
