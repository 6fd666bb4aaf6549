//! Writes the messages of a chat.

use crate::translate::writer::Output;

/// A line break inside of a JSON string.
const LINE_BREAK: &[u8] = b"\\n";

/// Escaped texts, joined by line breaks.
#[derive(Default)]
pub(super) struct JoinedText {
    pub(super) raw: Vec<u8>,
    pub(super) has_text: bool,
}

impl JoinedText {
    pub(super) fn add(&mut self, raw: &[u8]) {
        if self.has_text {
            self.raw.extend_from_slice(LINE_BREAK);
        }
        self.has_text = true;
        self.raw.extend_from_slice(raw);
    }
}

/// The messages of the chat, without their brackets.
pub(super) struct Messages<'a> {
    out: &'a mut Vec<u8>,
    count: usize,
}

impl<'a> Messages<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, count: 0 }
    }

    /// Begins a message: `{"role":…`.
    pub(super) fn begin(&mut self, role: &str) -> &mut Vec<u8> {
        if self.count > 0 {
            self.out.put(b",");
        }
        self.count += 1;
        self.out.put(b"{\"role\":");
        self.out.put_text(role);
        self.out
    }

    pub(super) fn text(&mut self, role: &str, raw: &[u8]) {
        let out = self.begin(role);
        out.put(b",\"content\":");
        out.put_raw_text(raw);
        out.put(b"}");
    }
}
