//! The message about a prompt that is too long. Claude Code reads both numbers from it and compacts the conversation.

/// A smaller number is not a context length.
const LEAST_CONTEXT: u64 = 64;

/// Rewrites the message of an engine. The limit and the prompt are numbers in it, in either order; engines that do not
/// say how long the prompt is leave it at one token more than the limit.
pub(super) fn message(engine: &str) -> String {
    let mut numbers: Vec<u64> = numbers(engine).filter(|number| *number >= LEAST_CONTEXT).collect();
    numbers.sort_unstable();
    let (tokens, maximum) = match numbers[..] {
        [] => return "prompt is too long".into(),
        [maximum] => (maximum + 1, maximum),
        [maximum, .., tokens] if tokens > maximum => (tokens, maximum),
        [maximum, ..] => (maximum + 1, maximum),
    };
    format!("prompt is too long: {tokens} tokens > {maximum} maximum")
}

/// The whole numbers of a text; with separators of thousands or without.
fn numbers(text: &str) -> impl Iterator<Item = u64> {
    let is_part = |letter: char| letter.is_ascii_digit() || letter == ',';
    text.split(move |letter| !is_part(letter)).filter_map(|part| {
        let digits: String = part.chars().filter(char::is_ascii_digit).collect();
        digits.parse().ok().filter(|number| *number < u64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_engines_are_kept() {
        for (engine, expected) in [
            (
                "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens in the messages, \
                 Please reduce the length of the messages.",
                "prompt is too long: 9000 tokens > 8192 maximum",
            ),
            (
                "The input (210,000 tokens) is longer than the model's context length (200,000 tokens).",
                "prompt is too long: 210000 tokens > 200000 maximum",
            ),
            (
                "the request exceeds the available context size (4096 tokens), try increasing it",
                "prompt is too long: 4097 tokens > 4096 maximum",
            ),
            ("too long", "prompt is too long"),
        ] {
            assert_eq!(message(engine), expected);
        }
    }
}
