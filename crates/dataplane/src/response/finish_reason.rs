//! Maps the finish reasons of engines to the five that clients know.

use json::RawStr;

/// The meaning of an engine's finish reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FinishReason {
    /// One of the five.
    Known,
    /// Another word for one of the five, given as JSON.
    Means(&'static str),
    /// The engine failed.
    Failure,
}

pub(super) fn read_finish_reason(word: RawStr<'_>) -> FinishReason {
    match &*word.decoded() {
        b"stop" | b"length" | b"tool_calls" | b"content_filter" | b"function_call" => FinishReason::Known,
        b"error" => FinishReason::Failure,
        // The text is incomplete, which clients know as `length`.
        b"abort" | b"cancelled" | b"max_tokens" | b"max_length" => FinishReason::Means("\"length\""),
        b"tool_use" => FinishReason::Means("\"tool_calls\""),
        _ => FinishReason::Means("\"stop\""),
    }
}
