//! The arguments of a tool call, in pieces. They must be an object; engines also send nothing or null for a tool without
//! parameters.

use crate::TranslateError;
use crate::raw_text::RawText;
use json::JsonPieces;

const NULL: &[u8] = b"null";

#[derive(Debug)]
pub(super) enum Arguments {
    /// The object has not begun; holds white space or the beginning of a null.
    Before(Vec<u8>),
    Object(JsonPieces),
}

impl Default for Arguments {
    fn default() -> Self {
        Self::Before(Vec::new())
    }
}

impl Arguments {
    /// Adds a piece. Returns whether it belongs to the object, and so has to be sent to the client.
    pub(super) fn push(&mut self, piece: RawText<'_>) -> Result<bool, TranslateError> {
        let decoded = piece.decoded();
        match self {
            Self::Object(pieces) => {
                pieces.push(decoded.as_bytes()).map_err(|_| invalid())?;
                Ok(true)
            }
            Self::Before(start) => {
                start.extend_from_slice(decoded.trim_ascii().as_bytes());
                if start.first() == Some(&b'{') {
                    let mut pieces = JsonPieces::default();
                    pieces.push(decoded.as_bytes()).map_err(|_| invalid())?;
                    *self = Self::Object(pieces);
                    return Ok(true);
                }
                if NULL.starts_with(start) { Ok(false) } else { Err(invalid()) }
            }
        }
    }

    /// Whether nothing can follow.
    pub(super) fn are_complete(&self) -> bool {
        match self {
            Self::Object(pieces) => pieces.is_complete(),
            Self::Before(start) => start == NULL,
        }
    }

    /// Checks the end of the call. Returns whether it had an object at all.
    pub(super) fn end(&self) -> Result<bool, TranslateError> {
        match self {
            Self::Object(pieces) if pieces.is_complete() => Ok(true),
            Self::Before(start) if start.is_empty() || start == NULL => Ok(false),
            Self::Object(_) | Self::Before(_) => Err(invalid()),
        }
    }
}

fn invalid() -> TranslateError {
    TranslateError::Unexpected("the arguments of a tool call are not a JSON object")
}
