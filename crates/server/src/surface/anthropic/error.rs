//! Errors of Anthropic's surface. The only file that knows this envelope.

use crate::credential::CredentialError;
use crate::surface::Body;
use crate::surface::error::SurfaceError;
use crate::surface::inference::{InferenceError, X_SHOULD_RETRY, call_status};
use crate::surface::json;
use bytes::Bytes;
use dataplane::{CallError, ContextOverflow};
use domain::RequestId;
use http::{HeaderValue, Response, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

/// The body of every error.
#[derive(Serialize, ToSchema)]
#[schema(as = MessagesError)]
pub(super) struct ErrorEnvelope<'a> {
    /// `error`
    r#type: &'static str,
    error: ErrorMembers<'a>,
    request_id: &'a str,
}

#[derive(Serialize, ToSchema)]
#[schema(as = MessagesErrorMembers)]
struct ErrorMembers<'a> {
    /// A category, such as `invalid_request_error`.
    r#type: &'static str,
    /// For people; it may change.
    message: String,
    /// Stable, for programs.
    code: &'static str,
    /// The member of the request at fault, or empty.
    param: &'a str,
}

pub(super) fn response(error: &InferenceError, request: &RequestId) -> Response<Body> {
    let status = status(error.status());
    let mut response = json(status, envelope(status, error.code(), message(error), error.param(), request));
    error.finish(&mut response);
    if matches!(error, InferenceError::Surface(SurfaceError::Credential(CredentialError::Unauthenticated { .. }))) {
        // Without it, Claude Code repeats the call for minutes.
        response.headers_mut().insert(X_SHOULD_RETRY, HeaderValue::from_static("false"));
    }
    response
}

/// The last event of a stream that broke.
pub(super) fn event(error: &CallError, request: &RequestId) -> Bytes {
    let text = overflow_message(error).unwrap_or_else(|| error.to_string());
    let body = envelope(status(call_status(error)), error.code(), text, error.param(), request);
    [b"event: error\ndata: ", &body[..], b"\n\n"].concat().into()
}

/// This API has no 422.
fn status(status: StatusCode) -> StatusCode {
    if status == StatusCode::UNPROCESSABLE_ENTITY { StatusCode::BAD_REQUEST } else { status }
}

fn message(error: &InferenceError) -> String {
    let overflow = if let InferenceError::Call(error) = error { overflow_message(error) } else { None };
    overflow.unwrap_or_else(|| error.to_string())
}

/// Claude Code reads both numbers and compacts the conversation.
fn overflow_message(error: &CallError) -> Option<String> {
    match error.overflow()? {
        ContextOverflow::Prompt { tokens, maximum } => {
            Some(format!("prompt is too long: {tokens} tokens > {maximum} maximum"))
        }
        ContextOverflow::Total => None,
    }
}

/// Anthropic's category of a status.
fn category(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        500 | 502 => "api_error",
        503 => "overloaded_error",
        504 => "timeout_error",
        _ => "invalid_request_error",
    }
}

fn envelope(status: StatusCode, code: &'static str, message: String, param: &str, request: &RequestId) -> Vec<u8> {
    let error = ErrorMembers { r#type: category(status), message, code, param };
    let envelope = ErrorEnvelope { r#type: "error", error, request_id: request.as_str() };
    serde_json::to_vec(&envelope).expect("an envelope has only text keys")
}
