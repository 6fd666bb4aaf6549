//! Errors of the inference surface: OpenAI's nested envelope of four strings.
//!
//! The only file that knows this envelope.

use crate::surface::Body;
use crate::surface::inference::{InferenceError, call_status};
use crate::surface::json;
use bytes::Bytes;
use dataplane::CallError;
use domain::RequestId;
use http::{Response, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

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

pub(super) fn response(error: &InferenceError, _request: &RequestId) -> Response<Body> {
    encode(error)
}

pub(super) fn encode(error: &InferenceError) -> Response<Body> {
    let status = error.status();
    let mut response = json(status, envelope(status, error.code(), error.to_string(), error.param()));
    error.finish(&mut response);
    response
}

/// The response to a head that cannot be read, so that it has no surface.
pub(in crate::surface) fn unreadable(status: StatusCode, code: &'static str, message: String) -> Response<Body> {
    json(status, envelope(status, code, message, ""))
}

/// The last event of a stream that broke.
pub(crate) fn event(error: &CallError, _request: &RequestId) -> Bytes {
    let body = envelope(call_status(error), error.code(), error.to_string(), error.param());
    [b"data: ", &body[..], b"\n\n"].concat().into()
}

/// OpenAI's category of a status.
fn category(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        408 | 504 => "timeout_error",
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
