//! Turns a chat response into a response with its output items.

use super::ResponseOptions;
use super::output::{ItemStatus, OutputItem, OutputKind, ToolCall};
use super::resource::{self, Status, Usage};
use crate::TranslateError;
use crate::chat_part::{ChatPart, FinishReason, ToolPart};
use bytes::Bytes;
use domain::usage::Tokens;
use json::RawStr;

pub(crate) fn translate(response: &[u8], options: &ResponseOptions, tokens: Tokens) -> Result<Bytes, TranslateError> {
    let part = ChatPart::read(response)?;
    let mut items = Vec::new();
    if let Some(text) = part.reasoning {
        items.push(with_text(OutputKind::Reasoning, text));
    }
    if part.content.is_some() || (items.is_empty() && part.tool_calls.is_empty()) {
        let mut message = OutputItem::new(OutputKind::Message);
        message.text.extend_from_slice(part.content.map_or(&b""[..], RawStr::raw));
        message.add_logprobs(part.logprobs.unwrap_or_default());
        items.push(message);
    }
    for (position, call) in part.tool_calls.iter().enumerate() {
        items.push(call_item(call, position, options)?);
    }
    let status = end_status(part.finish);
    for item in &mut items {
        item.status = ItemStatus::Completed;
    }
    if let (Status::Incomplete(_), Some(last)) = (status, items.last_mut()) {
        last.status = ItemStatus::Incomplete;
    }
    let usage = Usage { tokens, reasoning_tokens: part.reasoning_tokens.unwrap_or(0) };
    let mut out = Vec::with_capacity(response.len() + options.members.len() + 1024);
    resource::write(options, status, &items, Some(usage), &mut out);
    let response = Bytes::from(out);
    if let Some(finished) = &options.finished {
        finished.set(response.clone());
    }
    Ok(response)
}

fn with_text(kind: OutputKind, text: RawStr<'_>) -> OutputItem {
    OutputItem { text: text.raw().to_vec(), ..OutputItem::new(kind) }
}

fn call_item(call: &ToolPart<'_>, position: usize, options: &ResponseOptions) -> Result<OutputItem, TranslateError> {
    let name = call.name.ok_or(TranslateError::Unexpected("a tool call has no name"))?;
    let id = call_id(call.id.map(RawStr::raw), position, options);
    let kind = OutputKind::Call(ToolCall { id, name: name.raw().into() });
    let arguments = call.arguments.map_or(&b""[..], RawStr::raw);
    Ok(OutputItem { text: arguments.to_vec(), ..OutputItem::new(kind) })
}

/// The engine's id of a call, or one from its position.
pub(super) fn call_id(id: Option<&[u8]>, position: usize, options: &ResponseOptions) -> Box<[u8]> {
    match id {
        Some(id) => id.into(),
        None => format!("call_{}_{position}", options.unique).into_bytes().into(),
    }
}

/// How a response ends for a reason of chat.
pub(super) fn end_status(finish: Option<FinishReason>) -> Status<'static> {
    match finish {
        Some(FinishReason::Length) => Status::Incomplete("max_output_tokens"),
        Some(FinishReason::ContentFilter) => Status::Incomplete("content_filter"),
        Some(FinishReason::Stop | FinishReason::ToolCalls) | None => Status::Completed,
    }
}
