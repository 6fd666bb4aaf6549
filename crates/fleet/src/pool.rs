//! The replicas of one model, and which of them a call goes to.
//!
//! Calls that begin alike go to the same replica, where their prefix may still be in the cache, as long as that one is
//! not busier than the others by more than a bound. Otherwise the less busy of two is taken.

use crate::backend::{Backend, BackendId, Health};
use crate::breaker::Breaker;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::time::Instant;

/// A replica is kept for its prefix while its load is within this many quarters of the average, and one.
const AFFINITY_QUARTERS: u64 = 5;

#[derive(Debug, Default)]
pub struct Pool {
    replicas: Vec<Arc<Backend>>,
}

/// How a model is, from the health of its replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Available,
    Degraded,
    Unavailable,
}

impl Standing {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Degraded => "degraded",
            Self::Unavailable => "unavailable",
        }
    }
}

/// No replica can take a call now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no replica can take a call")]
pub struct Unavailable;

/// A place at a replica, given back when dropped.
#[derive(Debug)]
pub struct Lease {
    replica: Arc<Backend>,
    /// This call tries whether a failing replica has recovered.
    is_trial: bool,
}

impl Lease {
    pub fn replica(&self) -> &Arc<Backend> {
        &self.replica
    }
}

impl Drop for Lease {
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

    pub fn standing(&self) -> Standing {
        let up = self.replicas.iter().filter(|replica| replica.health() != Health::Down);
        let (mut reachable, mut well) = (0, 0);
        for replica in up {
            reachable += 1;
            well += usize::from(replica.breaker(|breaker| breaker.is_closed()));
        }
        match (reachable, well) {
            (0, _) => Standing::Unavailable,
            (_, well) if well == self.replicas.len() => Standing::Available,
            _ => Standing::Degraded,
        }
    }

    /// A place for a call that begins with `prefix`, elsewhere than where it was `tried`.
    pub fn pick(&self, prefix: &[u8], tried: &[BackendId], now: Instant) -> Result<Lease, Unavailable> {
        let usable = |replica: &Arc<Backend>| {
            replica.health() != Health::Down && replica.has_room() && !tried.contains(&replica.id)
        };
        if let [only] = &self.replicas[..] {
            // With nowhere else to go a bad answer is better than none, so the breaker has no say.
            return if usable(only) { take(only, false) } else { Err(Unavailable) };
        }
        let candidates: Vec<&Arc<Backend>> = self.replicas.iter().filter(|replica| usable(replica)).collect();
        let admitted: Vec<&Arc<Backend>> = {
            let closed: Vec<_> =
                candidates.iter().copied().filter(|replica| replica.breaker(|breaker| breaker.is_closed())).collect();
            let trial = candidates
                .iter()
                .copied()
                .find(|replica| replica.breaker(|breaker| !breaker.is_closed() && breaker.admits(now)));
            if let Some(trial) = trial {
                return take(trial, true);
            }
            if closed.is_empty() { candidates } else { closed }
        };
        choose(&admitted, prefix).map_or(Err(Unavailable), |replica| take(replica, false))
    }
}

fn take(replica: &Arc<Backend>, is_trial: bool) -> Result<Lease, Unavailable> {
    if replica.enter() { Ok(Lease { replica: Arc::clone(replica), is_trial }) } else { Err(Unavailable) }
}

/// The replica for a prefix while its load is within bounds, else the less busy of two.
fn choose<'a>(replicas: &[&'a Arc<Backend>], prefix: &[u8]) -> Option<&'a Arc<Backend>> {
    if replicas.len() < 2 {
        return replicas.first().copied();
    }
    let hasher = BuildHasherDefault::<DefaultHasher>::new();
    let weight = |replica: &Arc<Backend>| hasher.hash_one((prefix, &replica.name));
    let home = replicas.iter().copied().max_by_key(|replica| weight(replica))?;
    let total: u64 = replicas.iter().map(|replica| u64::from(replica.in_flight())).sum();
    let average_quarters = total * AFFINITY_QUARTERS / replicas.len() as u64;
    if u64::from(home.in_flight()) * 4 <= average_quarters + 4 {
        return Some(home);
    }
    let first = fastrand::usize(..replicas.len());
    let second = (first + fastrand::usize(1..replicas.len())) % replicas.len();
    let [first, second] = [replicas[first], replicas[second]];
    Some(if first.in_flight() <= second.in_flight() { first } else { second })
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

    fn pick(pool: &Pool, prefix: &str) -> Option<Lease> {
        pool.pick(prefix.as_bytes(), &[], Instant::now()).ok()
    }

    #[test]
    fn calls_that_begin_alike_go_to_one_replica_until_it_is_too_busy() {
        let pool = pool(4, None);
        let home = pick(&pool, "hello").unwrap().replica().name.clone();
        for _ in 0..20 {
            assert_eq!(pick(&pool, "hello").unwrap().replica().name, home);
        }
        let held: Vec<Lease> = (0..400).map(|_| pick(&pool, "hello").unwrap()).collect();
        let most = pool.replicas().iter().map(|replica| replica.in_flight()).max().unwrap();
        assert!(most <= 130, "one replica holds {most} of {}", held.len());
        drop(held);
        assert!(pool.replicas().iter().all(|replica| replica.in_flight() == 0));
    }

    #[test]
    fn the_cap_holds_and_a_full_pool_says_so() {
        let pool = pool(2, Some(3));
        let held: Vec<Lease> = (0..6).map(|_| pick(&pool, "x").unwrap()).collect();
        assert!(pick(&pool, "x").is_none());
        drop(held);
        assert!(pick(&pool, "x").is_some());
    }

    #[test]
    fn what_is_down_is_not_asked_and_the_standing_tells() {
        let pool = pool(2, None);
        assert_eq!(pool.standing(), Standing::Available);
        pool.replicas()[0].unreachable();
        assert_eq!(pool.standing(), Standing::Degraded);
        for prefix in ["a", "b", "c", "d"] {
            assert_eq!(&*pick(&pool, prefix).unwrap().replica().name, "r1");
        }
        pool.replicas()[1].unreachable();
        assert_eq!(pool.standing(), Standing::Unavailable);
        assert!(pick(&pool, "a").is_none());
    }

    #[test]
    fn a_replica_that_keeps_failing_is_left_alone_while_there_is_another() {
        let pool = pool(2, None);
        let now = Instant::now();
        for _ in 0..5 {
            pool.replicas()[0].failed(now);
        }
        for prefix in ["a", "b", "c", "d"] {
            assert_eq!(&*pool.pick(prefix.as_bytes(), &[], now).unwrap().replica().name, "r1");
        }
        let later = now + Duration::from_secs(2);
        let trial = pool.pick(b"a", &[], later).unwrap();
        assert_eq!(&*trial.replica().name, "r0", "one call tries it again");
        assert_eq!(&*pool.pick(b"a", &[], later).unwrap().replica().name, "r1");
        for _ in 0..5 {
            pool.replicas()[1].failed(later);
        }
        assert!(pool.pick(b"a", &[trial.replica().id], later).is_ok(), "with nothing better, a bad one is used");
    }

    #[test]
    fn a_retry_goes_elsewhere_or_nowhere() {
        let two = pool(2, None);
        let first = pick(&two, "x").unwrap();
        let second = two.pick(b"x", &[first.replica().id], Instant::now()).unwrap();
        assert_ne!(first.replica().name, second.replica().name);
        let one = pool(1, None);
        let only = pick(&one, "x").unwrap();
        assert!(one.pick(b"x", &[only.replica().id], Instant::now()).is_err());
    }
}
