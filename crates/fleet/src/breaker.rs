//! A circuit breaker: a backend whose responses keep failing gets no calls for a while.
//!
//! After five failures in a row it opens for 1 s. Then one trial call is allowed: success closes the breaker, failure opens
//! it for twice as long, up to 30 s. Unreachable backends are handled by their health; this is for bad responses.

use std::time::{Duration, Instant};

/// Failures in a row that open the breaker.
const FAILURES: u32 = 5;
const FIRST_OPEN_TIME: Duration = Duration::from_secs(1);
const MAX_OPEN_TIME: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
pub struct Breaker {
    failures: u32,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    until: Instant,
    pause: Duration,
    /// A trial call is in progress.
    trial: bool,
}

impl Breaker {
    /// Whether a call may be sent now. Once the open time is over, this admits one trial.
    pub fn admits(&mut self, now: Instant) -> bool {
        match &mut self.open {
            None => true,
            Some(open) if now < open.until => false,
            Some(open) => !std::mem::replace(&mut open.trial, true),
        }
    }

    /// Whether calls pass without a trial.
    pub fn is_closed(&self) -> bool {
        self.open.is_none()
    }

    pub fn succeeded(&mut self) {
        self.failures = 0;
        self.open = None;
    }

    pub fn failed(&mut self, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        let pause = match &self.open {
            Some(open) if open.trial => (open.pause * 2).min(MAX_OPEN_TIME),
            Some(_) => return,
            None if self.failures >= FAILURES => FIRST_OPEN_TIME,
            None => return,
        };
        self.open = Some(Open { until: now + pause, pause, trial: false });
    }

    /// Ends a trial without a result, such as when the client left. Another trial may follow.
    pub fn undecided(&mut self) {
        if let Some(open) = &mut self.open {
            open.trial = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_after_five_failures_and_allows_trials_after_a_growing_pause() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut breaker = Breaker::default();
        for _ in 0..4 {
            breaker.failed(start);
        }
        assert!(breaker.admits(start));
        breaker.failed(start);
        assert!(!breaker.admits(at(999)));
        assert!(breaker.admits(at(1_000)), "the trial");
        assert!(!breaker.admits(at(1_000)), "one trial at a time");
        breaker.failed(at(1_000));
        assert!(!breaker.admits(at(2_999)));
        assert!(breaker.admits(at(3_000)));
        breaker.undecided();
        assert!(breaker.admits(at(3_000)));
        breaker.succeeded();
        assert!(breaker.admits(at(3_000)) && breaker.admits(at(3_000)));
    }

    #[test]
    fn a_success_resets_the_failures() {
        let now = Instant::now();
        let mut breaker = Breaker::default();
        for _ in 0..20 {
            breaker.failed(now);
            breaker.succeeded();
        }
        assert!(breaker.admits(now));
    }
}
