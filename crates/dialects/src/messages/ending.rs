//! How a message ends: why it stopped, and its usage.

use super::MessageOptions;
use super::wire::{Stop, StopReason, Usage};
use crate::chat_part::{ChatPart, FinishReason};
use domain::usage::Tokens;

/// What the engine has said about the end of the response so far.
#[derive(Debug, Default)]
pub(super) struct Ending {
    finish: Option<FinishReason>,
    matched_stop: Option<String>,
    reasoning_tokens: Option<u64>,
}

impl Ending {
    pub(super) fn note(&mut self, part: &ChatPart<'_>) {
        self.finish = part.finish.or(self.finish);
        self.reasoning_tokens = part.reasoning_tokens.or(self.reasoning_tokens);
        if let Some(stop) = part.matched_stop {
            self.matched_stop = Some(stop.decoded().into_owned());
        }
    }

    /// Whether the response ended at a limit, possibly within a tool call.
    pub(super) fn is_cut(&self) -> bool {
        self.finish == Some(FinishReason::Length)
    }

    pub(super) fn stop(&self, options: &MessageOptions, tokens: Tokens, has_tools: bool) -> Stop<'_> {
        let is_full = tokens.total() >= options.context_length && tokens.completion < options.max_tokens;
        // Engines also report the end-of-turn marker of the model here.
        let sequence = self.matched_stop.as_ref().filter(|stop| options.stop_sequences.contains(stop));
        match self.finish {
            Some(FinishReason::ContentFilter) => Stop::new(StopReason::Refusal, None),
            Some(FinishReason::Length) if is_full => Stop::new(StopReason::ContextWindowExceeded, None),
            Some(FinishReason::Length) => Stop::new(StopReason::MaxTokens, None),
            Some(FinishReason::Stop | FinishReason::ToolCalls) | None => match sequence {
                _ if has_tools => Stop::new(StopReason::ToolUse, None),
                Some(stop) => Stop::new(StopReason::StopSequence, Some(stop)),
                None => Stop::new(StopReason::EndTurn, None),
            },
        }
    }

    pub(super) fn usage(&self, options: &MessageOptions, tokens: Tokens) -> Usage {
        Usage::new(tokens, self.reasoning_tokens, options.is_flex)
    }
}
