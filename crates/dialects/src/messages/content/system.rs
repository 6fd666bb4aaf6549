//! The system prompt: a member of its own, or messages among the others.

use super::Message;
use super::block::Content;
use crate::chat_messages::JoinedText;
use bytes::Bytes;
use json::{Checks, ParseError, Path, Reader, ValueKind};
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

/// The system prompt without the block that changes with every call.
pub(in super::super) fn without_billing_header(system: &Bytes) -> Result<Bytes, ParseError> {
    let mut reader = Reader::new(system);
    if system.is_empty() || reader.kind()? != ValueKind::Array {
        return Ok(system.clone());
    }
    let mut has_header = false;
    reader.array(|reader, _| {
        has_header |= is_billing_header(reader.slice()?)?;
        Ok::<(), ParseError>(())
    })?;
    if !has_header {
        return Ok(system.clone());
    }
    // Written at once: a list of short blocks would be many times as long as their text.
    let mut kept = Vec::with_capacity(system.len());
    kept.push(b'[');
    Reader::new(system).array(|reader, _| {
        let block = reader.slice()?;
        if !is_billing_header(block)? {
            if kept.len() > 1 {
                kept.push(b',');
            }
            kept.extend_from_slice(block);
        }
        Ok::<(), ParseError>(())
    })?;
    kept.push(b']');
    Ok(kept.into())
}

fn is_billing_header(block: &[u8]) -> Result<bool, ParseError> {
    let mut reader = Reader::new(block);
    if reader.kind()? != ValueKind::Object {
        return Ok(false);
    }
    let mut is_header = false;
    reader.object(|reader, name, _| {
        if !name.is("text") || reader.kind()? != ValueKind::String {
            return reader.skip();
        }
        is_header = reader.string()?.raw().starts_with(BILLING_HEADER);
        Ok(())
    })?;
    Ok(is_header)
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
