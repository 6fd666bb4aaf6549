//! Reads the error bodies of engines, which may be nested, flat, or plain text.

use super::overflow;
use crate::error::ContextOverflow;
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
}

/// Reads `{"error":{…}}`, `{"message":…}`, `{"error":"…"}` or `{"detail":"…"}`.
pub(crate) fn read(body: &[u8]) -> UpstreamError {
    let mut error = UpstreamError::default();
    // After a syntax error, the members before it still count.
    let _ = read_object(&mut Reader::new(body), &mut error);
    error
}

impl UpstreamError {
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
