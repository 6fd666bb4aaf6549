//! The right to be served once, and the settling of what it took.

use super::minute::{Debit, Minutes, Settlement};
use super::quota::Reservation;
use domain::limits::RateLimitStatus;
use domain::usage::Tokens;
use fleet::endpoints::OpenCall;
use std::time::Instant;

/// A stream that goes on beyond what was expected is counted in steps of so many tokens.
const STEP: u64 = 256;

/// What was taken is given back when the permit settles, or when it is dropped.
pub struct Permit {
    standings: Option<RateLimitStatus>,
    clamp: Option<u64>,
    /// Tokens that the call may generate before more is counted.
    counted_completion: u64,
    served: Option<Served>,
    /// The call is at a dedicated endpoint, and leaves it when the permit is dropped.
    _visit: Option<OpenCall>,
}

pub(super) struct Served {
    pub(super) minutes: Minutes,
    pub(super) debit: Debit,
    pub(super) reservation: Reservation,
}

impl Permit {
    pub(super) fn metered(
        served: Served,
        standings: RateLimitStatus,
        clamp: Option<u64>,
        counted_completion: u64,
    ) -> Self {
        Self { standings: Some(standings), clamp, counted_completion, served: Some(served), _visit: None }
    }

    /// For calls that no limit and no quota counts.
    pub(crate) fn unmetered(visit: OpenCall) -> Self {
        Self { standings: None, clamp: None, counted_completion: u64::MAX - 1, served: None, _visit: Some(visit) }
    }

    /// What is left of the limits by the minute.
    pub fn standings(&self) -> Option<RateLimitStatus> {
        self.standings
    }

    /// The limit on each choice that the quota leaves, where that is less than was asked for.
    pub fn clamp(&self) -> Option<u64> {
        self.clamp
    }

    /// The call has generated so much. Returns when it wants to hear of it again.
    pub(crate) fn progress(&mut self, completion: u64) -> u64 {
        while completion > self.counted_completion
            && let Some(served) = &mut self.served
        {
            served.minutes.take_more(&mut served.debit, STEP);
            self.counted_completion += STEP;
        }
        self.counted_completion + 1
    }

    pub(crate) fn settle(mut self, tokens: Tokens, now: Instant) {
        self.close(tokens.total(), now);
    }

    fn close(&mut self, used: u64, now: Instant) {
        if let Some(Served { minutes, debit, reservation }) = self.served.take() {
            minutes.settle(debit, Settlement::Used(used), now);
            reservation.settle(used, now);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.served.is_some() {
            self.close(0, Instant::now());
        }
    }
}
