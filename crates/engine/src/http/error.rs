//! Error responses in the OpenAI envelope, which has four strings.

use super::response::{self, HttpResponse};
use crate::error::{ErrorKind, RequestError};
use http::header::{ALLOW, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

/// Suggested retry delay for a busy or loading engine.
const RETRY_AFTER_SECS: HeaderValue = HeaderValue::from_static("1");

/// Converts an error into a response.
pub(super) fn response(error: &RequestError) -> HttpResponse {
    let mut response = response::json(status(error.kind()), &envelope(error));
    if error.kind() == ErrorKind::Unavailable {
        response.headers_mut().insert(RETRY_AFTER, RETRY_AFTER_SECS);
    }
    if let RequestError::WrongMethod { allowed } = error {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    }
    response
}

/// JSON envelope of an error, for a response or an event in a running stream.
pub(super) fn envelope(error: &RequestError) -> Value {
    let kind = match error.kind() {
        ErrorKind::Malformed
        | ErrorKind::Unprocessable
        | ErrorKind::Unauthenticated
        | ErrorKind::NotFound
        | ErrorKind::WrongMethod
        | ErrorKind::TooLarge => "invalid_request_error",
        ErrorKind::Unavailable => "service_unavailable_error",
        ErrorKind::Internal => "server_error",
    };
    json!({"error": {
        "message": error.to_string(),
        "type": kind,
        "param": error.param(),
        "code": error.code(),
    }})
}

fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::Malformed => StatusCode::BAD_REQUEST,
        ErrorKind::Unprocessable => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorKind::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
        ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
