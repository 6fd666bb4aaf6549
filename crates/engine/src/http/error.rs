//! Refusals in the envelope of the OpenAI interface: four strings.

use super::answer::{self, Answer};
use crate::refusal::{Kind, Refusal};
use http::header::{ALLOW, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

/// Seconds after which a busy or loading engine is worth another try.
const RETRY_AFTER_SECS: HeaderValue = HeaderValue::from_static("1");

/// The refusal as an answer.
pub(super) fn answer(refusal: &Refusal) -> Answer {
    let mut answer = answer::json(status(refusal.kind()), &envelope(refusal));
    if refusal.kind() == Kind::Unavailable {
        answer.headers_mut().insert(RETRY_AFTER, RETRY_AFTER_SECS);
    }
    if let Refusal::WrongMethod { allowed } = refusal {
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    }
    answer
}

/// The refusal as it stands in an answer, or in a stream that has begun.
pub(super) fn envelope(refusal: &Refusal) -> Value {
    let kind = match refusal.kind() {
        Kind::Malformed | Kind::Unprocessable | Kind::NotFound | Kind::WrongMethod | Kind::TooLarge => {
            "invalid_request_error"
        }
        Kind::Unavailable => "service_unavailable_error",
        Kind::Internal => "server_error",
    };
    json!({"error": {
        "message": refusal.to_string(),
        "type": kind,
        "param": refusal.param(),
        "code": refusal.code(),
    }})
}

fn status(kind: Kind) -> StatusCode {
    match kind {
        Kind::Malformed => StatusCode::BAD_REQUEST,
        Kind::Unprocessable => StatusCode::UNPROCESSABLE_ENTITY,
        Kind::NotFound => StatusCode::NOT_FOUND,
        Kind::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
        Kind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
