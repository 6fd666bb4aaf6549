//! Checks of types and ranges, reported with the path of the member.
//!
//! Only the first missing member and the first invalid value are kept.

use crate::{JsonError, RawStr, Reader, ValueKind};
use std::fmt::{self, Display};
use std::ops::RangeInclusive;

/// The longest text of a client that an error repeats.
const SHOWN_BYTES: usize = 200;

type ReadResult<T> = Result<T, JsonError>;

/// A body that is rejected before its model is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseError {
    Unreadable(String),
    Missing {
        param: String,
    },
    /// A member whose name is not acceptable.
    BadName {
        param: String,
        why: String,
    },
}

impl From<JsonError> for ParseError {
    fn from(error: JsonError) -> Self {
        Self::Unreadable(format!("the body is not JSON: {error}"))
    }
}

/// A member with a value of the wrong type or out of range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidParam {
    pub param: String,
    pub why: String,
}

#[derive(Default)]
pub struct Checks {
    missing: Option<String>,
    invalid: Option<InvalidParam>,
    remote_media: Option<String>,
}

/// The path of a member, such as `messages[0].role`. Formatted only if it is reported.
#[derive(Clone, Copy)]
pub enum Path<'a> {
    Member(&'a dyn Display, &'a str),
    Index(&'a dyn Display, usize),
}

impl Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(parent, name) => write!(f, "{parent}.{name}"),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// A name that a client chose, cut to a length that an error may repeat.
pub fn shorten(name: &[u8]) -> &str {
    let start = &name[..name.len().min(SHOWN_BYTES)];
    // Leaves out a character that was cut in two.
    start.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}

impl Checks {
    pub fn missing(&mut self, path: &dyn Display) {
        self.missing.get_or_insert_with(|| path.to_string());
    }

    pub fn invalid(&mut self, path: &dyn Display, why: impl FnOnce() -> String) {
        self.invalid.get_or_insert_with(|| InvalidParam { param: path.to_string(), why: why() });
    }

    /// Notes an address from which an engine would fetch media.
    pub fn remote_media(&mut self, path: &dyn Display) {
        self.remote_media.get_or_insert_with(|| path.to_string());
    }

    pub fn take_remote_media(&mut self) -> Option<String> {
        self.remote_media.take()
    }

    pub fn take_missing(&mut self) -> ParseError {
        ParseError::Missing { param: self.missing.take().unwrap_or_default() }
    }

    /// Returns a missing member as an error, and an invalid value for later.
    pub fn finish(mut self) -> Result<Option<InvalidParam>, ParseError> {
        if self.missing.is_some() {
            return Err(self.take_missing());
        }
        Ok(self.invalid)
    }

    /// Whether the next value has the expected type. Null counts as absent, another type is noted as invalid, and both
    /// are skipped.
    pub fn is(&mut self, reader: &mut Reader<'_>, path: &dyn Display, expected: ValueKind) -> ReadResult<bool> {
        let found = reader.kind()?;
        if found == expected {
            return Ok(true);
        }
        if found != ValueKind::Null {
            self.invalid(path, || format!("must be {}, not {}", expected.name(), found.name()));
        }
        reader.skip()?;
        Ok(false)
    }

    /// Whether the next value is an object. Unlike in [`Checks::is`], null is invalid as well.
    pub fn is_object(&mut self, reader: &mut Reader<'_>, path: &dyn Display) -> ReadResult<bool> {
        if reader.kind()? == ValueKind::Null {
            self.invalid(path, || "must be an object, not null".into());
        }
        self.is(reader, path, ValueKind::Object)
    }

    pub fn boolean(&mut self, reader: &mut Reader<'_>, path: &dyn Display) -> ReadResult<Option<bool>> {
        if self.is(reader, path, ValueKind::Bool)? { reader.boolean().map(Some) } else { Ok(None) }
    }

    pub fn number(
        &mut self,
        reader: &mut Reader<'_>,
        path: &dyn Display,
        range: RangeInclusive<f64>,
    ) -> ReadResult<()> {
        if self.is(reader, path, ValueKind::Number)? {
            let digits = reader.number()?;
            let value = std::str::from_utf8(digits).ok().and_then(|text| text.parse::<f64>().ok());
            if !value.is_some_and(|value| range.contains(&value)) {
                self.invalid(path, || format!("must be between {} and {}", range.start(), range.end()));
            }
        }
        Ok(())
    }

    pub fn integer(
        &mut self,
        reader: &mut Reader<'_>,
        path: &dyn Display,
        range: RangeInclusive<i64>,
    ) -> ReadResult<Option<i64>> {
        if !self.is(reader, path, ValueKind::Number)? {
            return Ok(None);
        }
        let digits = reader.number()?;
        let value = std::str::from_utf8(digits).ok().and_then(|text| text.parse::<i64>().ok());
        let valid = value.filter(|value| range.contains(value));
        if valid.is_none() {
            self.invalid(path, || match (*range.start(), *range.end()) {
                (i64::MIN, _) => "must be a 64-bit integer".into(),
                (least, i64::MAX) => format!("must be an integer of at least {least}"),
                (least, most) => format!("must be an integer between {least} and {most}"),
            });
        }
        Ok(valid)
    }

    pub fn text<'a>(&mut self, reader: &mut Reader<'a>, path: &dyn Display) -> ReadResult<Option<RawStr<'a>>> {
        if self.is(reader, path, ValueKind::String)? { reader.string().map(Some) } else { Ok(None) }
    }

    pub fn one_of(&mut self, reader: &mut Reader<'_>, path: &dyn Display, words: &[&str]) -> ReadResult<()> {
        if let Some(text) = self.text(reader, path)? {
            self.word(text, path, words);
        }
        Ok(())
    }

    /// Returns the word that the text is, however it is escaped. Another one is noted as invalid.
    pub fn word<'a>(&mut self, text: RawStr<'_>, path: &dyn Display, words: &[&'a str]) -> Option<&'a str> {
        let found = words.iter().copied().find(|word| text.is(word));
        if found.is_none() {
            self.invalid(path, || format!("must be one of {}", words.join(", ")));
        }
        found
    }
}
