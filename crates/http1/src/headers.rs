//! The head of a request.
//!
//! Clients send about twenty headers, of which a handful is read. Headers are therefore kept as ranges into the received
//! bytes, and a lookup is a linear scan: building a map would cost more than all lookups together.

use bytes::{BufMut, Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use std::ops::Range;

/// A request without its body.
#[derive(Debug, Clone)]
pub struct RequestHead {
    pub method: Method,
    pub uri: Uri,
    pub headers: Headers,
}

impl RequestHead {
    /// Converts to the parts of an `http::Request`, with the headers in a map.
    pub fn into_parts(self) -> Parts {
        let mut parts = Request::new(()).into_parts().0;
        parts.headers = self.headers.to_map();
        (parts.method, parts.uri) = (self.method, self.uri);
        parts
    }
}

impl From<Parts> for RequestHead {
    fn from(parts: Parts) -> Self {
        Self { headers: Headers::from(&parts.headers), method: parts.method, uri: parts.uri }
    }
}

/// Headers in the order in which they arrived.
#[derive(Debug, Default, Clone)]
pub struct Headers {
    /// Contains all names and values.
    text: Bytes,
    lines: Vec<HeaderLine>,
    /// One bit per length of a name, so that most lookups of absent headers look at no line.
    lengths: u64,
}

/// Positions in [`Headers::text`]. `u32` is enough, since the size of a head is limited.
#[derive(Debug, Clone)]
pub(crate) struct HeaderLine {
    pub(crate) name: Range<u32>,
    pub(crate) value: Range<u32>,
}

impl Headers {
    /// Every name and value must have been validated.
    pub(crate) fn new(text: Bytes, lines: Vec<HeaderLine>) -> Self {
        let lengths = lines.iter().fold(0, |lengths, line| lengths | length_bit(line.name.len()));
        Self { text, lines, lengths }
    }

    /// All values of a header, in order.
    pub fn all(&self, name: impl AsRef<str>) -> impl Iterator<Item = &[u8]> {
        self.lines.iter().filter(move |line| self.is(line, name.as_ref())).map(|line| self.part(&line.value))
    }

    /// The first value of a header.
    pub fn get(&self, name: impl AsRef<str>) -> Option<&[u8]> {
        let name = name.as_ref();
        if self.lengths & length_bit(name.len()) == 0 {
            return None;
        }
        self.lines.iter().find(|line| self.is(line, name)).map(|line| self.part(&line.value))
    }

    pub fn has(&self, name: impl AsRef<str>) -> bool {
        self.get(name).is_some()
    }

    /// The first value, if it is visible ASCII.
    pub fn text(&self, name: impl AsRef<str>) -> Option<&str> {
        self.get(name).and_then(visible)
    }

    /// All values that are visible ASCII.
    pub fn texts(&self, name: impl AsRef<str>) -> impl Iterator<Item = &str> {
        self.all(name).filter_map(visible)
    }

    /// Total size, including separators and line ends.
    pub fn bytes(&self) -> usize {
        self.lines.iter().map(|line| line.name.len() + line.value.len() + 4).sum()
    }

    /// Copies the headers into a map.
    pub fn to_map(&self) -> HeaderMap {
        let mut map = HeaderMap::with_capacity(self.lines.len());
        for line in &self.lines {
            let name = HeaderName::from_bytes(self.part(&line.name));
            let value = HeaderValue::from_bytes(self.part(&line.value));
            if let (Ok(name), Ok(value)) = (name, value) {
                map.append(name, value);
            }
        }
        map
    }

    /// Names of the same length mostly differ in their first letter, or are spelled alike: comparing letter by letter without
    /// case would be a fortieth of a call.
    fn is(&self, line: &HeaderLine, name: &str) -> bool {
        const CASE: u8 = 0x20;
        let (found, name) = (self.part(&line.name), name.as_bytes());
        found.len() == name.len()
            && found.first().map(|first| first | CASE) == name.first().map(|first| first | CASE)
            && (found == name || found.eq_ignore_ascii_case(name))
    }

    fn part(&self, range: &Range<u32>) -> &[u8] {
        &self.text[range.start as usize..range.end as usize]
    }
}

impl From<&HeaderMap> for Headers {
    fn from(map: &HeaderMap) -> Self {
        let mut text = BytesMut::new();
        let mut put = |bytes: &[u8]| {
            let start = text.len() as u32;
            text.put_slice(bytes);
            start..text.len() as u32
        };
        let lines =
            map.iter().map(|(name, value)| HeaderLine { name: put(name.as_ref()), value: put(value.as_bytes()) });
        let lines = lines.collect();
        Self::new(text.freeze(), lines)
    }
}

fn length_bit(length: usize) -> u64 {
    1 << length.min(63)
}

/// The value of `Content-Length`: digits only, no sign and no list.
pub(crate) fn content_length(value: &[u8]) -> Option<u64> {
    let is_number = value.iter().all(u8::is_ascii_digit);
    if is_number { std::str::from_utf8(value).ok()?.parse().ok() } else { None }
}

/// The same rule as [`HeaderValue::to_str`].
fn visible(value: &[u8]) -> Option<&str> {
    let is_visible = value.iter().all(|byte| matches!(byte, b'\t' | 0x20..0x7f));
    if is_visible { std::str::from_utf8(value).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookup_ignores_case_and_keeps_the_order_of_values() {
        let mut map = HeaderMap::new();
        for (name, value) in [("cookie", "a=1"), ("x-one", "1"), ("cookie", "b=2"), ("cookie", "c=\u{e9}")] {
            map.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let headers = Headers::from(&map);
        assert_eq!(headers.all("Cookie").count(), 3);
        assert_eq!(headers.texts("COOKIE").collect::<Vec<_>>(), ["a=1", "b=2"]);
        assert_eq!((headers.get("x-one"), headers.text("x-on"), headers.has("x-one2")), (Some(&b"1"[..]), None, false));
        assert_eq!(
            headers.bytes(),
            map.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum::<usize>()
        );
        assert_eq!(headers.to_map(), map);
    }
}
