//! Checks of types and ranges, each told with the path of the member.
//!
//! Only the first fault of each kind is kept: it is the one that is reported.

use super::{Fault, Invalid};
use crate::json::{Kind, Malformed, Reader, Text};
use std::fmt::{self, Display};
use std::ops::RangeInclusive;

type Read<T> = Result<T, Malformed>;

#[derive(Default)]
pub(super) struct Checks {
    missing: Option<String>,
    invalid: Option<Invalid>,
}

/// The path of a member, written only when it is needed: `messages[0].role`.
#[derive(Clone, Copy)]
pub(super) enum Path<'a> {
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

impl Checks {
    pub(super) fn missing(&mut self, path: &dyn Display) {
        self.missing.get_or_insert_with(|| path.to_string());
    }

    pub(super) fn invalid(&mut self, path: &dyn Display, why: impl FnOnce() -> String) {
        self.invalid.get_or_insert_with(|| Invalid { param: path.to_string(), why: why() });
    }

    pub(super) fn take_missing(&mut self) -> Fault {
        Fault::Missing { param: self.missing.take().unwrap_or_default() }
    }

    /// All was read: what is missing is a fault now, what is invalid is for later.
    pub(super) fn finish(mut self) -> Result<Option<Invalid>, Fault> {
        if self.missing.is_some() {
            return Err(self.take_missing());
        }
        Ok(self.invalid)
    }

    /// Whether a value of the wanted kind comes next. Null counts as absent, another kind is remembered, and both are
    /// passed over.
    pub(super) fn is(&mut self, reader: &mut Reader<'_>, path: &dyn Display, wanted: Kind) -> Read<bool> {
        let found = reader.kind()?;
        if found == wanted {
            return Ok(true);
        }
        if found != Kind::Null {
            self.invalid(path, || format!("must be {}, not {}", wanted.name(), found.name()));
        }
        reader.skip()?;
        Ok(false)
    }

    pub(super) fn boolean(&mut self, reader: &mut Reader<'_>, path: &dyn Display) -> Read<Option<bool>> {
        if self.is(reader, path, Kind::Bool)? { reader.boolean().map(Some) } else { Ok(None) }
    }

    pub(super) fn number(
        &mut self,
        reader: &mut Reader<'_>,
        path: &dyn Display,
        range: RangeInclusive<f64>,
    ) -> Read<()> {
        if self.is(reader, path, Kind::Number)? {
            let digits = reader.number()?;
            let value = std::str::from_utf8(digits).ok().and_then(|text| text.parse::<f64>().ok());
            if !value.is_some_and(|value| range.contains(&value)) {
                self.invalid(path, || format!("must be between {} and {}", range.start(), range.end()));
            }
        }
        Ok(())
    }

    pub(super) fn integer(
        &mut self,
        reader: &mut Reader<'_>,
        path: &dyn Display,
        range: RangeInclusive<i64>,
    ) -> Read<Option<i64>> {
        if !self.is(reader, path, Kind::Number)? {
            return Ok(None);
        }
        let digits = reader.number()?;
        let value = std::str::from_utf8(digits).ok().and_then(|text| text.parse::<i64>().ok());
        let good = value.filter(|value| range.contains(value));
        if good.is_none() {
            self.invalid(path, || match (*range.start(), *range.end()) {
                (i64::MIN, _) => "must be a whole number of 64 bits".into(),
                (least, i64::MAX) => format!("must be a whole number of at least {least}"),
                (least, most) => format!("must be a whole number between {least} and {most}"),
            });
        }
        Ok(good)
    }

    pub(super) fn text<'a>(&mut self, reader: &mut Reader<'a>, path: &dyn Display) -> Read<Option<Text<'a>>> {
        if self.is(reader, path, Kind::String)? { reader.string().map(Some) } else { Ok(None) }
    }

    pub(super) fn one_of(&mut self, reader: &mut Reader<'_>, path: &dyn Display, words: &[&str]) -> Read<()> {
        if let Some(text) = self.text(reader, path)? {
            self.word(text, path, words);
        }
        Ok(())
    }

    pub(super) fn word(&mut self, text: Text<'_>, path: &dyn Display, words: &[&str]) {
        if !words.iter().any(|word| text.is(word)) {
            self.invalid(path, || format!("must be one of {}", words.join(", ")));
        }
    }
}
