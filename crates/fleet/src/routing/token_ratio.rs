//! How many bytes of a prompt make one token of a model, learned from the engine's own counts.

use crate::learned::Learned;
use std::ops::RangeInclusive;

/// Fixed-point digits of the ratio.
const UNIT: u32 = 256;
/// Bytes per token before anything is known.
const INITIAL: u32 = 4 * UNIT;
const RANGE: RangeInclusive<u32> = UNIT..=16 * UNIT;
/// In a shorter prompt, the tokens that the chat template adds matter too much.
const MIN_TOKENS: u64 = 64;

/// Bytes per token.
#[derive(Debug)]
pub struct TokenRatio(Learned);

impl Default for TokenRatio {
    fn default() -> Self {
        Self(Learned::new(INITIAL))
    }
}

impl TokenRatio {
    /// The estimated tokens of a text.
    pub fn tokens(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(u64::from(UNIT)) / u64::from(self.0.get()).max(1)
    }

    /// The engine counted `tokens` for a prompt of `bytes`.
    pub fn learn(&self, bytes: u64, tokens: u64) {
        if tokens >= MIN_TOKENS {
            self.0.observe(bytes.saturating_mul(u64::from(UNIT)) / tokens, &RANGE);
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
        for _ in 0..200 {
            ratio.learn(u64::MAX, 100);
        }
        assert!(ratio.tokens(16_000) >= 1_000, "absurd counts are bounded");
    }
}
