//! Writes the turn of an assistant.

use super::super::tools::is_name;
use super::block::{Block, Content};
use crate::chat_messages::{AssistantTurn, Messages};
use crate::values::required;
use json::{Checks, ParseError, Path, quote};

/// The types of blocks that an assistant's turn may have.
const TYPES: [&str; 4] = ["text", "thinking", "redacted_thinking", "tool_use"];

/// Returns whether a response could continue it.
pub(super) fn write(
    content: &[u8],
    path: &Path<'_>,
    checks: &mut Checks,
    out: &mut Messages<'_>,
) -> Result<bool, ParseError> {
    let mut turn = AssistantTurn::default();
    match Content::read(content, path, "blocks", checks)? {
        Some(Content::Text(raw)) => turn.text.add(raw),
        Some(Content::Blocks(blocks)) => blocks.each(path, &TYPES, checks, |block, path, checks| {
            add(&mut turn, block, path, checks);
            Ok(())
        })?,
        None => return Ok(false),
    }
    turn.write(out);
    Ok(turn.ends_with_text())
}

fn add(turn: &mut AssistantTurn, block: &Block<'_>, path: &Path<'_>, checks: &mut Checks) {
    match &*block.kind() {
        b"text" => {
            if let Some(text) = block.text(path, checks) {
                turn.text.add(text);
            }
        }
        b"thinking" => {
            if let Some(thinking) = required(block.thinking, "thinking", path, checks) {
                turn.thinking.add(thinking);
            }
        }
        b"tool_use" => add_call(turn, block, path, checks),
        _ => {}
    }
}

fn add_call(turn: &mut AssistantTurn, block: &Block<'_>, path: &Path<'_>, checks: &mut Checks) {
    let id = required(block.id, "id", path, checks).unwrap_or_default();
    let name = required(block.name, "name", path, checks).unwrap_or_default();
    if block.name.is_some_and(|name| !is_name(name)) {
        checks.invalid(&Path::Member(path, "name"), || "is not the name of a tool".into());
    }
    let input = block.input.unwrap_or(b"{}");
    if !input.starts_with(b"{") {
        checks.invalid(&Path::Member(path, "input"), || "must be an object".into());
    }
    turn.add_call(id, name, &quote(&String::from_utf8_lossy(input)));
}
