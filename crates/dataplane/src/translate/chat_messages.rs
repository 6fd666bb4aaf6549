//! Writes the messages of a chat.

use super::writer::Output;

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

/// The parts of a user's turn.
#[derive(Default)]
pub(super) struct UserTurn {
    /// `{"type":…},…` of all parts.
    parts: Vec<u8>,
    text: JoinedText,
    has_media: bool,
}

impl UserTurn {
    pub(super) fn add_text(&mut self, raw: &[u8]) {
        self.text.add(raw);
        self.begin_part();
        self.parts.put(b"{\"type\":\"text\",\"text\":");
        self.parts.put_raw_text(raw);
        self.parts.put(b"}");
    }

    /// Adds an image by its address, which is escaped.
    pub(super) fn add_image(&mut self, raw_url: &[u8]) {
        self.has_media = true;
        self.begin_part();
        self.parts.put(b"{\"type\":\"image_url\",\"image_url\":{\"url\":");
        self.parts.put_raw_text(raw_url);
        self.parts.put(b"}}");
    }

    fn begin_part(&mut self) {
        if !self.parts.is_empty() {
            self.parts.put(b",");
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Writes the turn: text alone as a string, which every chat template accepts.
    pub(super) fn write(&self, out: &mut Messages<'_>) {
        if !self.has_media {
            return out.text("user", &self.text.raw);
        }
        let out = out.begin("user");
        out.put(b",\"content\":[");
        out.put(&self.parts);
        out.put(b"]}");
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
