//! Bill check: compares billed tokens with the token counters of the engines.
//!
//! The two come from independent programs, so an error in either one shows up as a difference. An engine counts slightly
//! more than is billed: the readiness probe of each start, failed responses that were retried elsewhere, tokens in
//! flight to a client that disconnected. It counts less only where an event is estimated, such as the prompt of a client that
//! left before the engine had read it.

/// Tokens of one replica in one hour, either as billed or as counted by its engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenCounts {
    pub prompt: u64,
    pub completion: u64,
}

impl TokenCounts {
    pub const fn total(self) -> u64 {
        self.prompt.saturating_add(self.completion)
    }
}

impl std::ops::AddAssign for TokenCounts {
    fn add_assign(&mut self, other: Self) {
        self.prompt = self.prompt.saturating_add(other.prompt);
        self.completion = self.completion.saturating_add(other.completion);
    }
}

/// Billed minus counted tokens. A positive value means that tokens were billed which no engine generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Difference {
    pub prompt: i64,
    pub completion: i64,
}

impl Difference {
    pub fn between(billed: TokenCounts, counted: TokenCounts) -> Self {
        let subtract = |billed: u64, counted: u64| {
            let difference = i128::from(billed) - i128::from(counted);
            i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
        };
        Self {
            prompt: subtract(billed.prompt, counted.prompt),
            completion: subtract(billed.completion, counted.completion),
        }
    }

    pub const fn total(self) -> i64 {
        self.prompt.saturating_add(self.completion)
    }
}

/// The growth of a counter since its last reading. A counter that went down was reset by a restart of its engine.
pub const fn growth(before: u64, now: u64) -> u64 {
    if now >= before { now - before } else { now }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_was_reset_has_grown_by_its_new_value() {
        for (before, now, grown) in [(0, 0, 0), (10, 15, 5), (10, 10, 0), (1_000, 7, 7)] {
            assert_eq!(growth(before, now), grown, "{before} → {now}");
        }
    }

    #[test]
    fn tokens_billed_but_not_counted_give_a_positive_difference() {
        let tokens = |prompt, completion| TokenCounts { prompt, completion };
        let difference = Difference::between(tokens(100, 50), tokens(90, 60));
        assert_eq!((difference.prompt, difference.completion, difference.total()), (10, -10, 0));
        assert_eq!(
            Difference::between(tokens(u64::MAX, 0), tokens(0, u64::MAX)),
            Difference { prompt: i64::MAX, completion: i64::MIN }
        );
    }
}
