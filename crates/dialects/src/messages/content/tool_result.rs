//! Writes the result of a tool.

use super::block::{Block, Content};
use super::image::Image;
use crate::chat_messages::{JoinedText, Messages, UserTurn};
use crate::values::required;
use crate::writer::Output;
use json::{Checks, ParseError, Path};

const ERROR_PREFIX: &[u8] = b"Error: ";

/// Writes one `tool` message; images of the result follow later, because chat allows only text there.
pub(super) fn write(
    block: &Block<'_>,
    path: &Path<'_>,
    checks: &mut Checks,
    images: &mut UserTurn,
    out: &mut Messages<'_>,
) -> Result<(), ParseError> {
    let mut text = JoinedText::default();
    if let Some(content) = block.content {
        read_content(content, &Path::Member(path, "content"), checks, &mut text, images)?;
    }
    let id = required(block.tool_use_id, "tool_use_id", path, checks).unwrap_or_default();
    let out = out.begin("tool");
    out.put(b",\"tool_call_id\":");
    out.put_raw_text(id);
    out.put(b",\"content\":\"");
    if block.is_error {
        out.put(ERROR_PREFIX);
    }
    out.put(&text.raw);
    out.put(b"\"}");
    Ok(())
}

fn read_content(
    content: &[u8],
    path: &Path<'_>,
    checks: &mut Checks,
    text: &mut JoinedText,
    images: &mut UserTurn,
) -> Result<(), ParseError> {
    match Content::read(content, path, "blocks", checks)? {
        Some(Content::Text(raw)) => text.add(raw),
        Some(Content::Blocks(blocks)) => blocks.each(path, &["text", "image"], checks, |part, path, checks| {
            if *part.kind() == *b"image" {
                if let Some(image) = Image::read(part, path, checks)? {
                    images.add_image(&image.raw_url);
                }
            } else if let Some(raw) = part.text(path, checks) {
                text.add(raw);
            }
            Ok(())
        })?,
        None => {}
    }
    Ok(())
}
