//! Reads the error bodies of engines, which may be nested, flat, or plain text.

use super::overflow;
use crate::error::{CallError, ContextOverflow, UpstreamRejection};
use json::{JsonError, Reader, ValueKind};

/// The maximum length of a message, in characters.
const MAX_MESSAGE: usize = 500;

/// The readable parts of an error body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UpstreamError {
    pub(crate) message: String,
    pub(crate) param: String,
    /// A code that says that the request exceeds the context.
    has_overflow_code: bool,
    /// The status that the error names, if it is the request's fault.
    rejection: Option<UpstreamRejection>,
}

/// Types of vLLM and SGLang, and of the other APIs.
const REJECTIONS: [&str; 2] = ["BadRequestError", "invalid_request_error"];

/// What llama-server says, with status 500, of parts of messages that its model cannot read.
const UNREADABLE_MEDIA: [&str; 3] =
    ["image input is not supported", "audio input is not supported", "video input is not supported"];

/// Reads `{"error":{…}}`, `{"message":…}`, `{"error":"…"}` or `{"detail":"…"}`.
pub(crate) fn read(body: &[u8]) -> UpstreamError {
    let mut error = UpstreamError::default();
    // After a syntax error, the members before it still count.
    let _ = read_object(&mut Reader::new(body), &mut error);
    error
}

impl UpstreamError {
    /// The rejection that an error in a response of status 200 stands for; `None` if the request is not at fault. vLLM checks
    /// some members only after it has begun a stream.
    pub(crate) fn rejection(&self, context_length: u64) -> Option<CallError> {
        let overflow = self.overflow(context_length);
        let status = self.rejection.or(overflow.map(|_| UpstreamRejection::BadRequest))?;
        Some(CallError::Rejected { status, message: self.message.clone(), param: self.param.clone(), overflow })
    }

    /// Whether the request is at fault although the status says that the engine is.
    pub(crate) fn is_about_media(&self) -> bool {
        UNREADABLE_MEDIA.iter().any(|message| self.message.starts_with(message))
    }

    /// How the request exceeds the context of a model with this length; `None` if this error is about something else.
    pub(crate) fn overflow(&self, context_length: u64) -> Option<ContextOverflow> {
        overflow::read(&self.message, self.has_overflow_code, context_length)
    }
}

/// The message only, for our log.
pub(crate) fn message(body: &[u8]) -> String {
    reported(body).message
}

/// An error with its whole text as the message if it has no other.
pub(crate) fn reported(body: &[u8]) -> UpstreamError {
    let error = read(body);
    if error.message.is_empty() { UpstreamError { message: shorten(body), ..error } } else { error }
}

fn read_object(reader: &mut Reader<'_>, error: &mut UpstreamError) -> Result<(), JsonError> {
    if reader.kind()? != ValueKind::Object {
        return Ok(());
    }
    reader.object(|reader, name, _| {
        let kind = reader.kind()?;
        match (name.raw(), kind) {
            (b"error", ValueKind::Object) => read_object(reader, error),
            (b"message" | b"error" | b"detail", ValueKind::String) => {
                error.message = shorten(&reader.string()?.decoded());
                Ok(())
            }
            (b"param", ValueKind::String) => {
                error.param = shorten(&reader.string()?.decoded());
                Ok(())
            }
            (b"code" | b"type", ValueKind::String) => {
                let word = reader.string()?;
                error.has_overflow_code |= overflow::CODES.iter().any(|code| word.is(code));
                if REJECTIONS.iter().any(|rejection| word.is(rejection)) {
                    error.rejection.get_or_insert(UpstreamRejection::BadRequest);
                }
                Ok(())
            }
            (b"code", ValueKind::Number) => {
                error.rejection = match reader.number()? {
                    b"400" => Some(UpstreamRejection::BadRequest),
                    b"413" => Some(UpstreamRejection::TooLarge),
                    b"422" => Some(UpstreamRejection::Unprocessable),
                    _ => error.rejection,
                };
                Ok(())
            }
            _ => reader.skip(),
        }
    })
}

fn shorten(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * MAX_MESSAGE)]);
    text.chars().take(MAX_MESSAGE).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_error_bodies_are_read() {
        for body in [
            r#"{"error":{"message":"too hot","type":"BadRequestError","param":"temperature","code":400}}"#,
            r#"{"object":"error","message":"too hot","type":"BadRequest","param":"temperature","code":400}"#,
        ] {
            let error = read(body.as_bytes());
            assert_eq!((error.message.as_str(), error.param.as_str()), ("too hot", "temperature"));
        }
        assert_eq!(read(br#"{"error":"Unauthorized"}"#).message, "Unauthorized");
        assert_eq!(read(br#"{"detail":"Not Found"}"#).message, "Not Found");
        assert_eq!(read(b"<html>").message, "");
        assert_eq!(message(b"<html>\n"), "<html> ");
    }

    #[test]
    fn an_error_that_the_request_caused_differs_from_one_of_the_engine() {
        for (body, expected) in [
            (
                r#"{"error":{"message":"x","type":"BadRequestError","param":null,"code":400}}"#,
                Some(UpstreamRejection::BadRequest),
            ),
            (
                r#"{"error":{"code":422,"message":"x","type":"BadRequestError"}}"#,
                Some(UpstreamRejection::Unprocessable),
            ),
            (r#"{"error":{"type":"BadRequestError","message":"x","code":413}}"#, Some(UpstreamRejection::TooLarge)),
            (
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"x"}}"#,
                Some(UpstreamRejection::BadRequest),
            ),
            (r#"{"error":{"message":"x","type":"InternalServerError","code":500}}"#, None),
            (r#"{"error":{"message":"x","code":"400"}}"#, None),
        ] {
            assert_eq!(read(body.as_bytes()).rejection, expected, "{body}");
        }
    }

    #[test]
    fn a_context_length_error_is_recognized() {
        for body in [
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","code":400}}"#,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#,
        ] {
            assert!(read(body.as_bytes()).overflow(8192).is_some(), "{body}");
        }
    }
}
