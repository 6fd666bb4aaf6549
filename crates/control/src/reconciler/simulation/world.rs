//! What all nodes of a simulation share: time, rows and the machine. A node reaches it through its [`Link`].

use super::invariants::{Rule, Violation};
use super::machine::Machine;
use super::schedule::Fault;
use super::table::Table;
use domain::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A point in time of the simulation, in milliseconds since its beginning.
pub(super) const fn moment(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000 + millis)
}

pub(super) struct World {
    /// The right time, which no node knows.
    pub(super) now: i64,
    pub(super) rows: Table,
    pub(super) machine: Machine,
    pub(super) nodes: Vec<NodeState>,
    /// The widest difference that a node's clock ever had.
    pub(super) widest_skew: i64,
    /// The first rule that was broken.
    pub(super) violation: Option<Violation>,
    pub(super) mutation: Option<Mutation>,
    /// Calls, if they are recorded.
    pub(super) trace: Option<Vec<String>>,
}

#[derive(Default)]
pub(super) struct NodeState {
    pub(super) skew: i64,
    pub(super) store_fault: Option<Fault>,
    pub(super) driver_fault: Option<Fault>,
}

/// A defect that is put in on purpose, to see that a rule notices it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mutation {
    /// Writes of an older epoch are stored.
    NoFence,
    /// Holds are not closed.
    KeepHolds,
    /// Holds end later than the process did.
    BillTooLong,
    /// A GPU may be claimed twice.
    ShareGpus,
    /// Commands do not check the allotment.
    IgnoreAllotment,
    /// The commitment is not written.
    KeepCommitment,
    /// Changes are not explained by an event.
    NoEvents,
    /// A request to stop is ignored.
    NeverStop,
    /// The term always looks free.
    EveryoneLeads,
    /// A starting replica is stored as pending.
    Rewind,
}

impl World {
    pub(super) fn new(nodes: usize, mutation: Option<Mutation>) -> Self {
        Self {
            now: 0,
            rows: Table::default(),
            machine: Machine::default(),
            nodes: (0..nodes).map(|_| NodeState::default()).collect(),
            widest_skew: 0,
            violation: None,
            mutation,
            trace: None,
        }
    }

    /// Only the first violation counts; others follow from it.
    pub(super) fn break_rule(&mut self, rule: Rule, detail: String) {
        self.note(|| format!("BROKEN: {detail}"));
        self.violation.get_or_insert(Violation { rule, detail });
    }

    pub(super) fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(line());
        }
    }

    /// How a node's call fails, if it does.
    pub(super) fn next_fault(&mut self, node: usize, target: Target, call: &str) -> Option<Fault> {
        let state = &mut self.nodes[node];
        let fault = match target {
            Target::Store => state.store_fault.take(),
            Target::Driver => state.driver_fault.take(),
        };
        self.note(|| match fault {
            None => format!("  node {node}: {call}"),
            Some(fault) => format!("  node {node}: {call} fails ({fault:?})"),
        });
        fault
    }

    /// The time on a node's clock.
    pub(super) fn clock_of(&self, node: usize) -> Timestamp {
        moment(self.now + self.nodes[node].skew)
    }
}

/// The part that a node calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Store,
    Driver,
}

/// A node's connection to the store and to the machine.
#[derive(Clone)]
pub(super) struct Link {
    world: Arc<Mutex<World>>,
    pub(super) node: usize,
}

impl Link {
    pub(super) fn new(world: Arc<Mutex<World>>, node: usize) -> Self {
        Self { world, node }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, World> {
        self.world.lock()
    }

    /// One call: no effect, the effect and a lost response, or both. Other events happen between the effect and the
    /// response, so a node that looks at its clock and then calls is not paused in between.
    pub(super) async fn call<T: Send>(
        &self,
        target: Target,
        call: &str,
        lose: impl FnOnce() -> T + Send,
        act: impl FnOnce(&mut World) -> T + Send,
    ) -> T {
        let response = {
            let mut world = self.lock();
            match world.next_fault(self.node, target, call) {
                Some(Fault::Before) => lose(),
                Some(Fault::After) => {
                    act(&mut world);
                    lose()
                }
                None => act(&mut world),
            }
        };
        Pause::default().await;
        response
    }
}

/// Pending once. The simulation polls without a waker, so this is where a node stops.
#[derive(Default)]
pub(super) struct Pause(bool);

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}
