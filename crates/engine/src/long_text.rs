//! Texts that are too long for a tokenizer.
//!
//! llama.cpp splits text for most vocabularies with `std::regex`, which recurses for each character of a match, and takes
//! about 330 bytes of stack for it. Most matches end where blanks and others meet. Those of `[^\s\p{L}\p{N}]+[\r\n/]*`
//! (Tekken, GPT-4o) do not: after signs, they extend over line breaks and slashes in any order, as in `./\n/\n/`.
//!
//! A few expressions read the rest of a run again and again, so that the time grows with the square of its length: see
//! [`OWN_LIMITS`].

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
/// Tokenizers with limits of their own.
static OWN_LIMITS: [RunLimit; 4] = [
    // Its words extend over the single spaces between them.
    RunLimit { tokenizer: "exaone-moe", belongs: is_in_phrase, longest: MAX_RUN },
    // `(?=(\d{3})+(?!\d))` and `\s+$` read the rest of a run at each of its characters, for seconds in all.
    RunLimit { tokenizer: "superbpe", belongs: |letter| letter.is_ascii_digit(), longest: 4 << 10 },
    RunLimit { tokenizer: "deepseek-llm", belongs: is_blank, longest: 4 << 10 },
    // `\s*[\r\n]+` does so at every 512th.
    RunLimit { tokenizer: "jais-2", belongs: is_blank, longest: 64 << 10 },
];

/// The limit of a tokenizer for the runs of some characters.
pub(crate) struct RunLimit {
    /// Its name in model files.
    tokenizer: &'static str,
    belongs: fn(char) -> bool,
    longest: usize,
}

impl RunLimit {
    pub(crate) fn of(tokenizer: &str) -> Option<&'static Self> {
        OWN_LIMITS.iter().find(|own| own.tokenizer == tokenizer)
    }

    /// Whether the runs of the text take longer than the longest one: the squares of their lengths add up.
    pub(crate) fn is_exceeded(&self, text: &str) -> bool {
        let (mut run, mut squares) = (0_usize, 0);
        text.len() > self.longest
            && text.chars().any(|letter| {
                run = if (self.belongs)(letter) { run + 1 } else { 0 };
                // The difference of the squares of `run` and `run - 1`.
                squares += (2 * run).saturating_sub(1);
                squares > self.longest * self.longest
            })
    }
}

/// The fewest tokens that a text of this many bytes can have.
pub(crate) fn least_tokens(bytes: usize) -> usize {
    bytes.div_ceil(MOST_BYTES_PER_TOKEN)
}

/// Whether the text has a run that is too long for the stack of a tokenizer.
pub(crate) fn has_long_run(text: &str) -> bool {
    RUNS.into_iter().any(|belongs| has_run_of(text, belongs))
}

/// All that is not ASCII counts as letters, also signs and marks.
fn is_in_phrase(letter: char) -> bool {
    match letter.is_ascii() {
        true => letter == ' ' || letter.is_ascii_alphabetic(),
        false => !letter.is_whitespace(),
    }
}

fn is_blank(letter: char) -> bool {
    letter.is_whitespace() && !matches!(letter, '\r' | '\n')
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
        let limit = RunLimit::of("exaone-moe").unwrap();
        for words in ["word ", "é ", "a\u{301} "] {
            assert!(limit.is_exceeded(&words.repeat(MAX_RUN)), "{words:?}");
        }
        for text in ["word. ", "word\n", "7 ", "é\u{a0}"] {
            assert!(!limit.is_exceeded(&text.repeat(MAX_RUN)), "{text:?}");
        }
        assert!(!limit.is_exceeded(&"a ".repeat(MAX_RUN / 2)));
    }

    #[test]
    fn runs_that_take_long_together_are_found() {
        for (tokenizer, letter, longest) in
            [("superbpe", "7", 4 << 10), ("deepseek-llm", " ", 4 << 10), ("jais-2", "\t", 64 << 10)]
        {
            let limit = RunLimit::of(tokenizer).unwrap();
            assert!(!limit.is_exceeded(&letter.repeat(longest)), "{tokenizer}");
            assert!(limit.is_exceeded(&letter.repeat(longest + 1)), "{tokenizer}");
            let half = letter.repeat(longest / 2) + "x";
            assert!(!limit.is_exceeded(&half.repeat(4)), "{tokenizer}: half the length takes a quarter of the time");
            assert!(limit.is_exceeded(&half.repeat(5)), "{tokenizer}");
            assert!(!limit.is_exceeded(&"word 7\n".repeat(MAX_RUN)), "{tokenizer}");
        }
        assert!(RunLimit::of("smollm").is_none());
    }
}
