//! Writes a response with all of its members.

use super::ResponseOptions;
use super::format::TextFormat;
use super::output::OutputItem;
use super::reasoning::ReasoningRequest;
use super::request::ResponsesRequest;
use super::tool_choice::ToolChoice;
use crate::writer::{Output, write_member};
use bytes::Bytes;
use domain::usage::Tokens;
use memchr::memmem;

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

impl Status<'_> {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete(_) => "incomplete",
            Self::Failed { .. } => "failed",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Usage {
    pub(super) tokens: Tokens,
    pub(super) reasoning_tokens: u64,
}

/// The response as JSON. `usage` is not known before the end.
pub(super) fn write(
    options: &ResponseOptions,
    status: Status<'_>,
    output: &[OutputItem],
    usage: Option<Usage>,
    out: &mut impl Output,
) {
    out.put(b"{");
    out.put(&options.members);
    out.put(b",\"status\":");
    out.put_text(status.name());
    out.put(b",\"completed_at\":");
    match status {
        Status::Completed => out.put(itoa::Buffer::new().format((options.now)()).as_bytes()),
        Status::InProgress | Status::Incomplete(_) | Status::Failed { .. } => out.put(b"null"),
    }
    out.put(b",\"incomplete_details\":");
    match status {
        Status::Incomplete(reason) => {
            out.put(b"{\"reason\":");
            out.put_text(reason);
            out.put(b"}");
        }
        Status::InProgress | Status::Completed | Status::Failed { .. } => out.put(b"null"),
    }
    out.put(b",\"error\":");
    match status {
        Status::Failed { code, message } => {
            out.put(b"{\"code\":");
            out.put_text(code);
            out.put(b",\"message\":");
            out.put_text(message);
            out.put(b"}");
        }
        Status::InProgress | Status::Completed | Status::Incomplete(_) => out.put(b"null"),
    }
    out.put(b",\"output\":[");
    for (index, item) in output.iter().enumerate() {
        if index > 0 {
            out.put(b",");
        }
        item.write(index, options, out);
    }
    out.put(b"],\"usage\":");
    match usage {
        Some(usage) => usage.write(out),
        None => out.put(b"null"),
    }
    out.put(b"}");
}

impl Usage {
    fn write(self, out: &mut impl Output) {
        let Self { tokens, reasoning_tokens } = self;
        out.put(b"{\"input_tokens\":");
        out.put_number(tokens.prompt);
        out.put(b",\"input_tokens_details\":{\"cached_tokens\":");
        out.put_number(tokens.cached);
        out.put(b"},\"output_tokens\":");
        out.put_number(tokens.completion);
        out.put(b",\"output_tokens_details\":{\"reasoning_tokens\":");
        out.put_number(reasoning_tokens);
        out.put(b"},\"total_tokens\":");
        out.put_number(tokens.total());
        out.put(b"}");
    }
}

/// What a response repeats of its request.
pub(super) struct Echo<'a> {
    pub(super) request: &'a ResponsesRequest,
    pub(super) unique: &'a str,
    pub(super) created_at: i64,
    pub(super) is_stored: bool,
    pub(super) tools: &'a [u8],
    pub(super) choice: &'a ToolChoice<'a>,
    pub(super) is_parallel: bool,
    pub(super) format: &'a TextFormat<'a>,
    pub(super) reasoning: &'a ReasoningRequest<'a>,
}

/// Writes the members that are known from the beginning, with the effective or the default values.
pub(super) fn write_members(echo: &Echo<'_>, out: &mut Vec<u8>) {
    let boolean = |is_true: bool| -> &[u8] { if is_true { b"true" } else { b"false" } };
    let or = |name: &str, default: &'static [u8]| echo.request.echo(name).unwrap_or(default);
    out.put(b"\"id\":\"resp_");
    out.put(echo.unique.as_bytes());
    out.put(b"\",\"object\":\"response\",\"created_at\":");
    out.put(itoa::Buffer::new().format(echo.created_at).as_bytes());
    out.put(b",\"model\":");
    out.put_text(&echo.request.model);
    for name in ["previous_response_id", "instructions", "max_output_tokens", "max_tool_calls"] {
        write_member(name, or(name, b"null"), out);
    }
    for name in ["user", "safety_identifier", "prompt_cache_key"] {
        write_member(name, or(name, b"null"), out);
    }
    for (name, default) in [("temperature", &b"1"[..]), ("top_p", b"1"), ("metadata", b"{}")] {
        write_member(name, or(name, default), out);
    }
    for name in ["presence_penalty", "frequency_penalty", "top_logprobs"] {
        write_member(name, or(name, b"0"), out);
    }
    out.put(b",\"tools\":[");
    out.put(echo.tools);
    out.put(b"]");
    write_member("tool_choice", echo.choice.echo(), out);
    write_member("parallel_tool_calls", boolean(echo.is_parallel), out);
    out.put(b",\"text\":");
    echo.format.echo(out);
    write_member("reasoning", &echo.reasoning.echo(), out);
    write_member("store", boolean(echo.is_stored), out);
    // Prompts are never cut, calls are never deferred, and there is one tier.
    out.put(b",\"truncation\":\"disabled\",\"background\":false,\"service_tier\":\"default\"");
}

/// A response that says `"store":false`. Members that repeat the request come before its own `store`, and texts after it
/// are escaped, so the last one is its own.
pub(super) fn unstored(response: &[u8]) -> Bytes {
    const STORED: &[u8] = b",\"store\":true,\"truncation\":";
    const UNSTORED: &[u8] = b",\"store\":false,\"truncation\":";
    match memmem::rfind(response, STORED) {
        Some(start) => [&response[..start], UNSTORED, &response[start + STORED.len()..]].concat().into(),
        None => Bytes::copy_from_slice(response),
    }
}
