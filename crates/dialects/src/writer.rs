//! Writes JSON and server-sent events.

use bytes::BytesMut;
use json::quote;

/// A buffer that JSON is appended to.
pub(crate) trait Output {
    fn put(&mut self, bytes: &[u8]);

    /// A string with quotes.
    fn put_text(&mut self, text: &str) {
        self.put(&quote(text));
    }

    /// A string that is escaped already, with quotes.
    fn put_raw_text(&mut self, raw: &[u8]) {
        self.put(b"\"");
        self.put(raw);
        self.put(b"\"");
    }
}

/// `,"name":value`.
pub(super) fn write_member(name: &str, value: &[u8], out: &mut Vec<u8>) {
    out.put(b",\"");
    out.put(name.as_bytes());
    out.put(b"\":");
    out.put(value);
}

impl Output for BytesMut {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl Output for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}
