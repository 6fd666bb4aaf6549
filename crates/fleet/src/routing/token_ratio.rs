//! How many bytes of a prompt make one token of a model, learned from the engine's own counts.

use crate::learned::Learned;
use std::ops::RangeInclusive;

/// Fixed-point digits of the ratio.
const UNIT: u32 = 256;
/// Bytes per token before anything is known.
const INITIAL: u32 = 4 * UNIT;
const RANGE: RangeInclusive<u32> = UNIT..=16 * UNIT;
/// In a shorter prompt, the tokens that the chat template adds matter too much for the ratio. They are learned from such prompts.
const MIN_TOKENS: u64 = 64;
const ADDED_RANGE: RangeInclusive<u32> = 0..=MIN_TOKENS as u32 * UNIT;

#[derive(Debug)]
pub struct TokenRatio {
    bytes_per_token: Learned,
    /// By the chat template, to each prompt.
    added: Learned,
}

impl Default for TokenRatio {
    fn default() -> Self {
        Self { bytes_per_token: Learned::new(INITIAL), added: Learned::new(0) }
    }
}

impl TokenRatio {
    /// The estimated tokens of a text.
    pub fn tokens(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(u64::from(UNIT)) / u64::from(self.bytes_per_token.get()).max(1)
    }

    /// The estimated tokens of a prompt, with what the chat template adds.
    pub fn prompt_tokens(&self, bytes: u64) -> u64 {
        self.tokens(bytes).saturating_add(self.added())
    }

    fn added(&self) -> u64 {
        u64::from(self.added.get() / UNIT)
    }

    /// The engine counted `tokens` for a prompt of `bytes`.
    pub fn learn(&self, bytes: u64, tokens: u64) {
        if tokens >= MIN_TOKENS {
            let of_text = (tokens - self.added().min(tokens)).max(1);
            self.bytes_per_token.observe_gradually(bytes.saturating_mul(u64::from(UNIT)) / of_text, &RANGE);
        } else {
            let added = tokens.saturating_sub(self.tokens(bytes));
            self.added.observe(added * u64::from(UNIT), &ADDED_RANGE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_starts_at_four_and_follows_the_engine() {
        let ratio = TokenRatio::default();
        assert_eq!(ratio.tokens(4_000), 1_000);
        for _ in 0..200 {
            ratio.learn(6_000, 3_000);
        }
        assert!((1_900..=2_000).contains(&ratio.tokens(4_000)), "{}", ratio.tokens(4_000));
        ratio.learn(1_000_000, 10);
        assert!((1_900..=2_000).contains(&ratio.tokens(4_000)), "too short to tell");
        assert_eq!(ratio.prompt_tokens(4_000), ratio.tokens(4_000), "nothing is added");
        ratio.learn(100, 100_000);
        assert!((1_950..=2_070).contains(&ratio.tokens(4_000)), "one call moves it little: {ratio:?}");
        for _ in 0..200 {
            ratio.learn(u64::MAX, 100);
        }
        assert!(ratio.tokens(16_000) >= 1_000, "absurd counts are bounded");
    }

    #[test]
    fn what_the_chat_template_adds_is_learned_from_short_prompts() {
        let ratio = TokenRatio::default();
        for _ in 0..200 {
            ratio.learn(8, 32);
        }
        assert!((28..=30).contains(&(ratio.prompt_tokens(4_000) - ratio.tokens(4_000))), "{ratio:?}");
        for _ in 0..200 {
            ratio.learn(4_000, 1_030);
        }
        assert!((995..=1_005).contains(&ratio.tokens(4_000)), "the ratio is that of the text: {ratio:?}");
    }
}
