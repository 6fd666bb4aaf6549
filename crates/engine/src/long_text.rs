//! Texts that are too long for a tokenizer.
//!
//! llama.cpp splits text for most vocabularies with `std::regex`, which recurses for each character of a match, and takes
//! about 330 bytes of stack for it. Most matches end where blanks and others meet. Those of `[^\s\p{L}\p{N}]+[\r\n/]*`
//! (Tekken, GPT-4o) do not: after signs, they extend over line breaks and slashes in any order, as in `./\n/\n/`.

/// The longest tokens, those of blanks, have half as many bytes.
const MOST_BYTES_PER_TOKEN: usize = 256;
/// The most characters of one of [`RUNS`].
pub(crate) const MAX_RUN: usize = 256 << 10;
/// The stack of threads that tokenize: half more than what the longest match takes, which has two runs. Memory is used only
/// for the part that is written to.
pub(crate) const STACK_BYTES: usize = 1024 * MAX_RUN;
/// The characters over which a match, or one half of it, extends.
const RUNS: [fn(char) -> bool; 3] =
    [char::is_whitespace, |letter: char| !letter.is_whitespace(), |letter: char| matches!(letter, '/' | '\r' | '\n')];

/// The fewest tokens that a text of this many bytes can have.
pub(crate) fn least_tokens(bytes: usize) -> usize {
    bytes.div_ceil(MOST_BYTES_PER_TOKEN)
}

/// Whether the text has a run that is too long for the stack of a tokenizer.
pub(crate) fn has_long_run(text: &str) -> bool {
    RUNS.into_iter().any(|belongs| has_run_of(text, belongs))
}

/// Whether the text has too many words in a row, for a tokenizer that does not split between words and single spaces.
pub(crate) fn has_long_phrase(text: &str) -> bool {
    // All that is not ASCII counts as letters, also signs and marks.
    has_run_of(text, |letter| match letter.is_ascii() {
        true => letter == ' ' || letter.is_ascii_alphabetic(),
        false => !letter.is_whitespace(),
    })
}

fn has_run_of(text: &str, belongs: impl Fn(char) -> bool) -> bool {
    let mut run = 0;
    text.len() > MAX_RUN
        && text.chars().any(|letter| {
            run = if belongs(letter) { run + 1 } else { 0 };
            run > MAX_RUN
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_of_blanks_or_of_others_is_found() {
        for letter in ["a", "7", ".", " ", "\n", "é", "\u{3000}"] {
            assert!(has_long_run(&letter.repeat(MAX_RUN + 1)), "{letter:?}");
            assert!(!has_long_run(&letter.repeat(MAX_RUN)), "{letter:?}");
        }
        assert!(has_long_run(&"a.7é".repeat(MAX_RUN)), "letters, signs and digits are one run");
        assert!(!has_long_run(&"word ".repeat(MAX_RUN)));
        assert!(!has_long_run(&". ".repeat(MAX_RUN)));
    }

    #[test]
    fn a_long_run_of_line_breaks_and_slashes_is_found() {
        for pair in ["\n/", "/\r", "\r\n/"] {
            assert!(has_long_run(&(".".to_owned() + &pair.repeat(500_000))), "{pair:?}");
            assert!(!has_long_run(&(".".to_owned() + &pair.repeat(MAX_RUN / pair.len()))), "{pair:?}");
        }
        assert!(!has_long_run(&"/path\n".repeat(MAX_RUN)));
    }

    #[test]
    fn a_long_phrase_is_found() {
        for words in ["word ", "é ", "a\u{301} "] {
            assert!(has_long_phrase(&words.repeat(MAX_RUN)), "{words:?}");
        }
        for text in ["word. ", "word\n", "7 ", "é\u{a0}"] {
            assert!(!has_long_phrase(&text.repeat(MAX_RUN)), "{text:?}");
        }
        assert!(!has_long_phrase(&"a ".repeat(MAX_RUN / 2)));
    }
}
