//! An invalid field of a request.

use crate::named_enum;
use std::borrow::Cow;

/// An invalid field. The text begins with the field's path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub struct FieldError {
    pub field: Cow<'static, str>,
    pub code: FieldErrorCode,
    pub why: Cow<'static, str>,
}

named_enum! {
    pub enum FieldErrorCode {
        MalformedJson = "MALFORMED_JSON",
        MissingField = "MISSING_FIELD",
        InvalidCursor = "INVALID_CURSOR",
        OutOfRange = "OUT_OF_RANGE",
        InvalidFormat = "INVALID_FORMAT",
        InvalidCombination = "INVALID_COMBINATION",
        FieldImmutable = "FIELD_IMMUTABLE",
        UnknownField = "UNKNOWN_FIELD",
    }
}

impl FieldErrorCode {
    /// Whether the request is malformed, as opposed to well-formed with an invalid value.
    pub const fn is_malformed(self) -> bool {
        match self {
            Self::MalformedJson | Self::MissingField | Self::InvalidCursor => true,
            Self::OutOfRange
            | Self::InvalidFormat
            | Self::InvalidCombination
            | Self::FieldImmutable
            | Self::UnknownField => false,
        }
    }
}

impl FieldError {
    pub fn new(field: impl Into<Cow<'static, str>>, code: FieldErrorCode, why: impl Into<Cow<'static, str>>) -> Self {
        Self { field: field.into(), code, why: why.into() }
    }
}
