//! The contract's worked table of the ledger.

use super::*;
use crate::endpoint::scaling::{Scaling, ScalingPatch};
use crate::endpoint::state::{self, Next, State, StateInput, StateReason, Step, Trigger};

/// The ledger of the contract's worked table: endpoints by name, and a cap.
struct Book {
    allotment: u64,
    endpoints: BTreeMap<&'static str, StateInput>,
}

const NOTHING: ScalingPatch = ScalingPatch {
    replicas: None,
    min: None,
    max: None,
    metric: None,
    target: None,
    to_zero_secs: None,
    up_secs: None,
    down_secs: None,
};

fn fixed(replicas: u32) -> ScalingPatch {
    ScalingPatch { replicas: Some(replicas), ..NOTHING }
}

fn ranged(min: u32, max: u32) -> ScalingPatch {
    ScalingPatch { min: Some(min), max: Some(max), ..NOTHING }
}

fn max(max: u32) -> ScalingPatch {
    ScalingPatch { max: Some(max), ..NOTHING }
}

impl Book {
    fn committed_by(standing: &StateInput) -> u64 {
        u64::from(state::committed(standing.state, standing.scaling.mode, standing.gpu_count))
    }

    fn ledger(&self) -> Ledger {
        Ledger { allotment: self.allotment, committed: self.endpoints.values().map(Self::committed_by).sum() }
    }

    /// `committed 8`, or `16/12/18/2`.
    fn write(&mut self, name: &'static str, gpu_count: u32, step: Step) -> String {
        let released = self.endpoints.get(name).map_or(0, Self::committed_by);
        let change = Change { released, added: u64::from(step.committed) };
        match self.ledger().project(change) {
            Ok(projected) => {
                let Next::State(state) = step.to else { panic!("no row of the table removes an endpoint") };
                let Step { reason, scaling, desired, .. } = step;
                self.endpoints.insert(name, StateInput { state, reason, scaling, gpu_count, desired });
                assert_eq!(self.ledger().committed, projected);
                format!("committed {projected}")
            }
            Err(AllotmentError { allotment, committed, projected, need }) => {
                assert_eq!(self.ledger().committed, committed, "a rejection changes nothing");
                format!("{allotment}/{committed}/{projected}/{need}")
            }
        }
    }

    fn create(&mut self, name: &'static str, gpu_count: u32, patch: ScalingPatch) -> String {
        self.write(name, gpu_count, state::create(Scaling::create(&patch, None).unwrap(), gpu_count))
    }

    fn trigger(&mut self, name: &'static str, trigger: impl Fn(Scaling) -> Trigger, patch: ScalingPatch) -> String {
        let standing = self.endpoints[name];
        let scaling = standing.scaling.patched(&patch, None).unwrap();
        self.write(name, standing.gpu_count, state::step(&standing, trigger(scaling)).unwrap())
    }

    fn patch(&mut self, name: &'static str, patch: ScalingPatch) -> String {
        self.trigger(name, Trigger::Rescaled, patch)
    }
}

#[test]
fn the_worked_table() {
    let mut book = Book { allotment: 16, endpoints: BTreeMap::new() };
    assert_eq!(book.create("A", 4, fixed(2)), "committed 8", "row 1");
    assert_eq!(book.create("B", 1, ranged(1, 4)), "committed 12", "row 2: the ceiling, not the floor");
    assert_eq!(book.create("D", 2, ranged(0, 3)), "16/12/18/2", "row 3");
    assert_eq!(book.create("D", 2, ranged(0, 2)), "committed 16", "row 4: exactly at the cap fits");
    book.trigger("D", |_| Trigger::Ready, NOTHING);
    assert_eq!(book.trigger("D", |_| Trigger::Idle, NOTHING), "committed 16", "row 5");
    assert_eq!(book.endpoints["D"].state, State::ScaledToZero);
    assert_eq!(book.patch("B", max(5)), "16/16/17/1", "row 6");
    assert_eq!(book.endpoints["B"].scaling.mode.ceiling(), 4, "row 6: unchanged");
    assert_eq!(book.patch("B", max(2)), "committed 14", "row 7");
    assert_eq!(book.patch("A", fixed(3)), "16/14/18/2", "row 8");
    assert_eq!(book.patch("B", ScalingPatch { min: Some(0), ..NOTHING }), "committed 14", "row 9");
    assert_eq!(book.trigger("A", |_| Trigger::Suspend, NOTHING), "committed 6", "row 10");
    assert_eq!(book.patch("A", fixed(3)), "committed 6", "row 11");
    assert_eq!(book.trigger("A", Trigger::Resume, NOTHING), "16/6/18/2", "row 12");
    assert_eq!(book.endpoints["A"].state, State::Suspended, "row 12");
    assert_eq!(book.trigger("A", Trigger::Resume, fixed(2)), "committed 14", "row 13");
    assert_eq!(book.endpoints["A"].reason, StateReason::Resumed);

    book.allotment = 10;
    assert_eq!((book.ledger().committed, book.ledger().headroom()), (14, -4), "row 14: nothing stops");
    assert!((book.ledger().committed_share().fraction() - 1.4).abs() < 1e-12, "row 14");
    assert_eq!(book.patch("B", max(1)), "committed 13", "row 15: still over, still allowed");
    assert_eq!(book.create("E", 1, fixed(1)), "10/13/14/4", "row 16");

    book.allotment = 16;
    assert_eq!(book.create("F", 3, fixed(1)), "committed 16", "row 17, one of two at once");
    assert_eq!(book.create("G", 3, fixed(1)), "16/16/19/3", "row 17, the other");
    assert_eq!(book.patch("A", ranged(1, 1)), "committed 12", "row 18");
    // Row 19, a ledger that cannot be locked, is the store's.
    assert_eq!(book.trigger("A", |_| Trigger::Delete, NOTHING), "committed 8", "row 20: at once");
}

#[test]
fn the_share_of_a_zero_cap_is_0_or_1() {
    for (allotment, committed, share) in [(0, 0, 0.0), (0, 3, 1.0), (16, 4, 0.25), (10, 14, 1.4)] {
        let found = Ledger { allotment, committed }.committed_share().fraction();
        assert!((found - share).abs() < 1e-12, "{allotment} {committed}: {found}");
    }
}

#[test]
fn replicas_that_fit_are_whole() {
    for (allotment, committed, gpu_count, fits) in [(16, 12, 4, 1), (16, 12, 8, 0), (16, 12, 1, 4), (10, 14, 1, 0)] {
        assert_eq!(Ledger { allotment, committed }.replicas_that_fit(gpu_count), fits);
    }
}
