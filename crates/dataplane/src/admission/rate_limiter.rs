//! Per-minute limits: takes the expected cost of a call and returns what the call did not use.

use super::charge::{Charge, ChargedCall, Debit, DebitSource, Settlement};
use super::memory::MemoryLimits;
use super::redis::{RedisLimiter, RedisLimits};
use domain::limits::{Exceeded, PerMinute, RateLimitStatus};
use domain::{Caller, RequestId, Timestamp};
use std::sync::Arc;
use std::time::Instant;

/// Where the buckets are kept.
#[derive(Clone)]
pub enum RateLimiter {
    /// In this process, if it is the only node.
    Memory(Arc<MemoryLimits>),
    /// In Redis, shared by all nodes.
    Redis(Arc<RedisLimiter>),
}

impl RateLimiter {
    pub fn in_memory() -> Self {
        Self::Memory(Arc::default())
    }

    /// The limiter of one core, with its own connection to Redis.
    pub fn on_redis(limits: &RedisLimits) -> Self {
        Self::Redis(Arc::new(RedisLimiter::new(limits)))
    }

    /// Takes the request and the tokens from every bucket, or nothing from any.
    pub(super) async fn take(&self, charge: Charge) -> Result<(Debit, RateLimitStatus), Exceeded> {
        match self {
            Self::Memory(memory) => {
                let status = memory.take(&charge)?;
                Ok((Debit { charge, source: DebitSource::Memory }, status))
            }
            // Boxed: otherwise the future of every call would be as large as this one.
            Self::Redis(redis) => Box::pin(redis.take(charge)).await,
        }
    }

    /// Takes more tokens for a stream that exceeds its expected length.
    pub(super) fn take_more(&self, debit: &mut Debit, tokens: u64) {
        debit.charge.tokens = debit.charge.tokens.saturating_add(tokens);
        match (self, debit.source) {
            (Self::Memory(memory), _) => memory.give(&debit.charge, 0, -signed(tokens), Instant::now()),
            (Self::Redis(redis), DebitSource::Share) => {
                redis.settle_share(&debit.charge, 0, -signed(tokens), Instant::now());
            }
            (Self::Redis(redis), DebitSource::Redis | DebitSource::Memory) => {
                redis.take_more(&debit.charge, signed(tokens), Instant::now());
            }
        }
    }

    pub(super) fn settle(&self, debit: Debit, settlement: Settlement, now: Instant) {
        let (requests, used) = match settlement {
            Settlement::Used(tokens) => (0, tokens),
            Settlement::Undone => (signed(debit.charge.requests), 0),
        };
        let unused = signed(debit.charge.tokens).saturating_sub(signed(used));
        match (self, debit.source) {
            (Self::Memory(memory), _) => memory.give(&debit.charge, requests, unused, now),
            (Self::Redis(redis), DebitSource::Share) => redis.settle_share(&debit.charge, requests, unused, now),
            (Self::Redis(redis), DebitSource::Redis | DebitSource::Memory) => {
                redis.note_settlement(&debit.charge, requests, unused, now);
                redis.settle(debit.charge, settlement);
            }
        }
    }

    /// The current status of the limits of a caller, whose workspace has `limits`, without taking anything.
    pub async fn look(&self, caller: &Caller, limits: PerMinute) -> RateLimitStatus {
        let charge = Charge::new(caller, limits, ChargedCall::default(), RequestId::new(Timestamp::default(), 0));
        match self {
            Self::Memory(memory) => memory.look(&charge),
            Self::Redis(redis) => redis.look(charge).await,
        }
    }
}

fn signed(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}
