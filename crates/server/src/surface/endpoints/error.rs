//! Errors of `/v1/endpoints`: RFC 7807's members with `extensions`, or the small `{detail, code}` for errors that are
//! found in the request alone, and for keys without the permission. Both are `application/json`.
//!
//! The only file that knows these envelopes. A handler's error travels to the surface as an extension of an empty
//! response, because the body names the request and the public address.

use super::problems;
use crate::credential::{CredentialError, Forbidden};
use crate::surface::Body;
use crate::surface::error::{SurfaceError, retry_after_secs};
use crate::surface::json;
use axum::response::IntoResponse;
use control::endpoints::{AllotmentExceeded, EndpointError, EndpointErrorKind};
use domain::endpoint::{FieldError, FieldErrorCode};
use edge::request_body::BodyError;
use http::{Response, StatusCode, header};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

const RETRY_SOON_SECS: u64 = 1;
const RETRY_ALLOTMENT_SECS: u64 = 2;

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) enum ProblemError {
    Surface(#[from] SurfaceError),
    /// An error in the request itself.
    Request(#[from] FieldError),
    Command(#[from] EndpointError),
}

/// A problem: RFC 7807's members, and more for programs.
#[derive(Serialize, ToSchema)]
#[schema(as = EndpointProblem)]
pub(super) struct Problem {
    /// A page about problems of this kind.
    r#type: String,
    title: &'static str,
    status: u16,
    /// For people; it may change.
    detail: String,
    instance: String,
    extensions: Extensions,
}

#[derive(Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = EndpointExtensions)]
struct Extensions {
    /// Stable, for programs.
    code: &'static str,
    /// The rest is in a `GPU_ALLOTMENT_EXCEEDED`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    gpu_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    allotment: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    committed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    projected: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    need: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    remediation: Option<String>,
}

/// An error in the request itself.
#[derive(Serialize, ToSchema)]
#[schema(as = EndpointFault)]
pub(super) struct RequestFault {
    /// Begins with the path of the field.
    detail: String,
    code: &'static str,
}

impl From<CredentialError> for ProblemError {
    fn from(error: CredentialError) -> Self {
        Self::Surface(error.into())
    }
}

impl From<BodyError> for ProblemError {
    fn from(error: BodyError) -> Self {
        let body_fault = |why: String| Self::Request(FieldError::new("body", FieldErrorCode::MalformedJson, why));
        match error {
            BodyError::BadEncoding => body_fault("is not valid gzip".into()),
            BodyError::TooManyMembers { limit } => body_fault(format!("has more than {limit} gzip members")),
            BodyError::Incomplete => body_fault("ended early".into()),
            other => Self::Surface(other.into()),
        }
    }
}

/// Carries the error from a handler to the surface.
impl IntoResponse for ProblemError {
    fn into_response(self) -> axum::response::Response {
        let mut response = axum::response::Response::default();
        *response.status_mut() = self.status();
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

impl ProblemError {
    pub(super) const INTERNAL: Self = Self::Surface(SurfaceError::Internal);

    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Surface(error) => error.status(),
            Self::Request(fault) if fault.code.is_malformed() => StatusCode::BAD_REQUEST,
            Self::Request(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Command(error) => match error.kind() {
                EndpointErrorKind::Missing => StatusCode::NOT_FOUND,
                EndpointErrorKind::OtherWorkspace => StatusCode::FORBIDDEN,
                EndpointErrorKind::Conflict => StatusCode::CONFLICT,
                EndpointErrorKind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
                EndpointErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
                EndpointErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            },
        }
    }

    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Surface(error) => problems::code_of(error),
            Self::Request(fault) => fault.code.as_str(),
            Self::Command(error) => error.code(),
        }
    }

    /// The cause, for the log only.
    pub(super) fn cause(&self) -> Option<String> {
        match self {
            Self::Surface(error) => error.cause(),
            Self::Command(error)
                if matches!(error.kind(), EndpointErrorKind::Unavailable | EndpointErrorKind::Internal) =>
            {
                Some(format!("{error:?}"))
            }
            Self::Request(_) | Self::Command(_) => None,
        }
    }

    fn detail(&self) -> String {
        match self {
            Self::Surface(error) => sentence(&error.to_string()),
            Self::Request(_) | Self::Command(_) => self.to_string(),
        }
    }

    fn body(&self, public_url: &str, request_id: &str) -> Vec<u8> {
        let code = self.code();
        let encoded = match self {
            Self::Request(_)
            | Self::Surface(SurfaceError::Credential(CredentialError::Forbidden(Forbidden::PermissionDenied(_)))) => {
                serde_json::to_vec(&RequestFault { detail: self.detail(), code })
            }
            Self::Surface(_) | Self::Command(_) => serde_json::to_vec(&Problem {
                r#type: format!("{public_url}/problems/{}", problems::slug(code)),
                title: problems::of(code).title,
                status: self.status().as_u16(),
                detail: self.detail(),
                instance: format!("/v1/endpoints/{request_id}"),
                extensions: self.extensions(public_url),
            }),
        };
        encoded.expect("a problem has only text keys")
    }

    fn extensions(&self, public_url: &str) -> Extensions {
        let code = self.code();
        let Self::Command(EndpointError::AllotmentExceeded(AllotmentExceeded { gpu_type, numbers, .. })) = self else {
            return Extensions { code, ..Extensions::default() };
        };
        Extensions {
            code,
            gpu_type: Some(gpu_type.to_string()),
            allotment: Some(numbers.allotment),
            committed: Some(numbers.committed),
            projected: Some(numbers.projected),
            need: Some(numbers.need),
            remediation: Some(format!("{public_url}/docs/gpu-allotment")),
        }
    }

    fn retry_after_secs(&self) -> Option<u64> {
        match self {
            Self::Command(EndpointError::AllotmentUnavailable { .. }) => Some(RETRY_ALLOTMENT_SECS),
            Self::Command(EndpointError::IdempotencyInProgress) => Some(RETRY_SOON_SECS),
            Self::Surface(error) => error.retry_after_secs(),
            Self::Request(_) | Self::Command(_) => retry_after_secs(self.status()),
        }
    }

    pub(super) fn to_response(&self, public_url: &str, request_id: &str) -> Response<Body> {
        let mut response = json(self.status(), self.body(public_url, request_id));
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after_secs() {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if let Self::Surface(error) = self {
            error.add_headers(headers);
            error.mark(&mut response);
        }
        response
    }
}

/// `there is no such route` as `There is no such route.` A text that begins with a capital is returned as it is.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if first.is_ascii_lowercase() => format!("{}{}.", first.to_ascii_uppercase(), chars.as_str()),
        Some(_) | None => text.to_owned(),
    }
}
