//! Which replicas go when an endpoint has too many.

use super::ReplicaState;
use crate::ids::ReplicaId;
use crate::time::Timestamp;

/// A replica that could be drained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub id: ReplicaId,
    pub state: ReplicaState,
    pub ready_at: Option<Timestamp>,
    pub in_flight: u64,
}

/// Picks `surplus` replicas to drain: first those that do not serve yet, then the least busy, and last those that became
/// ready within the scale-down window. Replicas that drain already are never picked.
pub fn pick_to_drain(candidates: &[Candidate], surplus: usize, down_secs: u32, now: Timestamp) -> Vec<ReplicaId> {
    let rank = |candidate: &Candidate| match candidate.state {
        ReplicaState::Pending => Some(0),
        ReplicaState::Bound | ReplicaState::Starting => Some(1),
        ReplicaState::Ready => {
            let window = u64::from(down_secs) * 1_000;
            let fresh = candidate.ready_at.is_some_and(|ready_at| now.millis_since(ready_at) < window);
            Some(if fresh { 3 } else { 2 })
        }
        ReplicaState::Draining | ReplicaState::Released | ReplicaState::Failed => None,
    };
    let mut ranked: Vec<_> = candidates.iter().filter_map(|one| Some((rank(one)?, one.in_flight, one))).collect();
    // Among equals the youngest goes: the oldest has the warmest cache.
    ranked.sort_by_key(|(rank, in_flight, one)| (*rank, *in_flight, std::cmp::Reverse(one.id.clone())));
    ranked.into_iter().take(surplus).map(|(_, _, one)| one.id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_idle_and_the_unready_go_first_and_the_newly_ready_last() {
        let now = Timestamp::from_millis(1_000_000);
        let candidate = |number: u128, state, ready_secs_ago: i64, in_flight| Candidate {
            id: ReplicaId::new(now, number),
            state,
            ready_at: Some(now.plus_millis(-ready_secs_ago * 1_000)),
            in_flight,
        };
        let all = [
            candidate(1, ReplicaState::Ready, 900, 5),
            candidate(2, ReplicaState::Ready, 900, 1),
            candidate(3, ReplicaState::Ready, 20, 0),
            candidate(4, ReplicaState::Starting, 0, 0),
            candidate(5, ReplicaState::Pending, 0, 0),
            candidate(6, ReplicaState::Draining, 900, 0),
            candidate(7, ReplicaState::Ready, 900, 1),
        ];
        let order = pick_to_drain(&all, 9, 600, now);
        let numbers: Vec<u128> =
            order.iter().map(|id| (1..=7).find(|n| ReplicaId::new(now, *n) == *id).unwrap()).collect();
        assert_eq!(numbers, [5, 4, 7, 2, 1, 3]);
        assert_eq!(pick_to_drain(&all, 2, 600, now), order[..2]);
    }
}
