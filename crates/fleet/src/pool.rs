//! The replicas of one model, and the choice of one for a call.
//!
//! Calls with the same prefix go to the same replica, whose prefix cache may still have it, unless that replica is
//! busier than the average by more than a bound. Then the less busy of two random replicas is used.

use crate::backend::{Backend, BackendId, Health};
use crate::breaker::Breaker;
use domain::named_enum;
use foldhash::quality::FixedState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Instant;

/// A replica keeps the calls of its prefixes while its load is at most this many quarters of the average, plus one.
const AFFINITY_QUARTERS: u64 = 5;

/// Calls with equal affinity go to the same replica if it is not too busy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Affinity<'a> {
    /// The workspace, if it shares no cached prefixes with others; else empty.
    pub tenant: &'a str,
    /// The start of the prompt.
    pub prefix: &'a [u8],
}

#[derive(Debug, Default)]
pub struct Pool {
    replicas: Vec<Arc<Backend>>,
}

named_enum! {
    /// The availability of a model, from the health of its replicas.
    pub enum Availability {
        Available = "available",
        Degraded = "degraded",
        Unavailable = "unavailable",
    }
}

/// No replica can accept a call now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no replica can accept a call")]
pub struct PickError;

/// The place of one call at a replica, released on drop.
#[derive(Debug)]
pub struct Slot {
    replica: Arc<Backend>,
    /// The call tests whether a failing replica has recovered.
    is_trial: bool,
}

impl Slot {
    pub fn replica(&self) -> &Arc<Backend> {
        &self.replica
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.is_trial {
            self.replica.breaker(Breaker::undecided);
        }
        self.replica.leave();
    }
}

impl Pool {
    pub fn new(replicas: Vec<Arc<Backend>>) -> Self {
        Self { replicas }
    }

    pub fn replicas(&self) -> &[Arc<Backend>] {
        &self.replicas
    }

    pub fn availability(&self) -> Availability {
        let up = self.replicas.iter().filter(|replica| replica.health() != Health::Down);
        let (mut reachable, mut healthy) = (0, 0);
        for replica in up {
            reachable += 1;
            healthy += usize::from(replica.breaker(|breaker| breaker.is_closed()));
        }
        match (reachable, healthy) {
            (0, _) => Availability::Unavailable,
            (_, healthy) if healthy == self.replicas.len() => Availability::Available,
            _ => Availability::Degraded,
        }
    }

    /// A slot for a call with this affinity, at a replica that it has not `tried`.
    pub fn pick(&self, affinity: Affinity<'_>, tried: &[BackendId], now: Instant) -> Result<Slot, PickError> {
        let is_usable = |replica: &Arc<Backend>| {
            replica.health() != Health::Down && replica.has_room() && !tried.contains(&replica.id)
        };
        if let [only] = &self.replicas[..] {
            // The breaker is ignored: without another replica, a bad response is better than none.
            return if is_usable(only) { take(only, false) } else { Err(PickError) };
        }
        let prefix_hash = FixedState::default().hash_one(affinity);
        let (mut closed, mut open) = (Candidates::default(), Candidates::default());
        for replica in self.replicas.iter().filter(|replica| is_usable(replica)) {
            let (is_closed, is_trial) = replica.breaker(|breaker| match breaker.is_closed() {
                true => (true, false),
                false => (false, breaker.admits(now)),
            });
            if is_trial {
                return take(replica, true);
            }
            if is_closed { &mut closed } else { &mut open }.add(replica, prefix_hash);
        }
        // With every breaker open, a failing replica is better than none.
        let (candidates, needs_closed) = if closed.count > 0 { (closed, true) } else { (open, false) };
        let (_, home) = candidates.home.ok_or(PickError)?;
        if candidates.count == 1 || candidates.is_within_bound(home) {
            return take(home, false);
        }
        let is_candidate = |replica: &&Arc<Backend>| {
            is_usable(replica) && replica.breaker(|breaker| breaker.is_closed()) == needs_closed
        };
        let nth = |index: usize| self.replicas.iter().filter(is_candidate).nth(index).unwrap_or(home);
        let first = fastrand::usize(..candidates.count);
        let second = (first + fastrand::usize(1..candidates.count)) % candidates.count;
        let [first, second] = [nth(first), nth(second)];
        take(if first.in_flight() <= second.in_flight() { first } else { second }, false)
    }
}

fn take(replica: &Arc<Backend>, is_trial: bool) -> Result<Slot, PickError> {
    if replica.enter() { Ok(Slot { replica: Arc::clone(replica), is_trial }) } else { Err(PickError) }
}

/// The replicas that may serve a call, counted without collecting them.
#[derive(Default)]
struct Candidates<'a> {
    count: usize,
    in_flight: u64,
    /// The replica with the largest weight for the prefix (rendezvous hashing): every node prefers the same one, and it
    /// only changes for prefixes of replicas that come or go.
    home: Option<(u64, &'a Arc<Backend>)>,
}

impl<'a> Candidates<'a> {
    fn add(&mut self, replica: &'a Arc<Backend>, prefix_hash: u64) {
        self.count += 1;
        self.in_flight += u64::from(replica.in_flight());
        let weight = FixedState::default().hash_one((prefix_hash, &replica.name));
        if self.home.is_none_or(|(largest, _)| weight >= largest) {
            self.home = Some((weight, replica));
        }
    }

    fn is_within_bound(&self, home: &Backend) -> bool {
        let average_quarters = self.in_flight * AFFINITY_QUARTERS / self.count as u64;
        u64::from(home.in_flight()) * 4 <= average_quarters + 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::model::Upstream;
    use std::time::Duration;

    fn pool(count: usize, max_in_flight: Option<u32>) -> Pool {
        let replica = |index: usize| {
            let upstream =
                Upstream { max_in_flight, ..Upstream::plain(format!("http://127.0.0.1:{}/v1", 9000 + index), "m") };
            Arc::new(Backend::new(&format!("r{index}"), upstream).unwrap())
        };
        Pool::new((0..count).map(replica).collect())
    }

    fn affinity(prefix: &str) -> Affinity<'_> {
        Affinity { tenant: "", prefix: prefix.as_bytes() }
    }

    fn pick(pool: &Pool, prefix: &str) -> Option<Slot> {
        pool.pick(affinity(prefix), &[], Instant::now()).ok()
    }

    #[test]
    fn tenants_that_share_no_cache_are_spread_over_the_replicas() {
        let pool = pool(4, None);
        let tenants: Vec<String> = (0..64).map(|number| format!("ws_{number}")).collect();
        let home = |tenant: &str| {
            let affinity = Affinity { tenant, ..affinity("You are a helpful assistant") };
            pool.pick(affinity, &[], Instant::now()).unwrap().replica().name.clone()
        };
        let homes: std::collections::HashSet<_> = tenants.iter().map(|tenant| home(tenant)).collect();
        assert_eq!(homes.len(), 4);
        assert_eq!(home("ws_1"), home("ws_1"));
    }

    #[test]
    fn calls_with_the_same_prefix_go_to_one_replica_until_it_is_too_busy() {
        let pool = pool(4, None);
        let home = pick(&pool, "hello").unwrap().replica().name.clone();
        for _ in 0..20 {
            assert_eq!(pick(&pool, "hello").unwrap().replica().name, home);
        }
        let held: Vec<Slot> = (0..400).map(|_| pick(&pool, "hello").unwrap()).collect();
        let most = pool.replicas().iter().map(|replica| replica.in_flight()).max().unwrap();
        assert!(most <= 130, "one replica holds {most} of {}", held.len());
        drop(held);
        assert!(pool.replicas().iter().all(|replica| replica.in_flight() == 0));
    }

    #[test]
    fn the_cap_is_enforced_and_a_full_pool_rejects_calls() {
        let pool = pool(2, Some(3));
        let held: Vec<Slot> = (0..6).map(|_| pick(&pool, "x").unwrap()).collect();
        assert!(pick(&pool, "x").is_none());
        drop(held);
        assert!(pick(&pool, "x").is_some());
    }

    #[test]
    fn replicas_that_are_down_get_no_calls_and_lower_the_availability() {
        let pool = pool(2, None);
        assert_eq!(pool.availability(), Availability::Available);
        pool.replicas()[0].unreachable();
        assert_eq!(pool.availability(), Availability::Degraded);
        for prefix in ["a", "b", "c", "d"] {
            assert_eq!(&*pick(&pool, prefix).unwrap().replica().name, "r1");
        }
        pool.replicas()[1].unreachable();
        assert_eq!(pool.availability(), Availability::Unavailable);
        assert!(pick(&pool, "a").is_none());
    }

    #[test]
    fn a_replica_that_keeps_failing_gets_no_calls_while_there_is_another() {
        let pool = pool(2, None);
        let now = Instant::now();
        for _ in 0..5 {
            pool.replicas()[0].failed(now);
        }
        for prefix in ["a", "b", "c", "d"] {
            assert_eq!(&*pool.pick(affinity(prefix), &[], now).unwrap().replica().name, "r1");
        }
        let later = now + Duration::from_secs(2);
        let trial = pool.pick(affinity("a"), &[], later).unwrap();
        assert_eq!(&*trial.replica().name, "r0", "one call tests it");
        assert_eq!(&*pool.pick(affinity("a"), &[], later).unwrap().replica().name, "r1");
        for _ in 0..5 {
            pool.replicas()[1].failed(later);
        }
        assert!(
            pool.pick(affinity("a"), &[trial.replica().id], later).is_ok(),
            "without a better one, a failing replica is used"
        );
    }

    #[test]
    fn a_retry_uses_another_replica_or_fails() {
        let two = pool(2, None);
        let first = pick(&two, "x").unwrap();
        let second = two.pick(affinity("x"), &[first.replica().id], Instant::now()).unwrap();
        assert_ne!(first.replica().name, second.replica().name);
        let one = pool(1, None);
        let only = pick(&one, "x").unwrap();
        assert!(one.pick(affinity("x"), &[only.replica().id], Instant::now()).is_err());
    }
}
