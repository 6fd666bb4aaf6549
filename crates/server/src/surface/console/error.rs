//! Errors of the console's surface: `{"code","error",…}`, with further members where they help.
//!
//! The only file that knows this envelope.

use crate::surface::error::{SurfaceError, retry_after_secs};
use crate::surface::{Body, bridge, json};
use crate::surface_context::SessionError;
use axum::response::{IntoResponse, Response};
use control::{CommandError, CommandErrorKind};
use domain::key_restrictions::RestrictionError;
use fleet::weights::{ChangeError, WeightsError};
use http::{HeaderValue, StatusCode, header};
use node::downloads::ChangeFailure;
use serde::Serialize;
use serde_json::Value;
use store::Conflict;
use utoipa::ToSchema;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConsoleError {
    #[error(transparent)]
    Surface(#[from] SurfaceError),
    #[error("sign in first")]
    NotSignedIn,
    #[error("the header X-CSRF-Token is missing or does not match the session")]
    CsrfFailed,
    #[error("only an administrator may do this")]
    AdminOnly,
    #[error("only the operator may do this")]
    OperatorOnly,
    #[error("not found")]
    NotFound,
    /// The body or query cannot be parsed, or lacks a member.
    #[error("{why}")]
    InvalidPayload { field: Option<String>, why: String },
    /// A member has a value that is not allowed.
    #[error("{why}")]
    InvalidValue { field: String, why: String },
    /// With the current record.
    #[error("the record was changed by another user since it was read")]
    VersionConflict { current: Value },
    #[error("the batch has ended")]
    BatchEnded,
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

/// The code of an error response, for the log.
#[derive(Clone, Copy)]
pub(crate) struct ErrorCode(pub &'static str);

/// The body of every error.
#[derive(Serialize, ToSchema)]
#[schema(as = Error)]
pub(crate) struct ErrorBody {
    /// Stable, for programs.
    #[schema(example = "not_found")]
    code: &'static str,
    /// For people; it may change.
    error: String,
    /// The member of the request at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    field: Option<String>,
    /// The limit that is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    limit: Option<u64>,
    /// The current record, in a `version_conflict`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Object>)]
    current: Option<Value>,
}

impl From<domain::ids::IdError> for ConsoleError {
    fn from(error: domain::ids::IdError) -> Self {
        Self::Command(error.into())
    }
}

impl From<RestrictionError> for ConsoleError {
    fn from(error: RestrictionError) -> Self {
        Self::invalid(error.field, &error.to_string())
    }
}

impl From<ChangeError> for ConsoleError {
    fn from(error: ChangeError) -> Self {
        Self::Weights(error.into())
    }
}

impl From<ChangeFailure> for ConsoleError {
    fn from(error: ChangeFailure) -> Self {
        match error {
            ChangeFailure::Rejected(error) => error.into(),
            ChangeFailure::Command(error) => Self::Command(error),
        }
    }
}

impl From<SessionError> for ConsoleError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Throttled(throttled) => Self::Surface(throttled.into()),
            SessionError::Command(error) => Self::Command(error),
        }
    }
}

impl ConsoleError {
    pub(crate) const INTERNAL: Self = Self::Surface(SurfaceError::Internal);

    pub(crate) fn invalid(field: &str, why: &str) -> Self {
        Self::InvalidValue { field: field.to_owned(), why: why.to_owned() }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Surface(error) => error.status(),
            Self::NotSignedIn => StatusCode::UNAUTHORIZED,
            Self::CsrfFailed | Self::AdminOnly | Self::OperatorOnly => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::InvalidPayload { .. } => StatusCode::BAD_REQUEST,
            Self::InvalidValue { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            Self::VersionConflict { .. } | Self::BatchEnded => StatusCode::CONFLICT,
            Self::Command(error) => match error.kind() {
                CommandErrorKind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
                CommandErrorKind::Missing => StatusCode::NOT_FOUND,
                CommandErrorKind::Conflict => StatusCode::CONFLICT,
                CommandErrorKind::Unauthenticated => StatusCode::UNAUTHORIZED,
                CommandErrorKind::Forbidden => StatusCode::FORBIDDEN,
                CommandErrorKind::TooMany => StatusCode::TOO_MANY_REQUESTS,
                CommandErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
                CommandErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            },
            Self::Weights(error) => match error {
                WeightsError::Reference(_) | WeightsError::TooLarge { .. } => StatusCode::UNPROCESSABLE_ENTITY,
                WeightsError::HubUnavailable(_) => StatusCode::BAD_GATEWAY,
                WeightsError::NoDiskSpace(_) => StatusCode::CONFLICT,
                WeightsError::Change(error) => match error {
                    ChangeError::Missing => StatusCode::NOT_FOUND,
                    ChangeError::Active | ChangeError::Inactive(_) | ChangeError::TooMany | ChangeError::InUse(_) => {
                        StatusCode::CONFLICT
                    }
                    ChangeError::Files => StatusCode::INTERNAL_SERVER_ERROR,
                },
                WeightsError::Disk(_) => StatusCode::INTERNAL_SERVER_ERROR,
            },
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Surface(SurfaceError::Throttled(_)) => "too_many_attempts",
            Self::Surface(error) => error.code(),
            Self::NotSignedIn => "not_signed_in",
            Self::CsrfFailed => "csrf_failed",
            Self::AdminOnly => "admin_only",
            Self::OperatorOnly => "operator_only",
            Self::NotFound => "not_found",
            Self::InvalidPayload { .. } => "invalid_payload",
            Self::InvalidValue { .. } => "invalid_value",
            Self::VersionConflict { .. } => "version_conflict",
            Self::BatchEnded => "batch_not_cancellable",
            Self::Command(error) => error.code(),
            Self::Weights(error) => match error {
                WeightsError::Reference(_) | WeightsError::TooLarge { .. } => "invalid_value",
                WeightsError::HubUnavailable(_) => "hub_unavailable",
                WeightsError::NoDiskSpace(_) => "no_disk_space",
                WeightsError::Change(error) => match error {
                    ChangeError::Missing => "not_found",
                    ChangeError::Active => "download_active",
                    ChangeError::Inactive(_) => "download_inactive",
                    ChangeError::TooMany => "too_many_downloads",
                    ChangeError::InUse(_) => "weights_in_use",
                    ChangeError::Files => "internal_error",
                },
                WeightsError::Disk(_) => "internal_error",
            },
        }
    }

    fn body(&self) -> ErrorBody {
        let field = match self {
            Self::InvalidPayload { field, .. } => field.clone(),
            Self::InvalidValue { field, .. } => Some(field.clone()),
            Self::Command(error) => error.field().map(str::to_owned),
            Self::Weights(WeightsError::Reference(_) | WeightsError::TooLarge { .. }) => Some("reference".to_owned()),
            _ => None,
        };
        let limit = match self {
            Self::Command(CommandError::Conflict(
                Conflict::KeyLimitReached { limit } | Conflict::WorkspaceLimitReached { limit, .. },
            )) => Some(*limit),
            Self::Command(CommandError::OperatorOnly(limit)) => Some(limit.ceiling),
            _ => None,
        };
        let current = match self {
            Self::VersionConflict { current } => Some(current.clone()),
            _ => None,
        };
        ErrorBody { code: self.code(), error: self.to_string(), field, limit, current }
    }

    fn retry_after_secs(&self) -> Option<u64> {
        match self {
            Self::Command(CommandError::TooManyAttempts { wait, now }) => Some(wait.retry_after_secs(*now)),
            Self::Surface(error) => error.retry_after_secs(),
            _ => retry_after_secs(self.status()),
        }
    }

    /// Logs causes that the client does not get to see.
    fn log(&self) {
        match self {
            Self::Command(error @ (CommandError::StoreUnavailable { cause: _ } | CommandError::Internal { .. })) => {
                tracing::error!(?error, "a request to the console's surface failed");
            }
            Self::Weights(WeightsError::Disk(error)) => {
                tracing::error!(%error, "a file of a download cannot be read or written");
            }
            Self::Surface(SurfaceError::Internal) => tracing::error!("a handler of the console's surface panicked"),
            _ => {}
        }
    }
}

impl ConsoleError {
    /// The response to a request that reached no handler.
    pub(super) fn to_response(&self) -> http::Response<Body> {
        let body = serde_json::to_vec(&self.body()).expect("errors have only text keys");
        let mut response = bridge::personal(json(self.status(), body));
        if let Some(seconds) = self.retry_after_secs() {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl IntoResponse for ConsoleError {
    fn into_response(self) -> Response {
        self.log();
        let mut response = (self.status(), axum::Json(self.body())).into_response();
        response.extensions_mut().insert(ErrorCode(self.code()));
        if let Some(seconds) = self.retry_after_secs() {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Self::Surface(error) = &self {
            error.mark(&mut response);
        }
        response
    }
}
