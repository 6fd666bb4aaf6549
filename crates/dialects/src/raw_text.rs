//! Strings as their sender escaped them, so that text is not decoded and encoded again.

use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A JSON string, borrowed from a larger text.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(transparent)]
pub(crate) struct RawText<'a>(&'a RawValue);

impl<'a> RawText<'a> {
    /// `None` if the value is not a string.
    pub(crate) fn of(value: &'a RawValue) -> Option<Self> {
        value.get().starts_with('"').then_some(Self(value))
    }

    pub(crate) fn as_raw(self) -> &'a RawValue {
        self.0
    }

    /// Without quotes, but with escapes.
    pub(crate) fn escaped(self) -> &'a str {
        let quoted = self.0.get();
        &quoted[1..quoted.len() - 1]
    }

    /// A surrogate without its pair, which is not valid text, stays escaped.
    pub(crate) fn decoded(self) -> Cow<'a, str> {
        let escaped = self.escaped();
        if !escaped.contains('\\') {
            return Cow::Borrowed(escaped);
        }
        serde_json::from_str(self.0.get()).map_or(Cow::Borrowed(escaped), Cow::Owned)
    }
}

/// A text for the client: a word of ours, or what the engine wrote.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub(crate) enum Text<'a> {
    Plain(&'static str),
    Raw(&'a RawValue),
}

impl<'a> From<RawText<'a>> for Text<'a> {
    fn from(text: RawText<'a>) -> Self {
        Self::Raw(text.0)
    }
}

/// The JSON string of a text.
pub(crate) fn encode(text: &str) -> Box<RawValue> {
    serde_json::value::to_raw_value(text).expect("every text is a JSON string")
}

/// JSON that was checked before.
pub(crate) fn checked(json: &[u8]) -> Box<RawValue> {
    serde_json::from_slice(json).expect("the members of a request are JSON")
}

/// A JSON string that was checked before.
pub(crate) fn of_raw(text: json::RawStr<'_>) -> Box<RawValue> {
    checked(&[b"\"", text.raw(), b"\""].concat())
}

/// A JSON array that is put together from others.
#[derive(Debug, Default)]
pub(crate) struct ListBuilder {
    /// Without the closing bracket; empty if there is no element.
    json: String,
}

impl ListBuilder {
    /// Adds the elements of an array. Returns how many bytes are kept.
    pub(crate) fn extend(&mut self, list: &RawValue) -> usize {
        let inside = list.get().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).map_or("", str::trim);
        if inside.is_empty() {
            return 0;
        }
        self.json.push(if self.json.is_empty() { '[' } else { ',' });
        self.json.push_str(inside);
        inside.len() + 1
    }

    /// `None` if the array is empty.
    pub(crate) fn finish(mut self) -> Option<Box<RawValue>> {
        if self.json.is_empty() {
            return None;
        }
        self.json.push(']');
        Some(RawValue::from_string(self.json).expect("elements of arrays are an array"))
    }
}

/// A JSON string that is put together from escaped pieces.
#[derive(Debug)]
pub(crate) struct TextBuilder {
    /// Without the closing quote.
    json: String,
}

impl Default for TextBuilder {
    fn default() -> Self {
        Self { json: "\"".into() }
    }
}

impl TextBuilder {
    pub(crate) fn push(&mut self, escaped: &str) {
        self.json.push_str(escaped);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.json.len() == 1
    }

    /// The bytes of the text.
    pub(crate) fn len(&self) -> usize {
        self.json.len() - 1
    }

    pub(crate) fn finish(mut self) -> Box<RawValue> {
        self.json.push('"');
        RawValue::from_string(self.json).expect("pieces of strings are a string")
    }
}
