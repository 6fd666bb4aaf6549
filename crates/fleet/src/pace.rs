//! How fast a model writes, learned from complete responses.
//!
//! A response that is not streamed says nothing until its end. If it never arrives, the pace shows about how much of it was
//! generated.

use crate::learned::Learned;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Fixed-point digits of the pace.
const UNIT: u32 = 16;
/// Tokens per second before anything is known.
const INITIAL: u32 = 20 * UNIT;
const RANGE: RangeInclusive<u32> = UNIT..=10_000 * UNIT;
/// In a shorter response, the time for the prompt matters too much.
const MIN_TOKENS: u64 = 16;

/// Tokens per second of one choice, from the request until the engine has sent its response: the prompt and the queue of the
/// engine count.
#[derive(Debug)]
pub struct Pace(Learned);

impl Default for Pace {
    fn default() -> Self {
        Self(Learned::new(INITIAL))
    }
}

impl Pace {
    /// The tokens that one choice probably has after this time.
    pub fn tokens_within(&self, time: Duration) -> u64 {
        let pace = u128::from(self.0.get());
        u64::try_from(time.as_millis() * pace / (u128::from(UNIT) * 1_000)).unwrap_or(u64::MAX)
    }

    /// A choice of `tokens` was complete after this time.
    pub fn learn(&self, tokens: u64, time: Duration) {
        if tokens >= MIN_TOKENS {
            let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
            self.0.observe_gradually(tokens.saturating_mul(u64::from(UNIT) * 1_000) / millis, &RANGE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_starts_at_twenty_and_follows_complete_responses() {
        let pace = Pace::default();
        assert_eq!(pace.tokens_within(Duration::from_secs(9)), 180);
        pace.learn(MIN_TOKENS - 1, Duration::from_millis(1));
        assert_eq!(pace.tokens_within(Duration::from_secs(1)), 20, "a short response says little");
        (0..200).for_each(|_| pace.learn(1_000, Duration::from_secs(10)));
        assert!((95..=100).contains(&pace.tokens_within(Duration::from_secs(1))), "{pace:?}");
        pace.learn(MIN_TOKENS, Duration::MAX);
        assert!((92..=97).contains(&pace.tokens_within(Duration::from_secs(1))), "one call moves it little: {pace:?}");
        (0..400).for_each(|_| pace.learn(u64::MAX, Duration::ZERO));
        assert!(pace.tokens_within(Duration::from_secs(1)) <= 10_000, "{pace:?}");
        (0..400).for_each(|_| pace.learn(MIN_TOKENS, Duration::MAX));
        assert!((1..=2).contains(&pace.tokens_within(Duration::from_secs(1))), "{pace:?}");
        assert_eq!(Pace::default().tokens_within(Duration::ZERO), 0);
    }
}
