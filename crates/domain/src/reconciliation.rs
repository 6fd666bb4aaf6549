//! Tokens that were billed, held against what the engines counted themselves.
//!
//! Both are told by different programs, so nobody has to believe either. An engine counts a little more than is billed:
//! the probe of each start, answers that broke and were tried elsewhere, tokens on their way to a client that left. It
//! never counts less.

/// Tokens of one replica in one hour, as one side tells them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Side {
    pub prompt: u64,
    pub completion: u64,
}

impl Side {
    pub const fn total(self) -> u64 {
        self.prompt.saturating_add(self.completion)
    }
}

impl std::ops::AddAssign for Side {
    fn add_assign(&mut self, other: Self) {
        self.prompt = self.prompt.saturating_add(other.prompt);
        self.completion = self.completion.saturating_add(other.completion);
    }
}

/// What was billed less what was counted: above zero, somebody may have paid for tokens that no engine knows of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Difference {
    pub prompt: i64,
    pub completion: i64,
}

impl Difference {
    pub fn between(billed: Side, counted: Side) -> Self {
        let less = |billed: u64, counted: u64| {
            let difference = i128::from(billed) - i128::from(counted);
            i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
        };
        Self { prompt: less(billed.prompt, counted.prompt), completion: less(billed.completion, counted.completion) }
    }

    pub const fn total(self) -> i64 {
        self.prompt.saturating_add(self.completion)
    }
}

/// By how much a counter has grown. One that is lower than before was started anew with its engine.
pub const fn growth(before: u64, now: u64) -> u64 {
    if now >= before { now - before } else { now }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_starts_anew_has_grown_by_what_it_says() {
        for (before, now, grown) in [(0, 0, 0), (10, 15, 5), (10, 10, 0), (1_000, 7, 7)] {
            assert_eq!(growth(before, now), grown, "{before} → {now}");
        }
    }

    #[test]
    fn what_is_billed_and_not_counted_is_above_zero() {
        let side = |prompt, completion| Side { prompt, completion };
        let difference = Difference::between(side(100, 50), side(90, 60));
        assert_eq!((difference.prompt, difference.completion, difference.total()), (10, -10, 0));
        assert_eq!(
            Difference::between(side(u64::MAX, 0), side(0, u64::MAX)),
            Difference { prompt: i64::MAX, completion: i64::MIN }
        );
    }
}
