//! Writes the messages of a chat.

use super::writer::Output;
use std::ops::Range;

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

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
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

/// The parts of a user's turn.
#[derive(Default)]
pub(super) struct UserTurn {
    /// The escaped texts and addresses of all parts, one after the other.
    raw: Vec<u8>,
    parts: Vec<UserPart>,
}

/// A part of a user's turn, and its place in the raw text.
enum UserPart {
    Text(Range<usize>),
    Image(Range<usize>),
}

impl UserTurn {
    pub(super) fn add_text(&mut self, raw: &[u8]) {
        let place = self.append(raw);
        self.parts.push(UserPart::Text(place));
    }

    /// Adds an image by its address, which is escaped.
    pub(super) fn add_image(&mut self, raw_url: &[u8]) {
        let place = self.append(raw_url);
        self.parts.push(UserPart::Image(place));
    }

    fn append(&mut self, raw: &[u8]) -> Range<usize> {
        let start = self.raw.len();
        self.raw.extend_from_slice(raw);
        start..self.raw.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Writes the turn: text alone as a string, which every chat template accepts.
    pub(super) fn write(&self, out: &mut Messages<'_>) {
        let has_media = self.parts.iter().any(|part| matches!(part, UserPart::Image(_)));
        let out = out.begin("user");
        if has_media {
            out.put(b",\"content\":[");
            self.write_parts(out);
            out.put(b"]}");
        } else {
            out.put(b",\"content\":\"");
            self.write_text(out);
            out.put(b"\"}");
        }
    }

    fn write_text(&self, out: &mut Vec<u8>) {
        for (index, part) in self.parts.iter().enumerate() {
            let (UserPart::Text(place) | UserPart::Image(place)) = part;
            if index > 0 {
                out.put(LINE_BREAK);
            }
            out.put(&self.raw[place.clone()]);
        }
    }

    fn write_parts(&self, out: &mut Vec<u8>) {
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                out.put(b",");
            }
            match part {
                UserPart::Text(place) => {
                    out.put(b"{\"type\":\"text\",\"text\":");
                    out.put_raw_text(&self.raw[place.clone()]);
                    out.put(b"}");
                }
                UserPart::Image(place) => {
                    out.put(b"{\"type\":\"image_url\",\"image_url\":{\"url\":");
                    out.put_raw_text(&self.raw[place.clone()]);
                    out.put(b"}}");
                }
            }
        }
    }
}

/// The parts of an assistant's turn, which become one message.
#[derive(Default)]
pub(super) struct AssistantTurn {
    pub(super) text: JoinedText,
    pub(super) thinking: JoinedText,
    /// `{"id":…},…` of all tool calls.
    calls: Vec<u8>,
}

impl AssistantTurn {
    pub(super) fn is_empty(&self) -> bool {
        !self.text.has_text && !self.thinking.has_text && self.calls.is_empty()
    }

    /// Whether its end is text that can go on.
    pub(super) fn ends_with_text(&self) -> bool {
        !self.text.raw.is_empty() && self.calls.is_empty()
    }

    /// Adds a tool call. Its id and name are escaped; `arguments` is a JSON string with quotes.
    pub(super) fn add_call(&mut self, id: &[u8], name: &[u8], arguments: &[u8]) {
        if !self.calls.is_empty() {
            self.calls.put(b",");
        }
        self.calls.put(b"{\"id\":");
        self.calls.put_raw_text(id);
        self.calls.put(b",\"type\":\"function\",\"function\":{\"name\":");
        self.calls.put_raw_text(name);
        self.calls.put(b",\"arguments\":");
        self.calls.put(arguments);
        self.calls.put(b"}}");
    }

    pub(super) fn write(&self, out: &mut Messages<'_>) {
        let out = out.begin("assistant");
        out.put(b",\"content\":");
        if self.text.has_text || self.calls.is_empty() {
            out.put_raw_text(&self.text.raw);
        } else {
            out.put(b"null");
        }
        if self.thinking.has_text {
            out.put(b",\"reasoning_content\":");
            out.put_raw_text(&self.thinking.raw);
        }
        if !self.calls.is_empty() {
            out.put(b",\"tool_calls\":[");
            out.put(&self.calls);
            out.put(b"]");
        }
        out.put(b"}");
    }
}
