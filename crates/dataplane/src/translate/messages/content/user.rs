//! Writes the turn of a user.

use super::block::Content;
use super::image::Image;
use super::tool_result;
use super::writer::{JoinedText, Messages};
use crate::request::{Checks, ParseError, Path};
use crate::translate::writer::Output;

/// The part of a user's turn that follows the results of tools.
#[derive(Default)]
pub(super) struct UserTurn {
    /// `{"type":…},…` of all parts.
    parts: Vec<u8>,
    text: JoinedText,
    has_images: bool,
}

impl UserTurn {
    fn add_text(&mut self, raw: &[u8]) {
        self.text.add(raw);
        self.begin_part();
        self.parts.put(b"{\"type\":\"text\",\"text\":");
        self.parts.put_raw_text(raw);
        self.parts.put(b"}");
    }

    pub(super) fn add_image(&mut self, image: &Image) {
        self.has_images = true;
        self.begin_part();
        self.parts.put(b"{\"type\":\"image_url\",\"image_url\":{\"url\":");
        self.parts.put_raw_text(&image.raw_url);
        self.parts.put(b"}}");
    }

    fn begin_part(&mut self) {
        if !self.parts.is_empty() {
            self.parts.put(b",");
        }
    }

    /// Writes the turn: text alone as a string, which every chat template accepts.
    fn write(&self, out: &mut Messages<'_>) {
        if !self.has_images {
            return out.text("user", &self.text.raw);
        }
        let out = out.begin("user");
        out.put(b",\"content\":[");
        out.put(&self.parts);
        out.put(b"]}");
    }
}

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
    let mut turn = UserTurn::default();
    let mut has_results = false;
    blocks.each(path, &["text", "image", "tool_result"], checks, |block, path, checks| {
        match block.kind() {
            b"tool_result" => {
                has_results = true;
                tool_result::write(block, path, checks, &mut result_images, out)?;
            }
            b"image" => {
                if let Some(image) = Image::read(block, path, checks)? {
                    turn.add_image(&image);
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
    if result_images.has_images {
        result_images.write(out);
    }
    if !turn.parts.is_empty() || !has_results {
        turn.write(out);
    }
    Ok(())
}
