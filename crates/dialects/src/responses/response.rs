//! Turns a chat response into a response with its output items.

use super::ResponseOptions;
use super::output::{OutputItem, OutputKind, ToolCall};
use super::wire::{IncompleteDetails, ItemStatus, Response, ResponseError, Usage};
use crate::TranslateError;
use crate::chat_part::{ChatPart, FinishReason};
use crate::raw_text::RawText;
use bytes::Bytes;
use domain::usage::Tokens;

/// How a response stands or ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum Status<'a> {
    InProgress,
    Completed,
    /// With the reason.
    Incomplete(&'static str),
    Failed {
        code: &'static str,
        message: &'a str,
    },
}

/// The response with this output. `usage` is not known before the end.
pub(super) fn response<'a>(
    options: &'a ResponseOptions,
    status: Status<'a>,
    output: &'a [OutputItem],
    usage: Option<Usage>,
) -> Response<'a> {
    let mut response = Response {
        request: &options.echo,
        store: options.finished.is_some(),
        // Prompts are never cut, and calls are never deferred.
        truncation: "disabled",
        background: false,
        service_tier: if options.is_flex { "flex" } else { "default" },
        status: "in_progress",
        completed_at: None,
        incomplete_details: None,
        error: None,
        output: output.iter().map(|item| item.wire(options)).collect(),
        usage,
    };
    match status {
        Status::InProgress => {}
        Status::Completed => {
            response.status = "completed";
            response.completed_at = Some((options.now)());
        }
        Status::Incomplete(reason) => {
            response.status = "incomplete";
            response.incomplete_details = Some(IncompleteDetails { reason });
        }
        Status::Failed { code, message } => {
            response.status = "failed";
            response.error = Some(ResponseError { code, message });
            response.store = false;
        }
    }
    response
}

pub(crate) fn translate(body: &[u8], options: &ResponseOptions, tokens: Tokens) -> Result<Bytes, TranslateError> {
    let body = String::from_utf8_lossy(body);
    let part = ChatPart::read(&body)?;
    let mut items: Vec<OutputItem> = Vec::new();
    let mut add = |kind: OutputKind, text: Option<RawText<'_>>, logprobs| {
        let mut item = OutputItem::new(kind, items.len(), options);
        item.push(text.map_or("", RawText::escaped), logprobs);
        items.push(item);
    };
    if part.reasoning.is_some() {
        add(OutputKind::Reasoning, part.reasoning, None);
    }
    if part.content.is_some() || (part.reasoning.is_none() && part.tool_calls.is_empty()) {
        add(OutputKind::Message, part.content, part.logprobs);
    }
    for (position, call) in part.tool_calls.iter().enumerate() {
        let name = call.name.ok_or(TranslateError::Unexpected("a tool call has no name"))?;
        let tool_call = ToolCall::new(call.id.map(RawText::escaped), name, position, options);
        add(OutputKind::Call(tool_call), call.arguments, None);
    }
    let status = end_status(part.finish);
    let last = items.len() - 1;
    for (index, item) in items.iter_mut().enumerate() {
        let is_cut = index == last && matches!(status, Status::Incomplete(_));
        item.end(if is_cut { ItemStatus::Incomplete } else { ItemStatus::Completed }, options);
    }
    let usage = Usage::new(tokens, part.reasoning_tokens.unwrap_or(0));
    let response = response(options, status, &items, Some(usage));
    match &options.finished {
        Some(finished) => Ok(finished.set(&response)),
        None => Ok(response.to_json()),
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
