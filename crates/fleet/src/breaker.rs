//! A circuit breaker: a backend whose responses keep failing gets no calls for a while.
//!
//! After five failures in a row it opens for 1 s. Then one trial call is allowed: success closes the breaker, failure opens
//! it for twice as long, up to 30 s. Backends that refuse connections are handled by their health; this is for bad responses
//! and connections that break.
//!
//! Some requests make any engine fail, or close their connection and go on. So failures open the breaker only if several
//! organizations saw them: an organization can have many workspaces. Those of a single one make it suspect, and then a single
//! bad response to a health probe takes the backend down; where only one organization calls, nothing else does, and each call
//! that fails is tried at another backend. A failed trial leaves the next trial to the next call, until the
//! trial of another organization fails as well; and a trial without any result keeps others from one for 30 s at most.

use domain::OrganizationId;
use std::hash::{DefaultHasher, Hasher as _};
use std::time::{Duration, Instant};

/// Failures in a row that open the breaker.
const FAILURES: u32 = 5;
const FIRST_OPEN_TIME: Duration = Duration::from_secs(1);
const MAX_OPEN_TIME: Duration = Duration::from_secs(30);

/// Whose call failed: a number that stands for the caller's organization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Witness(pub(crate) u64);

impl Witness {
    pub fn organization(id: &OrganizationId) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(id.as_bytes());
        Self(hasher.finish())
    }
}

#[derive(Debug, Default)]
pub struct Breaker {
    /// Failures in a row.
    failures: u32,
    /// Who saw the first of them.
    witness: Option<Witness>,
    /// Another one saw one of them.
    has_several_witnesses: bool,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    until: Instant,
    pause: Duration,
    /// When the trial began that is in progress.
    trial: Option<Instant>,
    /// Whose trial failed, while no other one has.
    failed_for: Option<Witness>,
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
        self.has_several_witnesses |= *self.witness.get_or_insert(witness) != witness;
        let pause = match &mut self.open {
            Some(Open { trial: None, .. }) => return,
            Some(open) if open.failed_for.is_none_or(|first| first == witness) => {
                (open.failed_for, open.trial) = (Some(witness), None);
                return;
            }
            Some(open) => (open.pause * 2).min(MAX_OPEN_TIME),
            None if self.failures >= FAILURES && self.has_several_witnesses => FIRST_OPEN_TIME,
            None => return,
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
        for organization in 0..4 {
            breaker.failed(Witness(organization), start);
        }
        assert!(breaker.admits(start));
        breaker.failed(Witness(4), start);
        assert!(!breaker.admits(at(999)));
        assert!(breaker.admits(at(1_000)), "the trial");
        assert!(!breaker.admits(at(1_000)), "one trial at a time");
        breaker.failed(Witness(1), at(1_000));
        assert!(breaker.admits(at(1_000)), "the trial of another organization");
        breaker.failed(Witness(2), at(1_000));
        assert!(!breaker.admits(at(2_999)));
        assert!(breaker.admits(at(3_000)));
        breaker.undecided();
        assert!(breaker.admits(at(3_000)));
        breaker.succeeded();
        assert!(breaker.admits(at(3_000)) && breaker.admits(at(3_000)));
    }

    #[test]
    fn trials_of_one_organization_alone_do_not_keep_it_open() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut breaker = Breaker::default();
        (0..5).for_each(|organization| breaker.failed(Witness(organization), start));
        for _ in 0..100 {
            assert!(breaker.admits(at(1)), "the next call is a trial at once");
            breaker.failed(Witness(7), at(1));
        }
        assert!(breaker.admits(at(1)));
        breaker.failed(Witness(8), at(1));
        assert!(!breaker.admits(at(2)) && breaker.admits(at(3)), "two saw trials fail");
        assert!(!breaker.admits(at(32)), "the trial is in progress");
        assert!(breaker.admits(at(33)), "it takes too long");
    }

    #[test]
    fn a_success_resets_the_failures() {
        let now = Instant::now();
        let mut breaker = Breaker::default();
        for organization in 0..20 {
            breaker.failed(Witness(organization), now);
            breaker.succeeded();
        }
        assert!(breaker.admits(now));
    }

    #[test]
    fn failures_that_one_organization_saw_open_nothing() {
        let now = Instant::now();
        let mut breaker = Breaker::default();
        for _ in 0..100 {
            breaker.failed(Witness(1), now);
        }
        assert!(breaker.is_closed() && breaker.is_suspect());
        breaker.failed(Witness(2), now);
        assert!(!breaker.is_closed());
        breaker.succeeded();
        (0..4).for_each(|_| breaker.failed(Witness(2), now));
        assert!(!breaker.is_suspect());
        breaker.failed(Witness(1), now);
        assert!(!breaker.is_closed());
    }
}
