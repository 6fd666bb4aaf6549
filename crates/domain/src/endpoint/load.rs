//! What nodes tell of their calls to an endpoint, so that the leader sees all of them and not only its own.

use crate::autoscaler::signal::{self, Concurrency, FRESH_MILLIS};
use crate::endpoint::scaling::Milli;
use crate::ids::{EndpointId, ReplicaId};
use crate::time::Timestamp;

/// One node's word on one endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadReport {
    pub node: String,
    pub endpoint: EndpointId,
    /// By the clock of the store, which all nodes share.
    pub at: Timestamp,
    /// Calls in flight and held, averaged over the node's last tick.
    pub load: Milli,
    /// Calls in flight and held at that moment.
    pub open_calls: u64,
    /// When the last call was there; nothing if the node has had none.
    pub last_call_at: Option<Timestamp>,
    pub replicas: Vec<ReplicaCalls>,
}

/// A replica that gets calls from a node, or still has some, or of which the node has heard that it gets none any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaCalls {
    pub replica: ReplicaId,
    /// Whether it gets new ones.
    pub routed: bool,
    pub in_flight: u64,
}

/// What all nodes told of one endpoint. A node that has been silent for long is not asked any more.
#[derive(Debug, Clone, Copy)]
pub struct Loads<'a> {
    reports: &'a [LoadReport],
    /// By the clock of the store.
    now: Timestamp,
}

impl<'a> Loads<'a> {
    pub fn new(reports: &'a [LoadReport], now: Timestamp) -> Self {
        Self { reports, now }
    }

    pub fn open_calls(&self) -> u64 {
        self.fresh().map(|report| report.open_calls).sum()
    }

    /// How long ago the last call to any node was; nothing if none is known of.
    pub fn quiet_millis(&self) -> Option<u64> {
        let last = self.reports.iter().filter_map(|report| report.last_call_at).max()?;
        Some(self.now.millis_since(last))
    }

    pub fn concurrency(&self, down_secs: u32) -> Concurrency {
        let reports: Vec<signal::NodeReport> =
            self.reports.iter().map(|report| signal::NodeReport { at: report.at, load: report.load }).collect();
        signal::concurrency(&reports, down_secs, self.now)
    }

    pub fn in_flight(&self, replica: &ReplicaId) -> u64 {
        self.calls_of(replica).map(|calls| calls.in_flight).sum()
    }

    /// Whether every node has said that the replica gets no new calls and has none left. Somebody must have said so.
    pub fn is_let_go(&self, replica: &ReplicaId) -> bool {
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
        assert_eq!(Loads::new(&[], at(100)).quiet_millis(), None, "nobody has told of a call");
        assert_eq!(Loads::new(&reports, at(160)).quiet_millis(), Some(60_000), "also of a node that has gone silent");
    }

    #[test]
    fn a_replica_is_let_go_when_every_node_that_lives_says_so() {
        let heard = report("a", 100, 0, &[(1, false, 0), (2, true, 9)]);
        for (other, gone) in [
            (report("b", 100, 0, &[(1, true, 0)]), false),
            (report("b", 100, 1, &[(1, false, 1)]), false),
            (report("b", 100, 0, &[(2, true, 0)]), false),
            (report("b", 100, 0, &[(1, false, 0)]), true),
            (report("dead", 70, 5, &[(1, true, 5)]), true),
        ] {
            let reports = [heard.clone(), other];
            assert_eq!(Loads::new(&reports, at(101)).is_let_go(&replica(1)), gone, "{reports:?}");
        }
        assert!(!Loads::new(&[], at(101)).is_let_go(&replica(1)), "nobody has said anything");
        let silent = [report("dead", 70, 5, &[(1, true, 5)])];
        assert_eq!(Loads::new(&silent, at(101)).open_calls(), 0, "who is silent for half a minute is not waited for");
    }
}
