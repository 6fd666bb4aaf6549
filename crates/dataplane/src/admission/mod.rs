//! Who may be served, and how much: the limits by the minute, the monthly quota, and room in the journal.
//!
//! All of it is for serverless models; calls to dedicated endpoints do not come here.

mod lease;
mod memory;
mod minute;
mod permit;
mod quota;
mod settling;
mod shared;

pub use memory::Memory;
pub use minute::Minutes;
pub use permit::Permit;
pub use quota::Quota;
pub use shared::RedisLimits;

use crate::probe::Demand;
use crate::refusal::Refusal;
use domain::limits::PerMinute;
use domain::workspace::Limits;
use domain::{Caller, Model, RequestId, Timestamp};
use minute::{Charge, Settlement};
use permit::Served;
use quota::NoQuota;
use std::sync::Arc;
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
        let (tokens, completion) = demand.expected(per_minute.tokens);
        let charge = Charge::new(caller, per_minute, request, tokens);
        let taken = self.minutes.take(charge).await;
        let (debit, standings) = taken.map_err(|exceeded| Refusal::rate_limited(caller, &exceeded))?;
        let bound = demand.bound(model.context_length);
        match self.quota.reserve(&caller.workspace, &bound, now).await {
            Ok(reservation) => {
                let clamp = (reservation.tokens < bound.total()).then(|| bound.clamped(reservation.tokens).completion);
                let served = Served { minutes: self.minutes.clone(), debit, reservation };
                Ok(Permit::metered(served, standings, clamp, completion))
            }
            Err(refused) => {
                self.minutes.settle(debit, Settlement::Undone);
                Err(match refused {
                    NoQuota::Spent { account, month } => {
                        Refusal::quota_exceeded(caller, &account, month, now, standings)
                    }
                    NoQuota::Unavailable { cause } => Refusal::QuotaUnavailable { cause },
                })
            }
        }
    }
}
