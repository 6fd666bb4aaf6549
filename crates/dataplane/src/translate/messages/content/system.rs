//! The system prompt: a member of its own, or messages among the others.

use super::Message;
use super::block::Content;
use crate::json::{Reader, ValueKind};
use crate::request::{Checks, ParseError, Path};
use crate::translate::chat_messages::JoinedText;
use std::fmt::Display;

/// Changes with every call and would defeat prefix caches.
const BILLING_HEADER: &[u8] = b"x-anthropic-billing-header";

/// Where system messages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum SystemPlace {
    AsSent,
    /// All are joined to one, the first message.
    First,
}

/// Adds the text of all system messages. Problems are found again when the messages are written.
pub(super) fn collect(messages: &[u8], joined: &mut JoinedText, checks: &mut Checks) -> Result<(), ParseError> {
    let mut reader = Reader::new(messages);
    if reader.kind()? != ValueKind::Array {
        return Ok(());
    }
    reader.array(|reader, index| {
        let path = Path::Index(&"messages", index);
        if let Some(Message { role: Some(role), content: Some(content) }) = Message::read(reader, &path, checks)?
            && role.is("system")
        {
            read_text(content, &Path::Member(&path, "content"), joined, checks)?;
        }
        Ok(())
    })
}

/// Adds the text of a string or of text blocks.
pub(super) fn read_text(
    content: &[u8],
    path: &dyn Display,
    joined: &mut JoinedText,
    checks: &mut Checks,
) -> Result<(), ParseError> {
    match Content::read(content, path, "text blocks", checks)? {
        Some(Content::Text(raw)) => joined.add(raw),
        Some(Content::Blocks(blocks)) => blocks.each(path, &["text"], checks, |block, path, checks| {
            if let Some(text) = block.text(path, checks)
                && !text.starts_with(BILLING_HEADER)
            {
                joined.add(text);
            }
            Ok(())
        })?,
        None => {}
    }
    Ok(())
}
