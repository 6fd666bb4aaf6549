//! Decides whether a call may start: running calls and journal space for every call; per-minute limits and monthly quota
//! for calls to serverless models, which calls to dedicated endpoints skip.

mod budget;
mod charge;
mod completion_averages;
mod full_workspaces;
mod lease;
mod lease_table;
mod memory;
mod permit;
mod quota;
mod rate_limiter;
mod redis;
mod running;
mod shards;

pub use self::redis::{PING_PERIOD, RedisLimits, RedisPing, redis_time};
pub use completion_averages::CompletionAverages;
pub(crate) use permit::{Permit, UnbilledWork, UsedTokens};
pub use quota::{Quota, RENEW_PERIOD};
pub use rate_limiter::RateLimiter;
pub(crate) use running::{RunningCall, RunningCount, TooManyCallsError};
pub use running::{RunningCalls, RunningCounts};

use crate::error::{CallError, ShortBudget};
use crate::request::TokenEstimate;
pub(crate) use charge::ChargedCall;
use charge::{Charge, Debit, Settlement};
use domain::budget::{BudgetPeriod, BudgetWindow};
use domain::limits::{Exceeded, PerMinute, RateLimitStatus};
use domain::quota::{AccountOwner, TokenBound};
use domain::workspace::Limits;
use domain::{CallClass, CallPrice, Caller, EndUserId, Model, NanoUsd, RequestId, Timestamp};
use lease::LeasedAccount;
use permit::Metered;
use quota::QuotaError;
use std::sync::Arc;
use std::time::Instant;
use store::Journal;

/// The bound of the shortest prompt, in tokens: a message without text.
const SHORTEST_PROMPT: u64 = 64;

/// The admission of one core.
#[derive(Clone)]
pub struct Admission {
    pub rate_limiter: RateLimiter,
    pub quota: Quota,
    pub journal: Journal,
    pub defaults: Limits,
    pub running: RunningCalls,
    /// Counts of tokens at shared models.
    pub counting: RunningCounts,
    pub averages: CompletionAverages,
}

/// A call that asks for admission.
pub(crate) struct AskedCall {
    pub(crate) request: RequestId,
    pub(crate) class: CallClass,
    /// Its request was taken from the per-minute limits before.
    pub(crate) is_counted: bool,
    pub(crate) now: Timestamp,
    /// Zero if it is not a search.
    pub(crate) search_price: NanoUsd,
    pub(crate) end_user: Option<EndUserId>,
}

impl Admission {
    /// All or nothing: a call that is rejected here has taken nothing from any limit.
    pub(crate) async fn admit(
        &self,
        caller: &Arc<Caller>,
        model: &Model,
        estimate: &TokenEstimate,
        AskedCall { request, class, is_counted, now, search_price, end_user }: AskedCall,
    ) -> Result<Box<Permit>, CallError> {
        let per_minute = self.per_minute(caller);
        let average = self.averages.of(&caller.workspace, &model.id);
        let (tokens, completion) = estimate.expected(model.context_length, per_minute.tokens, average.tokens());
        let of = ChargedCall { model: Some(&model.id), end_user: end_user.as_ref() };
        let (debit, rate_limits) = match class {
            CallClass::Interactive | CallClass::Flex => {
                let charge = Charge::new(caller, per_minute, of, request).with_tokens(tokens);
                let charge = if is_counted { charge.of_counted() } else { charge };
                let taken = self.rate_limiter.take(charge).await;
                let (debit, rate_limits) = taken.map_err(|exceeded| rate_limited(caller, of, &exceeded))?;
                (Some(debit), rate_limits)
            }
            // Batches count against the quota only.
            CallClass::Batch => (None, self.rate_limiter.look(caller, per_minute).await),
        };
        let debit = PendingDebit { rate_limiter: &self.rate_limiter, debit };
        let bound = estimate.bound(model.context_length);
        let reserved = self.quota.reserve(caller, &bound, now).await;
        let rejected = |error| rejection(caller, error, now, rate_limits);
        let reservation = reserved.map_err(rejected)?;
        let mut granted = bound.clamped(reservation.amount).completion.min(bound.completion);
        let mut budgets = None;
        if caller.budgets.is_some() || caller.has_monthly_budget || end_user.is_some() {
            let price = CallPrice { tokens: model.price_of(class), search: search_price };
            let reserved = Box::pin(self.quota.reserve_budgets(caller, price, &bound, now, end_user.as_ref())).await;
            budgets = reserved.map_err(rejected)?;
            granted = budgets.as_ref().map_or(granted, |budgets| granted.min(budgets.limit(&bound).completion));
        }
        let limit = estimate.limit_to_send(granted);
        let rate_limiter = self.rate_limiter.clone();
        let metered = Metered { rate_limiter, debit: debit.keep(), reservation, budgets, average };
        Ok(Permit::metered(metered, rate_limits, limit, completion))
    }

    /// Takes one request and no tokens from the per-minute limits, for a call that generates nothing.
    pub(crate) async fn admit_free(
        &self,
        caller: &Caller,
        of: ChargedCall<'_>,
        request: RequestId,
    ) -> Result<RateLimitStatus, CallError> {
        let per_minute = self.per_minute(caller);
        let taken = self.rate_limiter.take(Charge::new(caller, per_minute, of, request)).await;
        let (debit, rate_limits) = taken.map_err(|exceeded| rate_limited(caller, of, &exceeded))?;
        self.rate_limiter.settle(debit, Settlement::Used(0), Instant::now());
        Ok(rate_limits)
    }

    /// An error if a budget has nothing left for the shortest line of a batch at this model.
    pub(crate) async fn check_budgets(&self, caller: &Caller, model: &Model, now: Timestamp) -> Result<(), CallError> {
        let class = CallClass::Batch;
        let price = CallPrice { tokens: model.price_of(class), search: model.search_price_of(class) };
        let shortest = TokenBound { prompt: SHORTEST_PROMPT, completion: 0, choices: 1 };
        let Err(error) = self.quota.reserve_budgets(caller, price, &shortest, now, None).await else { return Ok(()) };
        let rate_limits = self.rate_limiter.look(caller, self.per_minute(caller)).await;
        Err(rejection(caller, error, now, rate_limits))
    }

    fn per_minute(&self, caller: &Caller) -> PerMinute {
        let limits = caller.workspace_limits.over(&self.defaults);
        PerMinute { requests: limits.requests_per_minute, tokens: limits.tokens_per_minute }
    }
}

fn rate_limited(caller: &Caller, of: ChargedCall<'_>, exceeded: &Exceeded) -> CallError {
    CallError::rate_limited(&charge::owner(caller, of, exceeded.scope), exceeded)
}

fn rejection(caller: &Caller, error: QuotaError, now: Timestamp, rate_limits: RateLimitStatus) -> CallError {
    match error {
        QuotaError::Spent { account, least, of } => match *of {
            LeasedAccount::Quota { month, .. } => {
                CallError::short_of_quota(caller, (&account, least), month, now, rate_limits)
            }
            LeasedAccount::Budget { key, period } => {
                let short = ShortBudget { whose: format!("key {key}"), period, account, least };
                CallError::short_of_budget(&short, now, rate_limits)
            }
            LeasedAccount::EndUser { end_user, period, .. } => {
                let short = ShortBudget { whose: format!("end user {end_user}"), period, account, least };
                CallError::short_of_budget(&short, now, rate_limits)
            }
            LeasedAccount::Spend { workspace, organization, month } => {
                let whose = match account.owner {
                    AccountOwner::Workspace => format!("workspace {workspace}"),
                    AccountOwner::Organization => format!("organization {organization}"),
                };
                let period = BudgetPeriod { window: BudgetWindow::Month, start: month.start() };
                CallError::short_of_budget(&ShortBudget { whose, period, account, least }, now, rate_limits)
            }
        },
        QuotaError::Unavailable { cause } => CallError::QuotaUnavailable { cause, rate_limits },
    }
}

/// A debit of the rate limits that is undone on drop, because the quota may still reject the call, and the client may
/// disconnect while the quota is checked.
struct PendingDebit<'a> {
    rate_limiter: &'a RateLimiter,
    /// `None` for a call without rate limits.
    debit: Option<Debit>,
}

impl PendingDebit<'_> {
    fn keep(mut self) -> Option<Debit> {
        self.debit.take()
    }
}

impl Drop for PendingDebit<'_> {
    fn drop(&mut self) {
        if let Some(debit) = self.debit.take() {
            self.rate_limiter.settle(debit, Settlement::Undone, Instant::now());
        }
    }
}

#[cfg(test)]
mod budget_tests;
#[cfg(test)]
mod tests;
