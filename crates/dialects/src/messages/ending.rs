//! The members at the end of a message: why it stopped, and its usage.

use super::MessageOptions;
use crate::chat_part::{ChatPart, FinishReason};
use crate::writer::Output;
use domain::usage::Tokens;

/// What the engine has said about the end of the response so far.
#[derive(Debug, Default)]
pub(super) struct Ending {
    finish: Option<FinishReason>,
    matched_stop: Option<String>,
    reasoning_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason<'a> {
    EndTurn,
    MaxTokens,
    ToolUse,
    StopSequence(&'a str),
    Refusal,
    ContextWindowExceeded,
}

impl Ending {
    pub(super) fn note(&mut self, part: &ChatPart<'_>) {
        self.finish = part.finish.or(self.finish);
        self.reasoning_tokens = part.reasoning_tokens.or(self.reasoning_tokens);
        if let Some(stop) = part.matched_stop {
            self.matched_stop = Some(String::from_utf8_lossy(&stop.decoded()).into_owned());
        }
    }

    /// Whether the response ended at a limit, possibly within a tool call.
    pub(super) fn is_cut(&self) -> bool {
        self.finish == Some(FinishReason::Length)
    }

    pub(super) fn stop_reason(&self, options: &MessageOptions, tokens: Tokens, has_tools: bool) -> StopReason<'_> {
        let is_full = tokens.total() >= options.context_length && tokens.completion < options.max_tokens;
        match self.finish {
            Some(FinishReason::ContentFilter) => StopReason::Refusal,
            Some(FinishReason::Length) if is_full => StopReason::ContextWindowExceeded,
            Some(FinishReason::Length) => StopReason::MaxTokens,
            Some(FinishReason::Stop | FinishReason::ToolCalls) | None if has_tools => StopReason::ToolUse,
            Some(FinishReason::Stop | FinishReason::ToolCalls) | None => {
                // Engines also report the end-of-turn marker of the model here.
                let sequence = self.matched_stop.as_ref().filter(|stop| options.stop_sequences.contains(stop));
                sequence.map_or(StopReason::EndTurn, |stop| StopReason::StopSequence(stop))
            }
        }
    }

    /// `{…}`, with the members that strict clients require.
    pub(super) fn write_usage(&self, tokens: Tokens, out: &mut impl Output) {
        out.put(b"{\"input_tokens\":");
        out.put_number(tokens.prompt.saturating_sub(tokens.cached));
        out.put(b",\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":");
        out.put_number(tokens.cached);
        out.put(b",\"output_tokens\":");
        out.put_number(tokens.completion);
        out.put(b",\"output_tokens_details\":");
        match self.reasoning_tokens {
            Some(tokens) => {
                out.put(b"{\"thinking_tokens\":");
                out.put_number(tokens);
                out.put(b"}");
            }
            None => out.put(b"null"),
        }
        out.put(b",\"cache_creation\":null,\"inference_geo\":null,\"server_tool_use\":null,\"service_tier\":null}");
    }
}

impl StopReason<'_> {
    /// `"stop_reason":…,"stop_sequence":…,"stop_details":null,"container":null`.
    pub(super) fn write(self, out: &mut impl Output) {
        let (reason, sequence) = match self {
            Self::EndTurn => ("end_turn", None),
            Self::MaxTokens => ("max_tokens", None),
            Self::ToolUse => ("tool_use", None),
            Self::StopSequence(sequence) => ("stop_sequence", Some(sequence)),
            Self::Refusal => ("refusal", None),
            Self::ContextWindowExceeded => ("model_context_window_exceeded", None),
        };
        out.put(b"\"stop_reason\":");
        out.put_text(reason);
        out.put(b",\"stop_sequence\":");
        match sequence {
            Some(sequence) => out.put_text(sequence),
            None => out.put(b"null"),
        }
        out.put(b",\"stop_details\":null,\"container\":null");
    }
}
