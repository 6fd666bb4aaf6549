//! Writes the turn of a user.

use super::block::Content;
use super::image::Image;
use super::tool_result;
use crate::chat_messages::{Messages, UserTurn};
use json::{Checks, ParseError, Path};

pub(super) fn write(
    content: &[u8],
    path: &Path<'_>,
    checks: &mut Checks,
    out: &mut Messages<'_>,
) -> Result<(), ParseError> {
    let blocks = match Content::read(content, path, "blocks", checks)? {
        Some(Content::Blocks(blocks)) => blocks,
        Some(Content::Text(raw)) => {
            out.text("user", raw);
            return Ok(());
        }
        None => return Ok(()),
    };
    let mut result_images = UserTurn::default();
    // Follows the results of tools.
    let mut turn = UserTurn::default();
    let mut has_results = false;
    blocks.each(path, &["text", "image", "tool_result"], checks, |block, path, checks| {
        match &*block.kind() {
            b"tool_result" => {
                has_results = true;
                tool_result::write(block, path, checks, &mut result_images, out)?;
            }
            b"image" => {
                if let Some(image) = Image::read(block, path, checks)? {
                    turn.add_image(&image.raw_url);
                }
            }
            _ => {
                if let Some(text) = block.text(path, checks) {
                    turn.add_text(text);
                }
            }
        }
        Ok(())
    })?;
    if !result_images.is_empty() {
        result_images.write(out);
    }
    if !turn.is_empty() || !has_results {
        turn.write(out);
    }
    Ok(())
}
