//! A circuit breaker: a backend whose responses keep failing gets no calls for a while.
//!
//! After five failures in a row it opens for 1 s. Then one trial call is allowed: success closes the breaker, failure opens
//! it for twice as long, up to 30 s. Unreachable backends are handled by their health; this is for bad responses.
//!
//! Some requests make any engine fail, or close their connection and go on. So bad responses, and those that break off, open
//! the breaker only if several organizations saw them: an organization can have many workspaces. Those of a single one make
//! it suspect, and then a single bad response to a health probe takes the backend down. A bad response to a trial leaves the
//! next trial to the next call, until the trial of another caller fails as well; and a trial without any result keeps others
//! from one for 30 s at most.

use domain::OrganizationId;
use std::hash::{DefaultHasher, Hasher as _};
use std::time::{Duration, Instant};

/// Failures in a row that open the breaker.
const FAILURES: u32 = 5;
const FIRST_OPEN_TIME: Duration = Duration::from_secs(1);
const MAX_OPEN_TIME: Duration = Duration::from_secs(30);

/// Whose call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Witness {
    /// The connection was lost before a response began, which needs no second opinion.
    Connection,
    /// Got a bad response, a part of one, or none in time. A number that stands for the caller's organization.
    Caller(u64),
}

impl Witness {
    pub fn organization(id: &OrganizationId) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(id.as_bytes());
        Self::Caller(hasher.finish())
    }
}

#[derive(Debug, Default)]
pub struct Breaker {
    /// Failures in a row.
    failures: u32,
    /// Those among them that were seen by [`Witness::Connection`].
    losses: u32,
    /// The first caller among them.
    caller: Option<u64>,
    /// Another caller is among them.
    has_several_callers: bool,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    until: Instant,
    pause: Duration,
    /// When the trial began that is in progress.
    trial: Option<Instant>,
    /// Whose trial failed, while no other one has.
    failed_for: Option<u64>,
}

impl Breaker {
    /// Whether a call may be sent now. Once the open time is over, this admits one trial.
    pub fn admits(&mut self, now: Instant) -> bool {
        match &mut self.open {
            None => true,
            Some(open) if now < open.until => false,
            Some(open) => {
                let is_free = open.trial.is_none_or(|began| now.saturating_duration_since(began) >= MAX_OPEN_TIME);
                if is_free {
                    open.trial = Some(now);
                }
                is_free
            }
        }
    }

    /// Whether calls pass without a trial.
    pub fn is_closed(&self) -> bool {
        self.open.is_none()
    }

    /// Whether it would be open if others had seen the same.
    pub fn is_suspect(&self) -> bool {
        self.failures >= FAILURES
    }

    pub fn succeeded(&mut self) {
        *self = Self::default();
    }

    pub fn failed(&mut self, witness: Witness, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        match witness {
            Witness::Connection => self.losses = self.losses.saturating_add(1),
            Witness::Caller(caller) => self.has_several_callers |= *self.caller.get_or_insert(caller) != caller,
        }
        let is_certain = self.losses >= FAILURES || self.failures >= FAILURES && self.has_several_callers;
        let pause = match (&mut self.open, witness) {
            (Some(Open { trial: None, .. }), _) => return,
            (Some(open), Witness::Caller(caller)) if open.failed_for.is_none_or(|first| first == caller) => {
                (open.failed_for, open.trial) = (Some(caller), None);
                return;
            }
            (Some(open), Witness::Caller(_) | Witness::Connection) => (open.pause * 2).min(MAX_OPEN_TIME),
            (None, _) if is_certain => FIRST_OPEN_TIME,
            (None, _) => return,
        };
        self.open = Some(Open { until: now + pause, pause, trial: None, failed_for: None });
    }

    /// Ends a trial without a result, such as when the client left. Another trial may follow.
    pub fn undecided(&mut self) {
        if let Some(open) = &mut self.open {
            open.trial = None;
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
            breaker.failed(Witness::Connection, start);
        }
        assert!(breaker.admits(start));
        breaker.failed(Witness::Connection, start);
        assert!(!breaker.admits(at(999)));
        assert!(breaker.admits(at(1_000)), "the trial");
        assert!(!breaker.admits(at(1_000)), "one trial at a time");
        breaker.failed(Witness::Connection, at(1_000));
        assert!(!breaker.admits(at(2_999)));
        assert!(breaker.admits(at(3_000)));
        breaker.undecided();
        assert!(breaker.admits(at(3_000)));
        breaker.succeeded();
        assert!(breaker.admits(at(3_000)) && breaker.admits(at(3_000)));
    }

    #[test]
    fn trials_of_one_caller_alone_do_not_keep_it_open() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut breaker = Breaker::default();
        (0..5).for_each(|caller| breaker.failed(Witness::Caller(caller), start));
        for _ in 0..100 {
            assert!(breaker.admits(at(1)), "the next call is a trial at once");
            breaker.failed(Witness::Caller(7), at(1));
        }
        assert!(breaker.admits(at(1)));
        breaker.failed(Witness::Caller(8), at(1));
        assert!(!breaker.admits(at(2)) && breaker.admits(at(3)), "two callers saw trials fail");
        assert!(!breaker.admits(at(32)), "the trial is in progress");
        assert!(breaker.admits(at(33)), "it takes too long");
    }

    #[test]
    fn a_success_resets_the_failures() {
        let now = Instant::now();
        let mut breaker = Breaker::default();
        for _ in 0..20 {
            breaker.failed(Witness::Connection, now);
            breaker.succeeded();
        }
        assert!(breaker.admits(now));
    }

    #[test]
    fn bad_responses_to_one_caller_open_nothing() {
        let now = Instant::now();
        let mut breaker = Breaker::default();
        for _ in 0..100 {
            breaker.failed(Witness::Caller(1), now);
        }
        assert!(breaker.is_closed() && breaker.is_suspect());
        breaker.failed(Witness::Connection, now);
        assert!(breaker.is_closed(), "one lost connection may be the caller's fault, too");
        breaker.failed(Witness::Caller(2), now);
        assert!(!breaker.is_closed());
        breaker.succeeded();
        (0..4).for_each(|_| breaker.failed(Witness::Caller(2), now));
        assert!(!breaker.is_suspect());
        breaker.failed(Witness::Caller(1), now);
        assert!(!breaker.is_closed());
    }
}
