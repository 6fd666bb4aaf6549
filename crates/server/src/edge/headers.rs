//! The head of a request, and its headers as they came.
//!
//! A client sends twenty of them, and a handful is looked at. So they are not put into a map: a look goes over all.

use bytes::{BufMut, Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use std::ops::Range;

/// A request but for its body.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub method: Method,
    pub uri: Uri,
    pub headers: Headers,
}

impl Head {
    /// For those who want a map.
    pub(crate) fn into_parts(self) -> Parts {
        let mut parts = Request::new(()).into_parts().0;
        parts.headers = self.headers.to_map();
        (parts.method, parts.uri) = (self.method, self.uri);
        parts
    }
}

impl From<Parts> for Head {
    fn from(parts: Parts) -> Self {
        Self { headers: Headers::from(&parts.headers), method: parts.method, uri: parts.uri }
    }
}

#[derive(Debug, Default, Clone)]
pub(crate) struct Headers {
    /// Where names and values stand.
    text: Bytes,
    lines: Vec<Line>,
}

/// Heads have bounds that such numbers are large enough for.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub name: Range<u32>,
    pub value: Range<u32>,
}

impl Headers {
    /// Lines of a head of which every name and every value was checked.
    pub(super) fn new(text: Bytes, lines: Vec<Line>) -> Self {
        Self { text, lines }
    }

    /// All values of a name, in their order.
    pub(crate) fn all(&self, name: impl AsRef<str>) -> impl Iterator<Item = &[u8]> {
        self.lines.iter().filter(move |line| self.is(line, name.as_ref())).map(|line| self.part(&line.value))
    }

    /// The first value of a name.
    pub(crate) fn get(&self, name: impl AsRef<str>) -> Option<&[u8]> {
        let name = name.as_ref();
        self.lines.iter().find(|line| self.is(line, name)).map(|line| self.part(&line.value))
    }

    pub(crate) fn has(&self, name: impl AsRef<str>) -> bool {
        self.get(name).is_some()
    }

    /// The first value, if it can be shown.
    pub(crate) fn text(&self, name: impl AsRef<str>) -> Option<&str> {
        self.get(name).and_then(shown)
    }

    /// All values that can be shown.
    pub(crate) fn texts(&self, name: impl AsRef<str>) -> impl Iterator<Item = &str> {
        self.all(name).filter_map(shown)
    }

    /// How long they are, with what separates them.
    pub(crate) fn bytes(&self) -> usize {
        self.lines.iter().map(|line| line.name.len() + line.value.len() + 4).sum()
    }

    /// For those who want a map.
    pub(crate) fn to_map(&self) -> HeaderMap {
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

    fn is(&self, line: &Line, name: &str) -> bool {
        line.name.len() == name.len() && self.part(&line.name).eq_ignore_ascii_case(name.as_bytes())
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
        let lines = map.iter().map(|(name, value)| Line { name: put(name.as_ref()), value: put(value.as_bytes()) });
        let lines = lines.collect();
        Self { text: text.freeze(), lines }
    }
}

/// As [`HeaderValue::to_str`] sees it.
fn shown(value: &[u8]) -> Option<&str> {
    let is_shown = value.iter().all(|byte| matches!(byte, b'\t' | 0x20..0x7f));
    if is_shown { std::str::from_utf8(value).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case_and_values_kept_in_their_order() {
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
