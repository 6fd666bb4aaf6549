//! Maps the finish reasons of engines to the five that clients know.

use json::RawStr;

const STOP: &str = "\"stop\"";
const LENGTH: &str = "\"length\"";

/// The meaning of an engine's finish reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FinishReason {
    /// The model has ended its turn.
    Stop,
    /// Another one of the five.
    Known,
    /// Another word for one of the five, given as JSON.
    Means(&'static str),
    /// The engine ended the response before the model did, as vLLM does when it gets SIGTERM. Clients know incomplete text as
    /// `length`.
    Aborted,
    /// The engine failed.
    Failure,
}

pub(super) fn read_finish_reason(word: RawStr<'_>) -> FinishReason {
    match &*word.decoded() {
        b"stop" => FinishReason::Stop,
        b"length" | b"tool_calls" | b"content_filter" | b"function_call" => FinishReason::Known,
        b"error" => FinishReason::Failure,
        b"abort" | b"cancelled" => FinishReason::Aborted,
        b"max_tokens" | b"max_length" => FinishReason::Means(LENGTH),
        b"tool_use" => FinishReason::Means("\"tool_calls\""),
        _ => FinishReason::Means(STOP),
    }
}

impl FinishReason {
    /// What to write instead of the engine's word, as JSON; `None` if that is right. A turn that ends with tool calls ends
    /// because of them.
    pub(super) fn correction(self, has_tool_calls: bool) -> Option<&'static str> {
        match self {
            Self::Stop | Self::Means(STOP) if has_tool_calls => Some("\"tool_calls\""),
            Self::Means(word) => Some(word),
            Self::Aborted => Some(LENGTH),
            Self::Stop | Self::Known | Self::Failure => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_engines_are_those_that_clients_know() {
        for (word, client_sees) in [
            ("stop", None),
            ("length", None),
            ("content_filter", None),
            ("abort", Some("\"length\"")),
            ("max_tokens", Some("\"length\"")),
            ("tool_use", Some("\"tool_calls\"")),
            ("eos", Some("\"stop\"")),
        ] {
            let text = format!("\"{word}\"");
            let reason = read_finish_reason(json::Reader::new(text.as_bytes()).string().unwrap());
            assert_eq!(reason.correction(false), client_sees, "{word}");
        }
    }
}
