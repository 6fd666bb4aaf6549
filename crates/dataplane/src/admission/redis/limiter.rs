//! Buckets in Redis: one round trip before a call proceeds, settlement outside its path.
//!
//! If Redis does not respond in time, it is not used for a second. Meanwhile every node enforces its share of the limits
//! in memory, beginning with the last levels it saw, and hands over what it granted once Redis is back
//! (`domain::limits::NodeBuckets`). A charge whose response was lost is undone. A reservation that is never settled
//! expires, and its bucket recovers by refilling.

use super::connection::{CoreConnection, OpenConnection};
use super::limits::RedisLimits;
use super::node_views::CarriedScope;
use super::protocol::{RESERVATION_SECS, bucket_keys, look_key, reservation_key};
use super::settler::{Settler, Work};
use crate::admission::charge::{Charge, Debit, DebitSource, Settlement};
use domain::limits::{CarriedLevel, Exceeded, LimitStatus, RateLimitStatus, SharedLevels, Unit};
use redis::Script;
use std::sync::{Arc, LazyLock};
use std::time::Instant;
use tokio::time::timeout_at;

static TAKE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("take.lua")));

/// The limits as seen by one core, with its own connection.
pub struct RedisLimiter {
    limits: RedisLimits,
    connection: Arc<CoreConnection>,
}

/// The arguments of the script.
struct Question {
    keys: Vec<String>,
    scopes: Vec<CarriedScope>,
    requests: u64,
    tokens: u64,
    reservation: String,
    reservation_secs: u64,
}

impl RedisLimiter {
    pub(in crate::admission) fn new(limits: &RedisLimits) -> Self {
        Self { limits: limits.clone(), connection: Arc::new(CoreConnection::new(limits)) }
    }

    /// Takes a charge from Redis; from this node's share if Redis does not respond in time.
    pub(in crate::admission) async fn take(&self, charge: Charge) -> Result<(Debit, RateLimitStatus), Exceeded> {
        let now = Instant::now();
        let deadline = self.limits.deadline(now);
        let Some(connection) = self.connection.get(deadline).await else { return self.take_share(charge) };
        let cluster = self.limits.cluster(now);
        let question = Question {
            keys: bucket_keys(&charge),
            scopes: self.limits.views.carry(&charge, cluster, now),
            requests: charge.requests,
            tokens: charge.tokens,
            reservation: reservation_key(&charge),
            reservation_secs: RESERVATION_SECS,
        };
        let unconfirmed = UnconfirmedCharge { settler: &self.limits.settler, charge: Some(charge.clone()) };
        match self.ask(connection, deadline, question).await {
            Some(levels) => {
                unconfirmed.confirm();
                self.limits.views.note_response(&charge, cluster.nodes, levels.scopes());
                let status = levels.check(&charge)?;
                Ok((Debit { charge, source: DebitSource::Redis }, status))
            }
            None => self.take_share(charge),
        }
    }

    fn take_share(&self, charge: Charge) -> Result<(Debit, RateLimitStatus), Exceeded> {
        let status = self.limits.views.take_share(&charge, self.limits.nodes())?;
        Ok((Debit { charge, source: DebitSource::Share }, status))
    }

    pub(in crate::admission) async fn look(&self, charge: Charge) -> RateLimitStatus {
        let now = Instant::now();
        let deadline = self.limits.deadline(now);
        let levels = match self.connection.get(deadline).await {
            Some(connection) => {
                let cluster = self.limits.cluster(now);
                let question = Question {
                    keys: bucket_keys(&charge),
                    scopes: self.limits.views.carry(&charge, cluster, now),
                    requests: 0,
                    tokens: 0,
                    reservation: look_key(&charge.home),
                    reservation_secs: 1,
                };
                self.ask(connection, deadline, question).await
            }
            None => None,
        };
        match levels {
            Some(levels) => levels.status(&charge),
            None => self.limits.views.look(&charge, self.limits.nodes()),
        }
    }

    /// Raises the reservation of the call by `more` tokens, to those of its charge.
    pub(in crate::admission) fn take_more(&self, charge: &Charge, more: i64, now: Instant) {
        self.limits.views.settle_shared(charge, 0, -more, now);
        self.limits.settler.push(Work::Raise(charge.clone()));
    }

    pub(in crate::admission) fn settle(&self, charge: Charge, settlement: Settlement) {
        self.limits.settler.push(Work::Settle(charge, settlement));
    }

    /// Notes what a settlement returns to the buckets in Redis.
    pub(in crate::admission) fn note_settlement(&self, charge: &Charge, requests: i64, tokens: i64, now: Instant) {
        self.limits.views.settle_shared(charge, requests, tokens, now);
    }

    /// Returns requests and tokens to this node's share; takes them if negative.
    pub(in crate::admission) fn settle_share(&self, charge: &Charge, requests: i64, tokens: i64, now: Instant) {
        self.limits.views.settle_share(charge, self.limits.nodes(), requests, tokens, now);
    }

    /// Runs the script. `None` if Redis does not respond in time.
    async fn ask(
        &self,
        mut connection: OpenConnection,
        deadline: tokio::time::Instant,
        question: Question,
    ) -> Option<BucketLevels> {
        let Question { keys, scopes, requests, tokens, reservation, reservation_secs } = question;
        let mut call = TAKE.prepare_invoke();
        for key in &keys {
            call.key(key);
        }
        call.key(reservation);
        for CarriedScope { limits, carried } in scopes {
            let buckets = [(limits.requests, requests, carried.requests), (limits.tokens, tokens, carried.tokens)];
            for (capacity, cost, CarriedLevel { start_milli, drawn_milli }) in buckets {
                call.arg(capacity).arg(cost).arg(start_milli).arg(drawn_milli);
            }
        }
        call.arg(tokens).arg(reservation_secs);
        match timeout_at(deadline, call.invoke_async::<Vec<i64>>(&mut connection.redis)).await {
            Ok(Ok(response)) if response.len() >= 4 => {
                self.limits.note_response();
                return Some(BucketLevels(response));
            }
            Ok(Ok(_)) => self.connection.close("malformed response"),
            Ok(Err(error)) => self.connection.close(&error),
            Err(_elapsed) if connection.is_new => {}
            Err(_elapsed) => self.connection.close("response timeout"),
        }
        None
    }
}

/// A charge sent to Redis. If its response is lost, because of a timeout or a client that disconnected, Redis may have
/// taken it nevertheless, so it is undone on drop.
struct UnconfirmedCharge<'a> {
    settler: &'a Settler,
    charge: Option<Charge>,
}

impl UnconfirmedCharge<'_> {
    fn confirm(mut self) {
        self.charge = None;
    }
}

impl Drop for UnconfirmedCharge<'_> {
    fn drop(&mut self) {
        if let Some(charge) = self.charge.take() {
            self.settler.push(Work::Settle(charge, Settlement::Undone));
        }
    }
}

/// The response of the script: milliseconds to wait, the number of the bucket that requires it, and the levels.
///
/// Example: `[1500, 2, 59, -40]` means that the second bucket (tokens of the home) is 40 below zero, and that the
/// call may be tried again in 1.5 s. `[0, 0, 58, 900]` means that the call was admitted.
struct BucketLevels(Vec<i64>);

impl BucketLevels {
    fn check(&self, charge: &Charge) -> Result<RateLimitStatus, Exceeded> {
        let rate_limits = self.status(charge);
        let wait_millis = self.0[0].max(0).unsigned_abs();
        if wait_millis == 0 {
            return Ok(rate_limits);
        }
        let slowest = usize::try_from(self.0[1]).unwrap_or(1).clamp(1, self.0.len() - 2) - 1;
        let unit = if slowest.is_multiple_of(2) { Unit::Requests } else { Unit::Tokens };
        let (scope, limits) = charge.limits().nth(slowest / 2).unwrap_or((charge.home_scope(), charge.home_limits));
        let limit = if unit == Unit::Requests { limits.requests } else { limits.tokens };
        let used = i64::try_from(limit).unwrap_or(i64::MAX).saturating_sub(self.0[slowest + 2]);
        Err(Exceeded { scope, unit, limit, used: used.max(0).unsigned_abs(), wait_millis, rate_limits })
    }

    /// In the order of [`Charge::limits`].
    fn scopes(&self) -> impl Iterator<Item = SharedLevels> {
        self.0[2..].chunks_exact(2).map(|levels| SharedLevels { requests: levels[0], tokens: levels[1] })
    }

    fn status(&self, charge: &Charge) -> RateLimitStatus {
        let scopes = self.scopes().zip(charge.limits()).map(|(levels, (_, limits))| RateLimitStatus {
            requests: LimitStatus::of_level(limits.requests, levels.requests),
            tokens: LimitStatus::of_level(limits.tokens, levels.tokens),
        });
        scopes.reduce(RateLimitStatus::tighter).expect("the response has the buckets of the home")
    }
}

#[cfg(test)]
#[path = "limiter_tests.rs"]
mod tests;
