//! A JSON reader that can skip values, and edits of JSON texts.
//!
//! The gateway forwards bodies as bytes and needs only a few members, so it walks over a text once, checks that all of it
//! is JSON, and notes where these members are. It copies nothing and builds no tree.
//!
//! The reader does not check UTF-8, but records whether there is anything beyond ASCII to check.

mod block;
mod body;
mod checks;
pub mod edits;
mod long_strings;
pub mod members;
mod pieces;
mod string;

#[cfg(test)]
mod fuzz_tests;
#[cfg(test)]
mod tests;

pub use body::{folds_to, other_spelling, read_members, without_bom};
pub use checks::{Checks, InvalidParam, ParseError, Path, shorten};
pub use long_strings::LongStrings;
pub use pieces::{InvalidJson, JsonPieces};

use std::borrow::Cow;
use std::ops::Range;

/// The maximum nesting of arrays and objects.
const MAX_DEPTH: u32 = 128;

/// The text is not valid JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{why} at byte {at}")]
pub struct JsonError {
    pub why: &'static str,
    pub at: usize,
}

/// The type of a value, known from its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl ValueKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

/// The text between the quotes of a string, with its escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawStr<'a>(&'a [u8]);

impl<'a> RawStr<'a> {
    pub fn raw(self) -> &'a [u8] {
        self.0
    }

    /// The string without escapes. They were checked when it was read.
    pub fn decoded(self) -> Cow<'a, [u8]> {
        if memchr::memchr(b'\\', self.0).is_none() {
            return Cow::Borrowed(self.0);
        }
        Cow::Owned(unescape(self.0))
    }

    /// Whether the decoded string equals `wanted`. Escapes only make a string longer.
    #[inline]
    pub fn is(self, wanted: &str) -> bool {
        self.0 == wanted.as_bytes() || (self.0.len() > wanted.len() && self.decodes_to(wanted))
    }

    fn decodes_to(self, wanted: &str) -> bool {
        self.0.contains(&b'\\') && *self.decoded() == *wanted.as_bytes()
    }
}

/// Walks over one JSON text.
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: u32,
    is_ascii: bool,
    /// The text is valid, so that only the ends of its strings have to be found.
    was_checked: bool,
    /// The long strings that were read.
    long_strings: LongStrings,
    /// The long strings of a text of which this is a part, and where the part starts.
    known_strings: Option<(&'a LongStrings, usize)>,
}

type ReadResult<T> = Result<T, JsonError>;

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        let (long_strings, known_strings) = (LongStrings::default(), None);
        Self { bytes, at: 0, depth: 0, is_ascii: true, was_checked: false, long_strings, known_strings }
    }

    /// Walks over a value that another reader has walked over before. Does not check strings again.
    pub fn again(bytes: &'a [u8]) -> Self {
        Self { was_checked: true, ..Self::new(bytes) }
    }

    /// Whether everything read so far is ASCII; only strings can contain anything else.
    pub fn is_ascii(&self) -> bool {
        self.is_ascii
    }

    /// The long strings that were read, in their order.
    pub fn into_long_strings(self) -> LongStrings {
        self.long_strings
    }

    /// Checks that nothing but white space follows.
    pub fn end(&mut self) -> ReadResult<()> {
        self.skip_white();
        if self.at == self.bytes.len() { Ok(()) } else { self.fail("unexpected bytes after the value") }
    }

    /// The type of the next value, without moving past it.
    pub fn kind(&mut self) -> ReadResult<ValueKind> {
        self.skip_white();
        match self.bytes.get(self.at) {
            Some(b'"') => Ok(ValueKind::String),
            Some(b'{') => Ok(ValueKind::Object),
            Some(b'[') => Ok(ValueKind::Array),
            Some(b'-' | b'0'..=b'9') => Ok(ValueKind::Number),
            Some(b't' | b'f') => Ok(ValueKind::Bool),
            Some(b'n') => Ok(ValueKind::Null),
            Some(_) => self.fail("unexpected byte where a value should be"),
            None => self.fail("the text ends where a value should be"),
        }
    }

    /// Moves past one value of any type.
    pub fn skip(&mut self) -> ReadResult<()> {
        match self.kind()? {
            ValueKind::String => self.string().map(|_| ()),
            ValueKind::Number => self.number().map(|_| ()),
            ValueKind::Object => self.object(|reader, _, _| reader.skip()),
            ValueKind::Array => self.array(|reader, _| reader.skip()),
            ValueKind::Bool => self.boolean().map(|_| ()),
            ValueKind::Null => self.word(b"null"),
        }
    }

    /// Moves past one value of any type and returns its range.
    pub fn span(&mut self) -> ReadResult<Range<usize>> {
        self.kind()?;
        let start = self.at;
        self.skip()?;
        Ok(start..self.at)
    }

    /// Moves past one value of any type and returns its text.
    pub fn slice(&mut self) -> ReadResult<&'a [u8]> {
        self.span().map(|span| &self.bytes[span])
    }

    /// Calls `member` at each value with its name and the position of the name; it must move past the value.
    pub fn object<E: From<JsonError>>(
        &mut self,
        mut member: impl FnMut(&mut Self, RawStr<'a>, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open(b'{')?;
        if !self.closes(b'}') {
            loop {
                self.skip_white();
                let name_at = self.at;
                let name = self.string()?;
                self.skip_white();
                self.byte(b':', "a colon is missing")?;
                member(self, name, name_at)?;
                if !self.has_more(b'}')? {
                    break;
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Calls `element` at each value with its index; it must move past the value.
    pub fn array<E: From<JsonError>>(
        &mut self,
        mut element: impl FnMut(&mut Self, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open(b'[')?;
        if !self.closes(b']') {
            let mut index = 0;
            loop {
                element(self, index)?;
                index += 1;
                if !self.has_more(b']')? {
                    break;
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    pub fn string(&mut self) -> ReadResult<RawStr<'a>> {
        self.skip_white();
        self.byte(b'"', "a string should start here")?;
        let start = self.at;
        // Member names and most values are short.
        if let Some(length) = block::short_end(&self.bytes[start..]) {
            self.at += length + 1;
            return Ok(RawStr(&self.bytes[start..start + length]));
        }
        let end = self.end_of_string(start)?;
        self.at = end + 1;
        Ok(RawStr(&self.bytes[start..end]))
    }

    fn end_of_string(&mut self, start: usize) -> ReadResult<usize> {
        if self.was_checked {
            let known = self.known_strings.and_then(|(strings, offset)| Some(strings.end_of(offset + start)? - offset));
            return known.map_or_else(|| string::end_of_checked(self.bytes, start), Ok);
        }
        let end = string::end(self.bytes, start)?;
        self.long_strings.note(start..end.at);
        self.is_ascii &= end.is_ascii;
        Ok(end.at)
    }

    /// The text of a number.
    pub fn number(&mut self) -> ReadResult<&'a [u8]> {
        self.skip_white();
        let start = self.at;
        self.take(b'-');
        match self.bytes.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.at += self.count_digits(),
            _ => return self.fail("not a number"),
        }
        if self.take(b'.') && self.digits() == 0 {
            return self.fail("digits are missing after the point");
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            if self.digits() == 0 {
                return self.fail("digits are missing in the exponent");
            }
        }
        Ok(&self.bytes[start..self.at])
    }

    pub fn boolean(&mut self) -> ReadResult<bool> {
        self.skip_white();
        if self.bytes.get(self.at) == Some(&b't') {
            return self.word(b"true").map(|()| true);
        }
        self.word(b"false").map(|()| false)
    }

    /// The position of the reader; after a value, the end of that value.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The text from a position to that of the reader.
    pub fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.at]
    }

    fn word(&mut self, word: &'static [u8]) -> ReadResult<()> {
        if self.bytes[self.at..].starts_with(word) {
            self.at += word.len();
            return Ok(());
        }
        self.fail("not a JSON word")
    }

    fn open(&mut self, bracket: u8) -> ReadResult<()> {
        self.skip_white();
        if self.depth == MAX_DEPTH {
            return self.fail("nested too deeply");
        }
        self.byte(bracket, "another type of value was expected")?;
        self.depth += 1;
        Ok(())
    }

    fn closes(&mut self, bracket: u8) -> bool {
        self.skip_white();
        self.take(bracket)
    }

    fn has_more(&mut self, bracket: u8) -> ReadResult<bool> {
        self.skip_white();
        if self.take(b',') {
            return Ok(true);
        }
        self.byte(bracket, "a comma or a closing bracket is missing")?;
        Ok(false)
    }

    fn digits(&mut self) -> usize {
        let count = self.count_digits();
        self.at += count;
        count
    }

    fn count_digits(&self) -> usize {
        self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count()
    }

    fn skip_white(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    fn take(&mut self, wanted: u8) -> bool {
        let found = self.bytes.get(self.at) == Some(&wanted);
        self.at += usize::from(found);
        found
    }

    fn byte(&mut self, wanted: u8, why: &'static str) -> ReadResult<()> {
        if self.take(wanted) { Ok(()) } else { self.fail(why) }
    }

    fn fail<T>(&self, why: &'static str) -> ReadResult<T> {
        Err(JsonError { why, at: self.at })
    }
}

fn hex4(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |value, digit| Some(value * 16 + char::from(*digit).to_digit(16)?))
}

fn unescape(raw: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(slash) = memchr::memchr(b'\\', rest) {
        text.extend_from_slice(&rest[..slash]);
        let (plain, used) = match rest.get(slash + 1) {
            Some(b'u') => {
                let (letter, used) = unescape_unicode(&rest[slash..]);
                text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                (None, used)
            }
            Some(b'b') => (Some(8), 2),
            Some(b'f') => (Some(12), 2),
            Some(b'n') => (Some(b'\n'), 2),
            Some(b'r') => (Some(b'\r'), 2),
            Some(b't') => (Some(b'\t'), 2),
            Some(other) => (Some(*other), 2),
            None => (None, 1),
        };
        text.extend(plain);
        rest = &rest[slash + used..];
    }
    text.extend_from_slice(rest);
    text
}

/// Decodes `\u` with four digits, or two of them for a surrogate pair. Returns the length of the escape, too.
fn unescape_unicode(escape: &[u8]) -> (char, usize) {
    let unit = |at: usize| escape.get(at..at + 4).and_then(hex4).unwrap_or(0xFFFD);
    let high = unit(2);
    if (0xD800..=0xDBFF).contains(&high) {
        let low = unit(8).wrapping_sub(0xDC00) & 0x3FF;
        let code = 0x10000 + ((high - 0xD800) << 10) + low;
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12.min(escape.len()));
    }
    (char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), 6.min(escape.len()))
}

/// `text` as a JSON string with quotes.
pub fn quote(text: &str) -> Vec<u8> {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    quoted.push(b'"');
    // A fold over all bytes is vectorized by the compiler; a search for the first match is not.
    if !text.bytes().fold(false, |found, byte| found | matches!(byte, b'"' | b'\\' | 0..0x20)) {
        quoted.extend_from_slice(text.as_bytes());
        quoted.push(b'"');
        return quoted;
    }
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend_from_slice(&[b'\\', byte]),
            0..0x20 => quoted.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => quoted.push(byte),
        }
    }
    quoted.push(b'"');
    quoted
}
