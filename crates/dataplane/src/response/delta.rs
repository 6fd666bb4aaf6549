//! The delta of a choice in a chunk: what is new since the chunk before.

use super::reasoning::{Reasoning, RepeatBudget};
use super::tool_calls::ToolPart;
use dialects::MAX_TOOL_CALLS;
use json::edits::Edits;
use json::members::{first_member, is_empty_object, removal};
use json::{JsonError, Reader, ValueKind};
use std::ops::Range;

#[derive(Default)]
pub(super) struct Delta {
    /// The range of the object, or of the null in its place.
    span: Range<usize>,
    is_null: bool,
    /// The range of the member `role`, and whether its value is a string.
    role: Option<(Range<usize>, bool)>,
    pub(super) has_text: bool,
    /// The range of the text of `content`, without its quotes.
    pub(super) content: Option<Range<usize>>,
    /// Reasoning, a refusal or a part of a tool call.
    pub(super) has_other_text: bool,
    pub(super) tool_calls: Vec<ToolPart>,
}

impl Delta {
    /// Reads a delta, and writes its reasoning under both names.
    pub(super) fn read(
        reader: &mut Reader<'_>,
        chunk: &[u8],
        repeat_budget: &mut RepeatBudget,
        edits: &mut Edits<'_>,
    ) -> Result<Self, JsonError> {
        let kind = reader.kind()?;
        let start = reader.position();
        if kind != ValueKind::Object {
            let span = reader.span()?;
            return Ok(Delta { span, is_null: true, ..Delta::default() });
        }
        let mut delta = Delta::default();
        let mut reasoning = Reasoning::default();
        reader.object(|reader, name, name_at| {
            match name.raw() {
                b"role" => {
                    let is_string = reader.kind()? == ValueKind::String;
                    reader.skip()?;
                    delta.role = Some((name_at..reader.position(), is_string));
                }
                b"content" if reader.kind()? == ValueKind::String => {
                    let raw = reader.string()?.raw();
                    if !raw.is_empty() {
                        delta.has_text = true;
                        let end = reader.position() - 1;
                        delta.content = Some(end - raw.len()..end);
                    }
                }
                b"reasoning_content" | b"reasoning" => {
                    delta.has_other_text |= reasoning.read(reader, name.raw())? > 0;
                    delta.has_text |= delta.has_other_text;
                }
                b"refusal" if reader.kind()? == ValueKind::String => {
                    delta.has_other_text |= !reader.string()?.raw().is_empty();
                    delta.has_text |= delta.has_other_text;
                }
                b"tool_calls" if reader.kind()? == ValueKind::Array => {
                    reader.array(|reader, position| {
                        if delta.tool_calls.len() >= MAX_TOOL_CALLS {
                            return Err(JsonError { why: "there are too many tool calls", at: reader.position() });
                        }
                        (delta.has_text, delta.has_other_text) = (true, true);
                        delta.tool_calls.extend(ToolPart::read(reader, position)?);
                        Ok(())
                    })?;
                }
                _ => reader.skip()?,
            }
            Ok::<(), JsonError>(())
        })?;
        reasoning.write_both(chunk, repeat_budget, edits);
        delta.span = start..reader.position();
        Ok(delta)
    }
}

/// Puts the role into the first delta of a choice and removes it from the others.
pub(super) fn normalize_role(delta: Option<Delta>, is_first: bool, open: usize, chunk: &[u8], edits: &mut Edits<'_>) {
    const ROLE: &str = "\"role\":\"assistant\"";
    let role = if is_first { ROLE } else { "" };
    match delta {
        None => edits.insert(open + 1, format!("\"delta\":{{{role}}},").into_bytes()),
        Some(delta) if delta.is_null => edits.replace(delta.span, format!("{{{role}}}").into_bytes()),
        Some(Delta { role: Some((member, is_string)), .. }) => match (is_first, is_string) {
            (true, true) => {}
            (true, false) => edits.replace(member, ROLE.as_bytes()),
            (false, _) => edits.replace(removal(chunk, member), Vec::new()),
        },
        Some(delta) if is_first => {
            let others_follow = !is_empty_object(chunk, delta.span.start);
            edits.insert(delta.span.start + 1, first_member(ROLE, others_follow));
        }
        Some(_) => {}
    }
}
