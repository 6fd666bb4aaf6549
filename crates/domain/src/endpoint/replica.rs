//! Replicas: one running instance of an endpoint's model server each.

use crate::ids::{EndpointId, ReplicaId};
use crate::time::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplicaState {
    /// Wished for; no GPUs yet.
    Pending,
    /// GPUs are fixed and held.
    Bound,
    Starting,
    Ready,
    Draining,
    /// Gone, its GPUs free.
    Released,
    Failed,
}

impl ReplicaState {
    pub const ALL: [Self; 7] =
        [Self::Pending, Self::Bound, Self::Starting, Self::Ready, Self::Draining, Self::Released, Self::Failed];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Bound => "bound",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Draining => "draining",
            Self::Released => "released",
            Self::Failed => "failed",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Whether nothing follows any more.
    pub const fn is_over(self) -> bool {
        match self {
            Self::Released | Self::Failed => true,
            Self::Pending | Self::Bound | Self::Starting | Self::Ready | Self::Draining => false,
        }
    }

    /// Whether a replica may go from here to there. A draining one may come back: a call in the gap saves a cold start.
    pub const fn may_become(self, next: Self) -> bool {
        match self {
            Self::Pending => matches!(next, Self::Bound | Self::Released | Self::Failed),
            Self::Bound => matches!(next, Self::Starting | Self::Draining | Self::Released | Self::Failed),
            Self::Starting => matches!(next, Self::Ready | Self::Draining | Self::Released | Self::Failed),
            Self::Ready => matches!(next, Self::Starting | Self::Draining | Self::Released | Self::Failed),
            Self::Draining => matches!(next, Self::Ready | Self::Released | Self::Failed),
            Self::Released | Self::Failed => false,
        }
    }
}

/// What a replica is meant to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wish {
    Run,
    /// Finish its calls, at the latest at the drain's end, then go.
    Go,
}

impl Wish {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Go => "go",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Run, Self::Go].into_iter().find(|wish| wish.as_str() == text)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    pub id: ReplicaId,
    pub endpoint: EndpointId,
    pub wish: Wish,
    /// The last moment for what it still serves, once it is to go; in the past once it was told to end.
    pub drain_until: Option<Timestamp>,
    pub state: ReplicaState,
    pub driver: crate::model::DriverKind,
    /// Where it runs, how it is reached and which GPUs it has, once it is bound.
    pub node: Option<String>,
    pub address: Option<String>,
    pub gpu_ids: Vec<String>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ready_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub last_error: Option<String>,
    /// How it ended, if it failed.
    pub ending: Option<super::failure::Ending>,
    pub log_tail: String,
}

impl Replica {
    /// One that is wished for.
    pub fn new(id: ReplicaId, endpoint: EndpointId, now: Timestamp) -> Self {
        Self {
            id,
            endpoint,
            wish: Wish::Run,
            drain_until: None,
            state: ReplicaState::Pending,
            driver: crate::model::DriverKind::Process,
            node: None,
            address: None,
            gpu_ids: Vec::new(),
            created_at: now,
            started_at: None,
            ready_at: None,
            ended_at: None,
            last_error: None,
            ending: None,
            log_tail: String::new(),
        }
    }

    /// Whether it is to go and was not told to end yet: then it may still stay after all.
    pub fn may_stay(&self, now: Timestamp) -> bool {
        let drains = self.wish == Wish::Go && self.state == ReplicaState::Draining;
        drains && self.drain_until.is_some_and(|until| now < until)
    }
}

/// As `…/replicas` shows it.
impl serde::Serialize for Replica {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        #[serde(rename_all = "camelCase")]
        struct View<'a> {
            id: &'a ReplicaId,
            state: &'static str,
            gpu_ids: &'a [String],
            node: Option<&'a str>,
            started_at: Option<Timestamp>,
            last_error: Option<&'a str>,
            log_tail: &'a str,
        }
        let view = View {
            id: &self.id,
            state: self.state.as_str(),
            gpu_ids: &self.gpu_ids,
            node: self.node.as_deref(),
            started_at: self.started_at,
            last_error: self.last_error.as_deref(),
            log_tail: &self.log_tail,
        };
        view.serialize(serializer)
    }
}

/// What the replicas of an endpoint really do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Status {
    pub desired: u32,
    pub pending: u32,
    pub starting: u32,
    pub ready: u32,
    pub draining: u32,
}

impl Status {
    pub fn count(desired: u32, states: impl IntoIterator<Item = ReplicaState>) -> Self {
        let mut status = Self { desired, ..Self::default() };
        for state in states {
            match state {
                ReplicaState::Pending => status.pending += 1,
                ReplicaState::Bound | ReplicaState::Starting => status.starting += 1,
                ReplicaState::Ready => status.ready += 1,
                ReplicaState::Draining => status.draining += 1,
                ReplicaState::Released | ReplicaState::Failed => {}
            }
        }
        status
    }
}

/// A replica that could be let go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub id: ReplicaId,
    pub state: ReplicaState,
    pub ready_at: Option<Timestamp>,
    pub in_flight: u64,
}

/// Which replicas go when there are `surplus` too many: those that serve nobody yet first, then the least busy; one that
/// became ready within the scale-down window goes last. Draining ones are gone already.
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
    fn a_replica_goes_forward_and_a_draining_one_may_come_back() {
        use ReplicaState::{Bound, Draining, Failed, Pending, Ready, Released, Starting};
        for pair in [Pending, Bound, Starting, Ready, Draining, Released].windows(2) {
            assert!(pair[0].may_become(pair[1]), "{pair:?}");
        }
        assert!(Draining.may_become(Ready));
        for state in ReplicaState::ALL {
            assert_eq!(state.may_become(Failed), !state.is_over(), "{state:?}");
            assert!(!Released.may_become(state) && !Failed.may_become(state));
            assert_eq!(ReplicaState::parse(state.as_str()), Some(state));
        }
        assert!(!Pending.may_become(Starting), "nothing starts without its GPUs");
    }

    #[test]
    fn the_status_counts_what_is_there() {
        use ReplicaState::{Bound, Draining, Failed, Pending, Ready, Released, Starting};
        let status = Status::count(3, [Pending, Bound, Starting, Ready, Ready, Draining, Released, Failed]);
        assert_eq!(status, Status { desired: 3, pending: 1, starting: 2, ready: 2, draining: 1 });
    }

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
