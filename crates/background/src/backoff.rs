//! Delays that double after every failure.

use std::time::Duration;

/// The delay before the next attempt: `first`, doubled with every failure up to `longest`.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    /// Starts at `first` and never exceeds `longest`.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, next: first }
    }

    /// The same delay after every failure.
    pub const fn constant(delay: Duration) -> Self {
        Self::new(delay, delay)
    }

    /// The delay before the next attempt; the one after it is twice as long.
    pub fn next_delay(&mut self) -> Duration {
        let delay = self.next.min(self.longest);
        self.next = delay.saturating_mul(2).min(self.longest);
        delay
    }

    /// Starts over after a success.
    pub fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest_and_start_over_after_a_reset() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
        let delays: Vec<u64> = (0..5).map(|_| backoff.next_delay().as_secs()).collect();
        assert_eq!(delays, [1, 2, 4, 5, 5]);
        backoff.reset();
        assert_eq!(backoff.next_delay(), Duration::from_secs(1));
        assert_eq!(Backoff::constant(Duration::MAX).next_delay(), Duration::MAX);
    }
}
