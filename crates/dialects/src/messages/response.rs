//! Turns a chat response into a message.

use super::MessageOptions;
use super::arguments::Arguments;
use super::ending::Ending;
use crate::TranslateError;
use crate::chat_part::{ChatPart, ToolPart};
use crate::writer::Output;
use bytes::Bytes;
use domain::usage::Tokens;
use json::RawStr;

/// Clients send it back with the thinking; it has no meaning for us.
pub(super) const SIGNATURE: &[u8] = b"Zm9yZWJheQ==";

pub(crate) fn translate(response: &[u8], options: &MessageOptions, tokens: Tokens) -> Result<Bytes, TranslateError> {
    let mut part = ChatPart::read(response)?;
    let mut ending = Ending::default();
    ending.note(&part);
    if ending.is_cut() {
        part.tool_calls.retain(|call| !is_unfinished(call));
    }
    let mut out = Vec::with_capacity(response.len() + 512);
    write_start(options, &mut out);
    out.put(b",\"content\":[");
    write_content(&part, options, &mut out)?;
    out.put(b"],");
    ending.stop_reason(options, tokens, !part.tool_calls.is_empty()).write(&mut out);
    out.put(b",\"usage\":");
    ending.write_usage(tokens, &mut out);
    out.put(b"}");
    Ok(out.into())
}

/// Whether a tool call lacks something that the engine would have sent. Invalid arguments are another matter.
fn is_unfinished(call: &ToolPart<'_>) -> bool {
    let mut arguments = Arguments::default();
    let is_valid = call.arguments.is_none_or(|text| arguments.push(text).is_ok());
    call.name.is_none() || (is_valid && !arguments.are_complete())
}

/// `{"id":…,"type":"message","role":"assistant","model":…`.
pub(super) fn write_start(options: &MessageOptions, out: &mut impl Output) {
    out.put(b"{\"id\":");
    out.put_text(&options.id);
    out.put(b",\"type\":\"message\",\"role\":\"assistant\",\"model\":");
    out.put_text(&options.model);
}

fn write_content(part: &ChatPart<'_>, options: &MessageOptions, out: &mut Vec<u8>) -> Result<(), TranslateError> {
    let mut separator: &[u8] = b"";
    if let Some(thinking) = part.reasoning.filter(|_| !options.omits_thinking) {
        out.put(b"{\"type\":\"thinking\",\"thinking\":");
        out.put_raw_text(thinking.raw());
        out.put(b",\"signature\":");
        out.put_raw_text(SIGNATURE);
        out.put(b"}");
        separator = b",";
    }
    let text = part.content.map_or(&b""[..], RawStr::raw);
    let is_empty = separator.is_empty() && part.tool_calls.is_empty();
    if !text.is_empty() || is_empty {
        out.put(separator);
        out.put(b"{\"type\":\"text\",\"text\":");
        out.put_raw_text(text);
        out.put(b",\"citations\":[]}");
        separator = b",";
    }
    for (position, call) in part.tool_calls.iter().enumerate() {
        out.put(separator);
        write_tool_use(call, position, options, out)?;
        separator = b",";
    }
    Ok(())
}

fn write_tool_use(
    call: &ToolPart<'_>,
    position: usize,
    options: &MessageOptions,
    out: &mut Vec<u8>,
) -> Result<(), TranslateError> {
    let name = call.name.ok_or(TranslateError::Unexpected("a tool call has no name"))?;
    write_tool_use_start(call.id.map(RawStr::raw), name.raw(), position as u64, options, out);
    out.put(b",\"input\":");
    let mut arguments = Arguments::default();
    let has_object = match call.arguments {
        Some(text) => arguments.push(text).and_then(|_| arguments.end())?,
        None => false,
    };
    match call.arguments.filter(|_| has_object) {
        Some(text) => out.put(&text.decoded()),
        None => out.put(b"{}"),
    }
    out.put(b"}");
    Ok(())
}

/// `{"type":"tool_use","id":…,"name":…,"caller":…`. A call without an id gets one from its position.
pub(super) fn write_tool_use_start(
    id: Option<&[u8]>,
    name: &[u8],
    position: u64,
    options: &MessageOptions,
    out: &mut impl Output,
) {
    out.put(b"{\"type\":\"tool_use\",\"id\":");
    match id {
        Some(id) => out.put_raw_text(id),
        None => {
            let unique = options.id.trim_start_matches("msg_");
            out.put_text(&format!("toolu_{unique}_{position}"));
        }
    }
    out.put(b",\"name\":");
    out.put_raw_text(name);
    // Called by the model itself, not by code that it runs.
    out.put(b",\"caller\":{\"type\":\"direct\"}");
}
