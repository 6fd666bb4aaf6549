//! Writes JSON objects on one line, member by member, into a reused buffer. For the journal and the access log.
//!
//! Member names are constants at the call sites. Inlined there, copying one is a few moves of known size instead of a call;
//! hence `inline(always)`.

use itoa::Integer;

/// A JSON object that is being written. Members keep their order.
pub struct JsonLine<'a>(&'a mut Vec<u8>);

impl<'a> JsonLine<'a> {
    /// Begins an object at the end of `text`.
    pub fn begin(text: &'a mut Vec<u8>) -> Self {
        text.push(b'{');
        Self(text)
    }

    /// Adds a text that needs no escaping: an id or a constant.
    #[inline(always)]
    pub fn plain(&mut self, name: &str, value: impl AsRef<[u8]>) {
        self.name(name);
        self.0.push(b'"');
        self.0.extend_from_slice(value.as_ref());
        self.0.extend_from_slice(b"\",");
    }

    /// Adds any text.
    #[inline(always)]
    pub fn text(&mut self, name: &str, value: &str) {
        let needs_escape = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
        // Without an early exit, so that the compiler vectorizes the loop.
        if !value.bytes().fold(false, |found, byte| found | needs_escape(byte)) {
            return self.plain(name, value);
        }
        self.name(name);
        self.escaped(value);
    }

    #[inline(always)]
    pub fn number(&mut self, name: &str, value: impl Integer) {
        self.name(name);
        self.0.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        self.0.push(b',');
    }

    /// Adds a number, or `null` if there is none.
    #[inline(always)]
    pub fn number_or_null(&mut self, name: &str, value: Option<u64>) {
        match value {
            Some(value) => self.number(name, value),
            None => self.word(name, "null"),
        }
    }

    pub fn numbers<T: Integer + Copy>(&mut self, name: &str, values: &[T]) {
        self.name(name);
        self.0.push(b'[');
        for value in values {
            self.0.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes());
            self.0.push(b',');
        }
        self.close(b']');
        self.0.push(b',');
    }

    #[inline(always)]
    pub fn boolean(&mut self, name: &str, value: bool) {
        self.word(name, if value { "true" } else { "false" });
    }

    #[cold]
    fn escaped(&mut self, value: &str) {
        serde_json::to_writer(&mut *self.0, value).expect("writing a text to memory cannot fail");
        self.0.push(b',');
    }

    /// Ends the object and its line.
    pub fn end(mut self) {
        self.close(b'}');
        self.0.push(b'\n');
    }

    #[inline(always)]
    fn name(&mut self, name: &str) {
        self.0.push(b'"');
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
    }

    #[inline(always)]
    fn word(&mut self, name: &str, word: &str) {
        self.name(name);
        self.0.extend_from_slice(word.as_bytes());
        self.0.push(b',');
    }

    /// Removes the comma after the last member and closes the bracket.
    fn close(&mut self, bracket: u8) {
        self.0.pop_if(|last| *last == b',');
        self.0.push(bracket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_valid_json_for_any_text() {
        let mut text = Vec::new();
        let mut line = JsonLine::begin(&mut text);
        line.plain("plain", "Grüße, 世界");
        line.text("odd", "a \"quote\", a \\, a\nline and \u{1}");
        line.number("number", -7);
        line.numbers("numbers", &[1_u64, 2]);
        line.numbers::<i64>("none", &[]);
        line.number_or_null("null", None);
        line.boolean("boolean", true);
        line.end();
        JsonLine::begin(&mut text).end();
        let lines: Vec<_> = text.split(|byte| *byte == b'\n').collect();
        let read: serde_json::Value = serde_json::from_slice(lines[0]).unwrap();
        let expected = serde_json::json!({
            "plain": "Grüße, 世界", "odd": "a \"quote\", a \\, a\nline and \u{1}", "number": -7, "numbers": [1, 2],
            "none": [], "null": null, "boolean": true,
        });
        assert_eq!((read, lines[1]), (expected, &b"{}"[..]));
    }
}
