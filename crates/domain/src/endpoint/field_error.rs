//! An invalid field of a request.

use std::borrow::Cow;

/// An invalid field. The text begins with the field's path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub struct FieldError {
    pub field: Cow<'static, str>,
    pub code: FieldErrorCode,
    pub why: Cow<'static, str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldErrorCode {
    MalformedJson,
    MissingField,
    InvalidCursor,
    OutOfRange,
    InvalidFormat,
    InvalidCombination,
    FieldImmutable,
    UnknownField,
}

impl FieldErrorCode {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MalformedJson => "MALFORMED_JSON",
            Self::MissingField => "MISSING_FIELD",
            Self::InvalidCursor => "INVALID_CURSOR",
            Self::OutOfRange => "OUT_OF_RANGE",
            Self::InvalidFormat => "INVALID_FORMAT",
            Self::InvalidCombination => "INVALID_COMBINATION",
            Self::FieldImmutable => "FIELD_IMMUTABLE",
            Self::UnknownField => "UNKNOWN_FIELD",
        }
    }

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
