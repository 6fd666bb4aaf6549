//! Error bodies in the shapes of three engines, and of Messages.

use bytes::Bytes;
use serde_json::json;

use super::script::{ErrorBody, Script};

/// A body and its content type.
pub(super) fn render(shape: &ErrorBody, status: u16, message: &str) -> (Bytes, &'static str) {
    let value = match shape {
        ErrorBody::Vllm => {
            json!({"error": {"message": message, "type": python_type(status), "param": null, "code": status}})
        }
        ErrorBody::Sglang => {
            json!({"object": "error", "message": message, "type": python_type(status), "param": null, "code": status})
        }
        ErrorBody::LlamaCpp => {
            json!({"error": {"code": status, "message": message, "type": llama_type(status)}})
        }
        ErrorBody::Messages => json!({"type": "error", "error": {"type": python_type(status), "message": message}}),
        ErrorBody::Raw(text) => return (Bytes::from(text.clone()), "text/plain"),
        ErrorBody::Bytes(bytes) => return (Bytes::from(bytes.clone()), "application/octet-stream"),
    };
    (Bytes::from(value.to_string()), "application/json")
}

/// Payload of an error event in a stream. Always nested, even for SGLang.
pub(super) fn event(script: &Script) -> String {
    let status = script.status.unwrap_or(500);
    let message = message(script, status);
    match &script.error_body {
        ErrorBody::Raw(text) => text.clone(),
        ErrorBody::LlamaCpp => {
            json!({"error": {"code": status, "message": message, "type": llama_type(status)}}).to_string()
        }
        ErrorBody::Vllm | ErrorBody::Sglang | ErrorBody::Messages | ErrorBody::Bytes(_) => {
            json!({"error": {"message": message, "type": python_type(status), "param": null, "code": status}})
                .to_string()
        }
    }
}

pub(super) fn message(script: &Script, status: u16) -> String {
    script.error_message.clone().unwrap_or_else(|| format!("the fake engine is scripted to return {status}"))
}

fn python_type(status: u16) -> &'static str {
    match status {
        401 => "AuthenticationError",
        404 => "NotFoundError",
        429 => "RateLimitError",
        400..=499 => "BadRequestError",
        503 => "ServiceUnavailableError",
        _ => "InternalServerError",
    }
}

fn llama_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        404 => "not_found_error",
        400..=499 => "invalid_request_error",
        503 => "unavailable_error",
        _ => "server_error",
    }
}
