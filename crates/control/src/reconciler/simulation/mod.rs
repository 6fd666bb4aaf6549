//! Simulation of the control plane.
//!
//! The real elections, rounds, autoscaler and state machine run on several simulated nodes, against rows and processes in
//! memory and a simulated clock. A seed defines a [`Schedule`]: commands, calls, crashes of nodes and processes, clocks
//! that are set, and faults of the store and of the driver. Every call of a node to either is a place where it can be
//! interrupted, fail before or after its effect, or never come back. After every event the rules of [`invariants`] are
//! checked; at the end faults stop, and the world must come to match the commands. A schedule that breaks a rule is
//! shortened and printed.
//!
//! `make simulate SIMULATION_SEEDS=100000` runs more seeds; `SIMULATION_FIRST_SEED` begins at another one.

mod commands;
mod conformance;
mod invariants;
mod machine;
mod node;
mod random;
mod regressions;
mod run;
mod schedule;
mod table;
mod world;

use invariants::Rule;
use run::{describe, run, shortened};
use schedule::Schedule;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use world::Mutation;

/// Seeds of a normal test run.
const SEEDS: u64 = 600;
/// A defect is noticed within this many seeds.
const SEEDS_UNTIL_NOTICED: u64 = 300;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs seeds until one breaks a rule, on all cores if more than usual are requested.
fn first_failure(first: u64, count: u64) -> Option<String> {
    let next = AtomicU64::new(first);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return None;
            }
            let schedule = Schedule::of_seed(seed);
            if let Err(violation) = run(&schedule, None) {
                next.store(first + count, Ordering::Relaxed);
                return Some(describe(seed, &schedule, None, &violation));
            }
        }
    };
    let threads = if count > SEEDS { std::thread::available_parallelism().map_or(1, usize::from) } else { 1 };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().find_map(|worker| worker.join().expect("a seed panicked"))
    })
}

#[test]
fn the_control_plane_keeps_its_rules_whatever_fails() {
    let (first, count) =
        (variable("SIMULATION_FIRST_SEED").unwrap_or(0), variable("SIMULATION_SEEDS").unwrap_or(SEEDS));
    let began = Instant::now();
    let failure = first_failure(first, count);
    println!("{count} seeds in {:.1} s", began.elapsed().as_secs_f64());
    assert!(failure.is_none(), "{}", failure.unwrap_or_default());
}

#[test]
fn a_schedule_repeats_exactly() {
    for seed in 0..5 {
        let schedule = Schedule::of_seed(seed);
        let trace = || run::run_traced(&schedule, Some(Mutation::NeverStop)).err().map(|failure| failure.trace);
        assert_eq!(trace(), trace(), "seed {seed}");
    }
}

/// The first seed that notices a defect, and its shortest schedule.
fn noticed(mutation: Mutation, rule: Rule) -> Schedule {
    let seeds = 0..SEEDS_UNTIL_NOTICED;
    let found = seeds.map(Schedule::of_seed).find_map(|schedule| match run(&schedule, Some(mutation)) {
        Err(violation) if violation.rule == rule => Some(schedule),
        Ok(()) | Err(_) => None,
    });
    let schedule = found.unwrap_or_else(|| panic!("no seed notices {mutation:?}"));
    shortened(&schedule, Some(mutation), rule)
}

#[test]
fn every_rule_notices_its_defect() {
    for (mutation, rule) in [
        (Mutation::NoFence, Rule::Fence),
        (Mutation::EveryoneLeads, Rule::OneLeader),
        (Mutation::IgnoreAllotment, Rule::Allotment),
        (Mutation::KeepCommitment, Rule::Ledger),
        (Mutation::NoEvents, Rule::Explained),
        (Mutation::ShareGpus, Rule::Gpus),
        (Mutation::KeepHolds, Rule::Holds),
        (Mutation::Rewind, Rule::Transitions),
        (Mutation::BillTooLong, Rule::GpuHours),
        (Mutation::NeverStop, Rule::Convergence),
    ] {
        let shortest = noticed(mutation, rule);
        assert!(shortest.events.len() <= 20, "{mutation:?}: {shortest:?}");
    }
}
