//! Compares the costs of replicas.

use domain::named_enum;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a running call adds to the cost of a replica, in prompt tokens.
pub const RUNNING_TOKENS: u64 = 64;

/// A replica that another node prefers costs this part of the uncached tokens more. Simulated on the conversation trace
/// with three nodes, whose calls arrive in bursts: 1.65 times the waiting time of one node without it, 1.3 with it.
const FOREIGN_SHARE: u64 = 2;

named_enum! {
    /// Why a replica was chosen.
    pub enum Reason {
        Only = "only",
        Cached = "cached",
        LeastLoaded = "least_loaded",
        Session = "session",
    }
}

/// How often replicas of a model were chosen, by reason.
#[derive(Debug, Default)]
pub struct Decisions([AtomicU64; Reason::ALL.len()]);

impl Decisions {
    pub fn count(&self, reason: Reason) {
        self.0[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub fn counts(&self) -> impl Iterator<Item = (Reason, u64)> {
        Reason::ALL.into_iter().map(|reason| (reason, self.0[reason as usize].load(Ordering::Relaxed)))
    }
}

/// A replica that may serve a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<T> {
    pub replica: T,
    /// Prompt tokens in flight.
    pub queued: u64,
    pub running: u64,
    /// Tokens of this prompt that the replica has, and has not, in its cache.
    pub cached: u64,
    pub uncached: u64,
    /// It has served the session of the call before.
    pub has_session: bool,
    /// Another node prefers it. Nodes that decide at the same moment do not know of each other's calls; with different
    /// preferences they do not all send them to the same replica.
    pub is_foreign: bool,
}

impl<T> Candidate<T> {
    pub fn cost(&self) -> u64 {
        let detour = if self.is_foreign { self.uncached / FOREIGN_SHARE } else { 0 };
        let own = self.uncached.saturating_add(detour);
        self.queued.saturating_add(own).saturating_add(self.running.saturating_mul(RUNNING_TOKENS))
    }
}

/// Finds the cheapest replica among those offered, without collecting them. Of equal ones it takes one that knows the
/// session, or any at random.
#[derive(Debug)]
pub struct Cheapest<T> {
    best: Option<Candidate<T>>,
    /// Replicas as good as the best one, including it.
    equal: u32,
    offered: u32,
    least_cached: u64,
    /// The session decided between equal costs.
    by_session: bool,
}

impl<T> Default for Cheapest<T> {
    fn default() -> Self {
        Self { best: None, equal: 0, offered: 0, least_cached: u64::MAX, by_session: false }
    }
}

impl<T> Cheapest<T> {
    /// `random` returns a number below its argument.
    pub fn offer(&mut self, candidate: Candidate<T>, random: impl FnOnce(u32) -> u32) {
        self.offered += 1;
        self.least_cached = self.least_cached.min(candidate.cached);
        let Some(best) = &self.best else {
            (self.best, self.equal) = (Some(candidate), 1);
            return;
        };
        let is_tie = candidate.cost() == best.cost();
        let rank = |one: &Candidate<T>| (one.cost(), !one.has_session);
        match rank(&candidate).cmp(&rank(best)) {
            std::cmp::Ordering::Less => {
                self.by_session = is_tie;
                (self.best, self.equal) = (Some(candidate), 1);
            }
            std::cmp::Ordering::Equal => {
                self.equal += 1;
                if random(self.equal) == 0 {
                    self.best = Some(candidate);
                }
            }
            std::cmp::Ordering::Greater => self.by_session |= is_tie,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.best.is_none()
    }

    pub fn take(self) -> Option<(Candidate<T>, Reason)> {
        let best = self.best?;
        let reason = match &best {
            _ if self.offered == 1 => Reason::Only,
            best if best.cached > self.least_cached => Reason::Cached,
            _ if self.by_session => Reason::Session,
            _ => Reason::LeastLoaded,
        };
        Some((best, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn candidate(replica: usize, queued: u64, cached: u64) -> Candidate<usize> {
        Candidate {
            replica,
            queued,
            running: 0,
            cached,
            uncached: 1_000 - cached,
            has_session: false,
            is_foreign: false,
        }
    }

    fn choose(candidates: impl IntoIterator<Item = Candidate<usize>>) -> (usize, Reason) {
        let mut cheapest = Cheapest::default();
        candidates.into_iter().for_each(|candidate| cheapest.offer(candidate, |_| 0));
        let (best, reason) = cheapest.take().unwrap();
        (best.replica, reason)
    }

    #[test]
    fn a_cached_prefix_is_worth_its_tokens_and_no_more() {
        assert_eq!(choose([candidate(0, 0, 0), candidate(1, 800, 900)]), (1, Reason::Cached));
        assert_eq!(choose([candidate(0, 0, 0), candidate(1, 901, 900)]), (0, Reason::LeastLoaded));
        assert_eq!(choose([candidate(0, 0, 500), candidate(1, 10, 500)]), (0, Reason::LeastLoaded));
        assert_eq!(choose([candidate(0, 9_999, 0)]), (0, Reason::Only));
    }

    #[test]
    fn running_calls_weigh_little() {
        let busy = Candidate { running: 10, ..candidate(0, 0, 0) };
        assert_eq!(choose([busy, candidate(1, 639, 0)]).0, 1);
        assert_eq!(choose([busy, candidate(1, 641, 0)]).0, 0);
    }

    #[test]
    fn nodes_prefer_different_replicas_of_equal_load() {
        let foreign = |queued, cached| Candidate { is_foreign: true, ..candidate(0, queued, cached) };
        assert_eq!(choose([foreign(0, 0), candidate(1, 499, 0)]).0, 1);
        assert_eq!(choose([foreign(0, 0), candidate(1, 501, 0)]).0, 0);
        assert_eq!(choose([foreign(0, 900), candidate(1, 0, 0)]), (0, Reason::Cached));
    }

    #[test]
    fn a_session_decides_only_between_equal_costs() {
        let known = |replica, queued| Candidate { has_session: true, ..candidate(replica, queued, 0) };
        assert_eq!(choose([candidate(0, 0, 0), known(1, 0), candidate(2, 0, 0)]), (1, Reason::Session));
        assert_eq!(choose([known(0, 0), candidate(1, 0, 0)]), (0, Reason::Session));
        assert_eq!(choose([known(0, 1), candidate(1, 0, 0)]), (1, Reason::LeastLoaded));
    }

    #[test]
    fn equal_replicas_are_chosen_equally_often() {
        let mut counts = [0; 4];
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..4_000 {
            let mut cheapest = Cheapest::default();
            (0..4).for_each(|replica| cheapest.offer(candidate(replica, 0, 0), |below| random.u32(..below)));
            counts[cheapest.take().unwrap().0.replica] += 1;
        }
        assert!(counts.iter().all(|count| (850..1_150).contains(count)), "{counts:?}");
    }

    proptest! {
        #[test]
        fn no_replica_is_cheaper_than_the_chosen_one(
            loads in prop::collection::vec((0..5_000u64, 0..50u64, 0..=1_000u64, any::<bool>()), 1..20), seed in any::<u64>(),
        ) {
            let mut random = fastrand::Rng::with_seed(seed);
            let candidates: Vec<Candidate<usize>> = loads.iter().enumerate().map(|(replica, (queued, running, cached, has_session))| {
                Candidate { running: *running, has_session: *has_session, ..candidate(replica, *queued, *cached) }
            }).collect();
            let mut cheapest = Cheapest::default();
            candidates.iter().for_each(|candidate| cheapest.offer(*candidate, |below| random.u32(..below)));
            let (best, _) = cheapest.take().unwrap();
            let least = candidates.iter().map(Candidate::cost).min().unwrap();
            prop_assert_eq!(best.cost(), least);
            let knows = candidates.iter().any(|one| one.cost() == least && one.has_session);
            prop_assert_eq!(best.has_session, knows);
        }
    }
}
