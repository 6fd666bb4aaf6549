//! The permit of one call, which settles rate limits, quota and budgets when the call ends.

use super::budget::BudgetReservations;
use super::charge::{Debit, Settlement};
use super::completion_averages::CompletionAverage;
use super::quota::Reservation;
use super::rate_limiter::RateLimiter;
use super::running::RunningCall;
use domain::limits::RateLimitStatus;
use domain::usage::Tokens;
use fleet::endpoints::OpenCall;
use std::time::Instant;
use store::journal::JournalRoom;

/// Streams that exceed their expected length are charged in steps of this many tokens.
const STEP: u64 = 256;

/// The tokens that a call used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UsedTokens {
    /// For the monthly quota and budgets, and the least for the rate limits.
    pub(crate) billed: Tokens,
    /// What an engine may have worked through beyond that, for the rate limits.
    pub(crate) unbilled: UnbilledWork,
    /// Those that were generated, if the model ended the response itself.
    pub(crate) whole_completion: Option<u64>,
}

/// Work of engines that is not, or only partly, on the bill of a call. The larger one counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UnbilledWork {
    #[default]
    None,
    /// An engine read a prompt of this many tokens, and generated nothing.
    Prompt(u64),
    /// An engine had the request, and did not say how much it generated: as much as was expected.
    Unknown,
}

impl UnbilledWork {
    /// The tokens of a call that was expected to use `expected`.
    fn tokens(self, expected: u64) -> u64 {
        match self {
            Self::None => 0,
            Self::Prompt(tokens) => tokens,
            Self::Unknown => expected,
        }
    }
}

/// Settles on [`Permit::settle`], or on drop as if the call had used nothing. Boxed when it is made, because it moves with
/// the call.
pub(crate) struct Permit {
    rate_limits: Option<RateLimitStatus>,
    limit: Option<u64>,
    /// Tokens that the call may generate before more are charged.
    charged_completion: u64,
    /// The number of responses that the engine generates at the same time.
    choices: u64,
    /// The most tokens that an engine can generate.
    most_completion: u64,
    /// Those that it can generate before its response says how many they are.
    unseen_completion: u64,
    metered: Option<Metered>,
    /// Counts the call at its dedicated endpoint until the permit is dropped.
    _visit: Option<OpenCall>,
    /// Counts the call for its workspace until the permit is dropped.
    _running: Option<RunningCall>,
    /// Space for the usage event of the call, which is appended before the permit is dropped.
    _room: Option<JournalRoom>,
}

pub(super) struct Metered {
    pub(super) rate_limiter: RateLimiter,
    /// `None` for a call without rate limits.
    pub(super) debit: Option<Debit>,
    pub(super) reservation: Reservation,
    pub(super) budgets: Option<Box<BudgetReservations>>,
    pub(super) average: CompletionAverage,
}

impl Permit {
    pub(super) fn metered(
        metered: Metered,
        rate_limits: RateLimitStatus,
        limit: Option<u64>,
        charged_completion: u64,
    ) -> Box<Self> {
        Box::new(Self {
            rate_limits: Some(rate_limits),
            limit,
            charged_completion,
            choices: 1,
            most_completion: 0,
            unseen_completion: 0,
            metered: Some(metered),
            _visit: None,
            _running: None,
            _room: None,
        })
    }

    /// For calls to dedicated endpoints, which have neither limits nor quota.
    pub(crate) fn unmetered(visit: OpenCall, limit: Option<u64>) -> Box<Self> {
        let charged_completion = u64::MAX - 1;
        Box::new(Self {
            rate_limits: None,
            limit,
            charged_completion,
            choices: 1,
            most_completion: 0,
            unseen_completion: 0,
            metered: None,
            _visit: Some(visit),
            _running: None,
            _room: None,
        })
    }

    pub(crate) fn counting(mut self: Box<Self>, running: Option<RunningCall>, room: JournalRoom) -> Box<Self> {
        self._running = running;
        self._room = Some(room);
        self
    }

    /// The engine generates this many choices and up to `most` tokens. Of a stream, each chunk says how many they are; else
    /// all are unseen until the end.
    pub(crate) fn generating(mut self: Box<Self>, choices: u64, most: u64, is_stream: bool) -> Box<Self> {
        self.choices = choices.max(1);
        let granted = self.limit.unwrap_or(u64::MAX).saturating_mul(self.choices);
        self.most_completion = most.min(granted);
        self.unseen_completion = if is_stream { 0 } else { self.most_completion };
        self
    }

    /// The number of responses that the engine generates at the same time.
    pub(crate) fn choices(&self) -> u64 {
        self.choices
    }

    /// The most tokens that an engine can generate.
    pub(crate) fn most_completion(&self) -> u64 {
        self.most_completion
    }

    /// The most tokens that an engine can generate before its response says how many they are.
    pub(crate) fn unseen_completion(&self) -> u64 {
        self.unseen_completion
    }

    /// The rate limits after this call was admitted.
    pub(crate) fn rate_limits(&self) -> Option<RateLimitStatus> {
        self.rate_limits
    }

    /// The token limit per choice that the engine must get; `None` if the call has its own.
    pub(crate) fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// The tokens that the call is expected to generate; `None` if it is not metered.
    pub(crate) fn expected_completion(&self) -> Option<u64> {
        self.metered.is_some().then_some(self.charged_completion)
    }

    /// Sends the call without [`Self::limit`] from now on. Returns whether there was one.
    pub(crate) fn drop_limit(&mut self) -> bool {
        self.limit.take().is_some()
    }

    /// Charges the tokens generated so far, in one charge however many they are: an engine chooses this number. Returns
    /// the count at which to call this again.
    pub(crate) fn progress(&mut self, completion: u64) -> u64 {
        if let Some(metered) = &mut self.metered
            && completion > self.charged_completion
        {
            let more = (completion - self.charged_completion).div_ceil(STEP).saturating_mul(STEP);
            if let Some(debit) = &mut metered.debit {
                metered.rate_limiter.take_more(debit, more);
            }
            self.charged_completion = self.charged_completion.saturating_add(more);
        }
        self.charged_completion.saturating_add(1)
    }

    pub(crate) fn settle(mut self: Box<Self>, used: UsedTokens, now: Instant) {
        self.close(used, now);
    }

    fn close(&mut self, used: UsedTokens, now: Instant) {
        if let Some(Metered { rate_limiter, debit, reservation, budgets, average }) = self.metered.take() {
            if let Some(tokens) = used.whole_completion {
                average.learn(tokens / self.choices);
            }
            let billed = used.billed.total();
            if let Some(debit) = debit {
                let worked = billed.max(used.unbilled.tokens(debit.charge.tokens));
                rate_limiter.settle(debit, Settlement::Used(worked), now);
            }
            reservation.settle(billed, now);
            if let Some(budgets) = budgets {
                budgets.settle(used.billed, now);
            }
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.metered.is_some() {
            self.close(UsedTokens::default(), Instant::now());
        }
    }
}
