//! Reads from the message of an engine how a request exceeds the context of its model.
//!
//! A prompt that is too long makes agents compact their conversation. A limit of tokens that does not fit next to the
//! prompt must not: the same prompt works with a smaller one. Engines report both with similar words.

use crate::error::ContextOverflow;

/// Codes of OpenAI and of llama-server.
pub(super) const CODES: [&str; 2] = ["context_length_exceeded", "exceed_context_size_error"];
/// Phrases of OpenAI and vLLM, vLLM, SGLang, llama-server, and forebay-engine.
const PHRASES: [&str; 5] = [
    "maximum context length",
    "maximum model length",
    "the model's context length",
    "the available context size",
    "the context length is",
];
/// Phrases of messages that also count the tokens to generate.
const LIMIT_PHRASES: [&str; 5] =
    ["max_tokens", "max_completion_tokens", "in the completion", "for the completion", "output tokens"];
/// Phrases before and after the length of the prompt.
const BEFORE_PROMPT: [&str; 6] =
    ["prompt has ", "prompt contains ", "prompt contains at least ", "prompt (length ", "the input (", "request ("];
const AFTER_PROMPT: [&str; 4] =
    [" in the messages", " tokens in the messages", " tokens from the input", " input tokens"];

/// `context_length` is that of the model, whatever the message says.
pub(super) fn read(message: &str, has_code: bool, context_length: u64) -> Option<ContextOverflow> {
    let text = message.to_lowercase();
    let has_any = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    if !has_code && !has_any(&PHRASES) {
        return None;
    }
    let prompt = numbers(&text).find(|number| number.is_prompt()).map(|number| number.value);
    if has_any(&LIMIT_PHRASES) && prompt.is_none_or(|tokens| tokens < context_length) {
        return Some(ContextOverflow::Total);
    }
    // Without a length in the message, the least one that is too long.
    let known = prompt.into_iter().chain(numbers(&text).map(|number| number.value));
    let tokens = known.filter(|tokens| *tokens > context_length).min().unwrap_or(context_length + 1);
    Some(ContextOverflow::Prompt { tokens, maximum: context_length })
}

/// A whole number within a text.
struct Number<'a> {
    value: u64,
    before: &'a str,
    after: &'a str,
}

impl Number<'_> {
    fn is_prompt(&self) -> bool {
        BEFORE_PROMPT.iter().any(|phrase| self.before.ends_with(phrase))
            || AFTER_PROMPT.iter().any(|phrase| self.after.starts_with(phrase))
    }
}

/// The whole numbers of a text; with separators of thousands or without.
fn numbers(text: &str) -> impl Iterator<Item = Number<'_>> {
    let is_part = |letter: char| letter.is_ascii_digit() || letter == ',';
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + text[at..].find(|letter: char| letter.is_ascii_digit())?;
            let end = text[start..].find(|letter| !is_part(letter)).map_or(text.len(), |length| start + length);
            at = end;
            let digits: String = text[start..end].chars().filter(char::is_ascii_digit).collect();
            if let Ok(value) = digits.parse() {
                return Some(Number { value, before: &text[..start], after: text[end..].trim_start_matches(',') });
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(message: &str) -> Option<ContextOverflow> {
        read(message, false, 8_192)
    }

    #[test]
    fn a_prompt_that_is_too_long_is_recognized_with_its_length() {
        for (message, tokens) in [
            (
                "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens in the messages, \
                 Please reduce the length of the messages.",
                9_000,
            ),
            (
                "This model's maximum context length is 8192 tokens. However, you requested 10 output tokens and your \
                 prompt contains at least 8193 input tokens, for a total of at least 8203 tokens.",
                8_193,
            ),
            (
                "This model's maximum context length is 8192 tokens. However, you requested 9300 tokens (9000 in the \
                 messages, 300 in the completion).",
                9_000,
            ),
            ("The decoder prompt (length 9000) is longer than the maximum model length of 8192.", 9_000),
            ("The input (10,000 tokens) is longer than the model's context length (8,192 tokens).", 10_000),
            ("the request exceeds the available context size (8192 tokens), try increasing it", 8_193),
            ("request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it", 9_000),
            ("the context length is 8192 tokens: the prompt has 8192, and a completion needs at least one more", 8_193),
            // The engine runs with a shorter context than is configured.
            ("the context length is 2048 tokens: the prompt has 3000, and a completion needs at least one more", 8_193),
        ] {
            assert_eq!(read_text(message), Some(ContextOverflow::Prompt { tokens, maximum: 8_192 }), "{message}");
        }
        assert_eq!(read("x", true, 10), Some(ContextOverflow::Prompt { tokens: 11, maximum: 10 }));
    }

    #[test]
    fn a_limit_that_does_not_fit_is_not_a_prompt_that_is_too_long() {
        for message in [
            "This model's maximum context length is 8192 tokens. However, you requested 129000 tokens (1000 in the \
             messages, 128000 in the completion). Please reduce the length of the messages or completion.",
            "'max_tokens' or 'max_completion_tokens' is too large: 128000. This model's maximum context length is 8192 \
             tokens and your request has 1000 input tokens (128000 > 8192 - 1000).",
            "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of \
             129000 tokens: 1000 tokens from the input messages and 128000 tokens for the completion.",
            "the context length is 8192 tokens: the prompt has 1000, and 128000 more were requested for the completion",
        ] {
            assert_eq!(read_text(message), Some(ContextOverflow::Total), "{message}");
        }
    }

    #[test]
    fn other_messages_are_about_something_else() {
        for message in ["context_length must not be set", "the context size option is unknown", "max_tokens is 0", ""] {
            assert_eq!(read_text(message), None, "{message}");
        }
    }
}
