//! Why a choice ended, in the five words that clients know.

use crate::json::Text;

/// What to do with an engine's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finish {
    /// It is one of the five.
    Known,
    /// It means one of the five.
    Means(&'static str),
    /// The engine failed: this is no finish.
    Failure,
}

pub(super) fn finish(word: Text<'_>) -> Finish {
    match &*word.decoded() {
        b"stop" | b"length" | b"tool_calls" | b"content_filter" | b"function_call" => Finish::Known,
        b"error" => Finish::Failure,
        // The text is not whole, which is what `length` tells a client.
        b"abort" | b"cancelled" | b"max_tokens" | b"max_length" => Finish::Means("\"length\""),
        b"tool_use" => Finish::Means("\"tool_calls\""),
        _ => Finish::Means("\"stop\""),
    }
}
