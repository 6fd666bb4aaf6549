//! One choice as the client gets to know it: text as it comes, calls of tools when they are whole.

use crate::decode::Finish;
use crate::tools::{Reader, Said, ToolCall};
use serde_json::{Value, json};

/// Tells text and calls apart; without tools everything is text.
pub(super) struct Speech {
    reader: Option<Reader>,
    called: bool,
}

impl Speech {
    pub(super) fn new(reader: Option<Reader>) -> Self {
        Self { reader, called: false }
    }

    /// What more of the answer says.
    pub(super) fn push(&mut self, text: String) -> Vec<Said> {
        let said = match &mut self.reader {
            None if text.is_empty() => Vec::new(),
            None => vec![Said::Text(text)],
            Some(reader) => reader.push(&text),
        };
        self.note(said)
    }

    /// What was kept back until the end.
    pub(super) fn finish(&mut self) -> Vec<Said> {
        let said = self.reader.as_mut().map(Reader::finish).unwrap_or_default();
        self.note(said)
    }

    /// Why the answer ended, in the word of the interface.
    pub(super) fn finish_reason(&self, finish: Finish) -> &'static str {
        match finish {
            Finish::Stop if self.called => "tool_calls",
            Finish::Stop => "stop",
            Finish::Length => "length",
        }
    }

    fn note(&mut self, said: Vec<Said>) -> Vec<Said> {
        self.called |= said.iter().any(|said| matches!(said, Said::Call(_)));
        said
    }
}

/// A call as it stands in a message.
pub(super) fn call(call: &ToolCall) -> Value {
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}})
}
