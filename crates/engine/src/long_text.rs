//! Texts that are too long for a tokenizer.
//!
//! llama.cpp splits text for most vocabularies with `std::regex`, which recurses for each character of a match, and takes
//! about 330 bytes of stack for it. A match does not extend over both blanks and other characters.

/// The longest tokens, those of blanks, have half as many bytes.
const MOST_BYTES_PER_TOKEN: usize = 256;
/// The most characters without a change between blanks and others.
pub(crate) const MAX_RUN: usize = 256 << 10;
/// The stack of threads that tokenize: three times what the longest run takes. Memory is used only for the part that is
/// written to.
pub(crate) const STACK_BYTES: usize = 1024 * MAX_RUN;

/// The fewest tokens that a text of this many bytes can have.
pub(crate) fn least_tokens(bytes: usize) -> usize {
    bytes.div_ceil(MOST_BYTES_PER_TOKEN)
}

/// Whether the text has a run that is too long for the stack of a tokenizer.
pub(crate) fn has_long_run(text: &str) -> bool {
    if text.len() <= MAX_RUN {
        return false;
    }
    let (mut run, mut was_blank) = (0, false);
    text.chars().any(|letter| {
        let is_blank = letter.is_whitespace();
        run = if is_blank == was_blank { run + 1 } else { 1 };
        was_blank = is_blank;
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
    }
}
