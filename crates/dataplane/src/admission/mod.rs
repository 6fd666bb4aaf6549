//! Who may be served, and how much: the limits by the minute, the monthly quota, and room in the journal.
//!
//! All of it is for serverless models; calls to dedicated endpoints do not come here.

mod lease;
mod memory;
mod minute;
mod permit;
mod probe;
mod quota;
mod settling;
mod shared;

pub use memory::Memory;
pub use minute::Minutes;
pub use permit::Permit;
pub use probe::clock_of_redis;
pub use quota::Quota;
pub use shared::RedisLimits;

use crate::probe::Demand;
use crate::refusal::Refusal;
use domain::limits::PerMinute;
use domain::workspace::Limits;
use domain::{Caller, Model, RequestId, Timestamp};
use minute::{Charge, Debit, Settlement};
use permit::Served;
use quota::NoQuota;
use std::sync::Arc;
use std::time::Instant;
use store::Journal;

/// The admission of one core.
#[derive(Clone)]
pub struct Admission {
    pub minutes: Minutes,
    pub quota: Quota,
    pub journal: Journal,
    pub defaults: Limits,
}

impl Admission {
    /// All or nothing: a call that is refused here has taken nothing anywhere.
    pub(crate) async fn admit(
        &self,
        caller: &Arc<Caller>,
        model: &Model,
        demand: &Demand,
        request: RequestId,
        now: Timestamp,
    ) -> Result<Permit, Refusal> {
        if !self.journal.has_room() {
            return Err(Refusal::JournalFull);
        }
        let limits = caller.workspace_limits.over(&self.defaults);
        let per_minute = PerMinute { requests: limits.requests_per_minute, tokens: limits.tokens_per_minute };
        let (tokens, completion) = demand.expected(model.context_length, per_minute.tokens);
        let charge = Charge::new(caller, per_minute, request, tokens);
        let taken = self.minutes.take(charge).await;
        let (debit, standings) = taken.map_err(|exceeded| Refusal::rate_limited(caller, &exceeded))?;
        let taken = Taken { minutes: &self.minutes, debit: Some(debit) };
        let bound = demand.bound(model.context_length);
        let reservation =
            self.quota.reserve(&caller.workspace, &bound, now).await.map_err(|refused| match refused {
                NoQuota::Spent { account, month } => Refusal::quota_exceeded(caller, &account, month, now, standings),
                NoQuota::Unavailable { cause } => Refusal::QuotaUnavailable { cause, standings },
            })?;
        let clamp = (reservation.tokens < bound.total()).then(|| bound.clamped(reservation.tokens).completion);
        let served = Served { minutes: self.minutes.clone(), debit: taken.keep(), reservation };
        Ok(Permit::metered(served, standings, clamp, completion))
    }
}

/// What the limits by the minute have let in. It is undone unless it is kept: the quota may refuse the call, and its
/// client may leave while the quota is asked.
struct Taken<'a> {
    minutes: &'a Minutes,
    debit: Option<Debit>,
}

impl Taken<'_> {
    fn keep(mut self) -> Debit {
        self.debit.take().expect("it is kept once")
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if let Some(debit) = self.debit.take() {
            self.minutes.settle(debit, Settlement::Undone, Instant::now());
        }
    }
}

#[cfg(test)]
mod tests;
