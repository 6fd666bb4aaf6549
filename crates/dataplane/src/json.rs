//! A JSON reader that can skip.
//!
//! The gateway passes bodies as bytes and decides on a few members, so it walks a text once, checks that all of it is
//! JSON, and remembers where the members are that it cares about. Nothing is copied and nothing is built.
//!
//! The reader does not check UTF-8, but it notices whether there is anything beyond ASCII to check.

mod block;
mod string;

use std::borrow::Cow;
use std::ops::Range;

/// How deep arrays and objects may be nested.
pub const MAX_DEPTH: u32 = 128;

/// The text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{why} at byte {at}")]
pub struct Malformed {
    pub why: &'static str,
    pub at: usize,
}

/// What a value is, told by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
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

/// A string as it stands between its quotes, escapes and all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'a>(&'a [u8]);

impl<'a> Text<'a> {
    /// The bytes between the quotes.
    pub fn raw(self) -> &'a [u8] {
        self.0
    }

    /// The string that is meant. Its escapes were checked when it was read.
    pub fn decoded(self) -> Cow<'a, [u8]> {
        if memchr::memchr(b'\\', self.0).is_none() {
            return Cow::Borrowed(self.0);
        }
        Cow::Owned(unescape(self.0))
    }

    /// Whether that is the string; written with escapes, it would be longer.
    #[inline]
    pub fn is(self, wanted: &str) -> bool {
        self.0 == wanted.as_bytes() || (self.0.len() > wanted.len() && self.means(wanted))
    }

    fn means(self, wanted: &str) -> bool {
        self.0.contains(&b'\\') && *self.decoded() == *wanted.as_bytes()
    }
}

pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: u32,
    is_ascii: bool,
}

type Read<T> = Result<T, Malformed>;

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, depth: 0, is_ascii: true }
    }

    /// Whether everything that was read is ASCII; only strings can hold anything else.
    pub fn is_ascii(&self) -> bool {
        self.is_ascii
    }

    /// Nothing but white space may follow the value that was read.
    pub fn end(&mut self) -> Read<()> {
        self.white();
        if self.at == self.bytes.len() { Ok(()) } else { self.fail("unexpected bytes after the value") }
    }

    pub fn bytes(&self, span: &Range<usize>) -> &'a [u8] {
        &self.bytes[span.clone()]
    }

    /// What comes next, without moving past it.
    pub fn kind(&mut self) -> Read<Kind> {
        self.white();
        match self.bytes.get(self.at) {
            Some(b'"') => Ok(Kind::String),
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            Some(_) => self.fail("unexpected byte where a value should be"),
            None => self.fail("the text ends where a value should be"),
        }
    }

    /// Moves past one value of any kind.
    pub fn skip(&mut self) -> Read<()> {
        match self.kind()? {
            Kind::String => self.string().map(|_| ()),
            Kind::Number => self.number().map(|_| ()),
            Kind::Object => self.object(|reader, _, _| reader.skip()),
            Kind::Array => self.array(|reader, _| reader.skip()),
            Kind::Bool => self.boolean().map(|_| ()),
            Kind::Null => self.word(b"null"),
        }
    }

    /// Moves past one value of any kind and tells where it stood.
    pub fn span(&mut self) -> Read<Range<usize>> {
        self.kind()?;
        let start = self.at;
        self.skip()?;
        Ok(start..self.at)
    }

    /// Calls `member` at each value with its name and where the name started; it must move past the value.
    pub fn object<E: From<Malformed>>(
        &mut self,
        mut member: impl FnMut(&mut Self, Text<'a>, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open(b'{')?;
        if !self.closes(b'}') {
            loop {
                self.white();
                let name_at = self.at;
                let name = self.string()?;
                self.white();
                self.byte(b':', "a colon is missing")?;
                member(self, name, name_at)?;
                if !self.another(b'}')? {
                    break;
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Calls `element` at each value with its index; it must move past the value.
    pub fn array<E: From<Malformed>>(
        &mut self,
        mut element: impl FnMut(&mut Self, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open(b'[')?;
        if !self.closes(b']') {
            let mut index = 0;
            loop {
                element(self, index)?;
                index += 1;
                if !self.another(b']')? {
                    break;
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    pub fn string(&mut self) -> Read<Text<'a>> {
        self.white();
        self.byte(b'"', "a string should start here")?;
        let start = self.at;
        // Names are short, and so are most values.
        if let Some(length) = block::short_end(&self.bytes[start..]) {
            self.at += length + 1;
            return Ok(Text(&self.bytes[start..start + length]));
        }
        let end = string::end(self.bytes, start)?;
        self.is_ascii &= end.is_ascii;
        self.at = end.at + 1;
        Ok(Text(&self.bytes[start..end.at]))
    }

    /// The digits as they stand.
    pub fn number(&mut self) -> Read<&'a [u8]> {
        self.white();
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

    pub fn boolean(&mut self) -> Read<bool> {
        self.white();
        if self.bytes.get(self.at) == Some(&b't') {
            return self.word(b"true").map(|()| true);
        }
        self.word(b"false").map(|()| false)
    }

    /// Where the reader stands; after a value, the end of that value.
    pub fn position(&self) -> usize {
        self.at
    }

    fn word(&mut self, word: &'static [u8]) -> Read<()> {
        if self.bytes[self.at..].starts_with(word) {
            self.at += word.len();
            return Ok(());
        }
        self.fail("not a JSON word")
    }

    fn open(&mut self, bracket: u8) -> Read<()> {
        self.white();
        if self.depth == MAX_DEPTH {
            return self.fail("nested too deeply");
        }
        self.byte(bracket, "another kind of value was expected")?;
        self.depth += 1;
        Ok(())
    }

    fn closes(&mut self, bracket: u8) -> bool {
        self.white();
        self.take(bracket)
    }

    fn another(&mut self, bracket: u8) -> Read<bool> {
        self.white();
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

    fn white(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    fn take(&mut self, wanted: u8) -> bool {
        let there = self.bytes.get(self.at) == Some(&wanted);
        self.at += usize::from(there);
        there
    }

    fn byte(&mut self, wanted: u8, why: &'static str) -> Read<()> {
        if self.take(wanted) { Ok(()) } else { self.fail(why) }
    }

    fn fail<T>(&self, why: &'static str) -> Read<T> {
        Err(Malformed { why, at: self.at })
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

/// A `\u` and its four digits, or two of them for a character outside the basic plane.
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

/// `text` as a JSON string with its quotes.
pub fn quote(text: &str) -> Vec<u8> {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    quoted.push(b'"');
    // Not the first one is looked for but any: that goes many bytes at a time.
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

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
