//! Output of one choice: text as it arrives, and tool calls once they are complete.

use crate::decode::FinishReason;
use crate::tools::{OutputPart, ToolCall, ToolCallReader};
use serde_json::{Value, json};

/// Separates text from tool calls; without tools everything is text.
pub(super) struct ChoiceParser {
    reader: Option<ToolCallReader>,
    called: bool,
}

impl ChoiceParser {
    pub(super) fn new(reader: Option<ToolCallReader>) -> Self {
        Self { reader, called: false }
    }

    /// Consumes more text.
    pub(super) fn push(&mut self, text: String) -> Vec<OutputPart> {
        let parts = match &mut self.reader {
            None if text.is_empty() => Vec::new(),
            None => vec![OutputPart::Text(text)],
            Some(reader) => reader.push(&text),
        };
        self.record_calls(parts)
    }

    /// Returns output that was buffered until the end.
    pub(super) fn finish(&mut self) -> Vec<OutputPart> {
        let parts = self.reader.as_mut().map(ToolCallReader::finish).unwrap_or_default();
        self.record_calls(parts)
    }

    /// The `finish_reason` of the API.
    pub(super) fn finish_reason(&self, finish: FinishReason) -> &'static str {
        match finish {
            FinishReason::Stop if self.called => "tool_calls",
            FinishReason::Stop => "stop",
            FinishReason::Length => "length",
        }
    }

    fn record_calls(&mut self, parts: Vec<OutputPart>) -> Vec<OutputPart> {
        self.called |= parts.iter().any(|part| matches!(part, OutputPart::Call(_)));
        parts
    }
}

/// JSON of a tool call in a message.
pub(super) fn call(call: &ToolCall) -> Value {
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}})
}
