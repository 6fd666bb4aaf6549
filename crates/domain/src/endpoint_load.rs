//! Reports of all nodes about their calls to an endpoint, so that the leader sees more than its own calls.

use crate::autoscaler::signal::{self, Concurrency, FRESH_MILLIS, PrefillQueue};
use crate::endpoint::scaling::Milli;
use crate::ids::{EndpointId, ReplicaId};
use crate::time::Timestamp;

/// One node's report on one endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadReport {
    pub node: String,
    pub endpoint: EndpointId,
    /// By the store's clock, which all nodes share.
    pub at: Timestamp,
    /// Calls in flight and held, averaged over the node's last tick.
    pub load: Milli,
    /// Calls in flight and held at that moment.
    pub open_calls: u64,
    /// When the node last had a call; `None` if it never had one.
    pub last_call_at: Option<Timestamp>,
    pub replicas: Vec<ReplicaCalls>,
}

/// A node's calls to one replica. Replicas that get no new calls are reported too, so that the leader knows that the node
/// has stopped routing to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaCalls {
    pub replica: ReplicaId,
    /// Whether the node still sends new calls to it.
    pub routed: bool,
    pub in_flight: u64,
    /// The calls that have had no event yet.
    pub prefill: PrefillQueue,
}

/// The reports of all nodes on one endpoint. Stale reports are ignored.
#[derive(Debug, Clone, Copy)]
pub struct Loads<'a> {
    reports: &'a [LoadReport],
    /// By the store's clock.
    now: Timestamp,
}

impl<'a> Loads<'a> {
    pub fn new(reports: &'a [LoadReport], now: Timestamp) -> Self {
        Self { reports, now }
    }

    pub fn open_calls(&self) -> u64 {
        self.fresh().map(|report| report.open_calls).sum()
    }

    /// Time since the last call to any node; `None` if no call is known.
    pub fn quiet_millis(&self) -> Option<u64> {
        let last = self.reports.iter().filter_map(|report| report.last_call_at).max()?;
        Some(self.now.millis_since(last))
    }

    pub fn concurrency(&self, down_secs: u32) -> Concurrency {
        let reports: Vec<signal::NodeReport> =
            self.reports.iter().map(|report| signal::NodeReport { at: report.at, load: report.load }).collect();
        signal::concurrency(&reports, down_secs, self.now)
    }

    /// Prompts in flight at all replicas.
    pub fn prefill(&self) -> PrefillQueue {
        let queues = self.fresh().flat_map(|report| &report.replicas).map(|calls| calls.prefill);
        queues.fold(PrefillQueue::default(), PrefillQueue::plus)
    }

    pub fn in_flight(&self, replica: &ReplicaId) -> u64 {
        self.calls_of(replica).map(|calls| calls.in_flight).sum()
    }

    /// Whether every live node reports that it sends no new calls to the replica and has none in flight. False without a
    /// report.
    pub fn is_drained(&self, replica: &ReplicaId) -> bool {
        let is_done = |calls: &ReplicaCalls| calls.replica == *replica && !calls.routed && calls.in_flight == 0;
        let mut nodes = self.fresh().peekable();
        nodes.peek().is_some() && nodes.all(|report| report.replicas.iter().any(is_done))
    }

    fn calls_of(&self, replica: &ReplicaId) -> impl Iterator<Item = &'a ReplicaCalls> {
        self.fresh().flat_map(|report| &report.replicas).filter(move |calls| calls.replica == *replica)
    }

    fn fresh(&self) -> impl Iterator<Item = &'a LoadReport> {
        let now = self.now;
        self.reports.iter().filter(move |report| now.millis_since(report.at) <= FRESH_MILLIS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::autoscaler::Signal;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn replica(number: u128) -> ReplicaId {
        ReplicaId::new(at(0), number)
    }

    fn report(node: &str, seconds: i64, open_calls: u64, replicas: &[(u128, bool, u64)]) -> LoadReport {
        let calls = |(number, routed, in_flight): &(u128, bool, u64)| ReplicaCalls {
            replica: replica(*number),
            routed: *routed,
            in_flight: *in_flight,
            prefill: PrefillQueue { tokens: 100 * in_flight, calls: *in_flight },
        };
        LoadReport {
            node: node.into(),
            endpoint: EndpointId::new(at(0), 1),
            at: at(seconds),
            load: open_calls * 1_000,
            open_calls,
            last_call_at: (open_calls > 0).then(|| at(seconds)),
            replicas: replicas.iter().map(calls).collect(),
        }
    }

    #[test]
    fn the_calls_of_all_nodes_are_added_up() {
        let reports = [report("a", 95, 3, &[(1, true, 2), (2, true, 1)]), report("b", 100, 4, &[(1, true, 4)])];
        let loads = Loads::new(&reports, at(100));
        assert_eq!((loads.open_calls(), loads.quiet_millis()), (7, Some(0)));
        assert_eq!((loads.in_flight(&replica(1)), loads.in_flight(&replica(2))), (6, 1));
        assert_eq!(loads.concurrency(600).signal, Signal::Seen(7_000));
        assert_eq!(loads.prefill(), PrefillQueue { tokens: 700, calls: 7 });
        assert_eq!(Loads::new(&[], at(100)).quiet_millis(), None, "no call is known");
        assert_eq!(Loads::new(&reports, at(160)).quiet_millis(), Some(60_000), "also from a stale report");
    }

    #[test]
    fn a_replica_is_drained_when_every_node_that_lives_says_so() {
        let drained = report("a", 100, 0, &[(1, false, 0), (2, true, 9)]);
        for (other, is_drained) in [
            (report("b", 100, 0, &[(1, true, 0)]), false),
            (report("b", 100, 1, &[(1, false, 1)]), false),
            (report("b", 100, 0, &[(2, true, 0)]), false),
            (report("b", 100, 0, &[(1, false, 0)]), true),
            (report("dead", 70, 5, &[(1, true, 5)]), true),
        ] {
            let reports = [drained.clone(), other];
            assert_eq!(Loads::new(&reports, at(101)).is_drained(&replica(1)), is_drained, "{reports:?}");
        }
        assert!(!Loads::new(&[], at(101)).is_drained(&replica(1)), "there is no report");
        let silent = [report("dead", 70, 5, &[(1, true, 5)])];
        assert_eq!(Loads::new(&silent, at(101)).open_calls(), 0, "a stale report does not count");
    }
}
