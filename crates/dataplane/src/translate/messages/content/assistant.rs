//! Writes the turn of an assistant.

use super::super::tools::is_name;
use super::block::{Block, Content, required};
use super::writer::{JoinedText, Messages};
use crate::json::quote;
use crate::request::{Checks, ParseError, Path};
use crate::translate::writer::Output;

/// The types of blocks that an assistant's turn may have.
const TYPES: [&str; 4] = ["text", "thinking", "redacted_thinking", "tool_use"];

/// The parts of an assistant's turn, which become one message.
#[derive(Default)]
struct AssistantTurn {
    text: JoinedText,
    thinking: JoinedText,
    /// `{"id":…},…` of all tool calls.
    calls: Vec<u8>,
}

pub(super) fn write(
    content: &[u8],
    path: &Path<'_>,
    checks: &mut Checks,
    out: &mut Messages<'_>,
) -> Result<(), ParseError> {
    let mut turn = AssistantTurn::default();
    match Content::read(content, path, "blocks", checks)? {
        Some(Content::Text(raw)) => turn.text.add(raw),
        Some(Content::Blocks(blocks)) => blocks.each(path, &TYPES, checks, |block, path, checks| {
            turn.add(block, path, checks);
            Ok(())
        })?,
        None => return Ok(()),
    }
    turn.write(out);
    Ok(())
}

impl AssistantTurn {
    fn add(&mut self, block: &Block<'_>, path: &Path<'_>, checks: &mut Checks) {
        match block.kind() {
            b"text" => {
                if let Some(text) = block.text(path, checks) {
                    self.text.add(text);
                }
            }
            b"thinking" => {
                if let Some(thinking) = required(block.thinking, "thinking", path, checks) {
                    self.thinking.add(thinking);
                }
            }
            b"tool_use" => self.add_call(block, path, checks),
            _ => {}
        }
    }

    fn add_call(&mut self, block: &Block<'_>, path: &Path<'_>, checks: &mut Checks) {
        let id = required(block.id, "id", path, checks).unwrap_or_default();
        let name = required(block.name, "name", path, checks).unwrap_or_default();
        if block.name.is_some() && !is_name(name) {
            checks.invalid(&Path::Member(path, "name"), || "is not the name of a tool".into());
        }
        let input = block.input.unwrap_or(b"{}");
        if !input.starts_with(b"{") {
            checks.invalid(&Path::Member(path, "input"), || "must be an object".into());
        }
        if !self.calls.is_empty() {
            self.calls.put(b",");
        }
        self.calls.put(b"{\"id\":");
        self.calls.put_raw_text(id);
        self.calls.put(b",\"type\":\"function\",\"function\":{\"name\":");
        self.calls.put_raw_text(name);
        self.calls.put(b",\"arguments\":");
        self.calls.put(&quote(&String::from_utf8_lossy(input)));
        self.calls.put(b"}}");
    }

    fn write(&self, out: &mut Messages<'_>) {
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
