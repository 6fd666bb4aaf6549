//! Checks a history: each invariant is a pure function that returns what contradicts it.
//!
//! A fault excuses only what it must: a killed node may cut its streams, a stopped one may not.

mod commands;
mod connections;
mod gpu_time;
mod keys;
mod leadership;
mod limits;
mod metering;
#[cfg(test)]
mod tests;

use std::fmt;

use super::history::{FaultSpan, History};

/// Violations that are shown of each check.
const SHOWN: usize = 8;
/// Before and after its fault, something may be noticed this much earlier or later, in milliseconds.
const SLACK: u64 = 1_000;

/// The result of one invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub name: &'static str,
    /// How many things were looked at; 0 means that nothing was checked.
    pub examined: usize,
    pub violations: Vec<String>,
}

impl Check {
    fn new(name: &'static str) -> Self {
        Self { name, examined: 0, violations: Vec::new() }
    }

    /// Counts one thing, and records the violation if it has one.
    fn examine(&mut self, violation: Option<String>) {
        self.examined += 1;
        self.violations.extend(violation);
    }

    pub fn holds(&self) -> bool {
        self.violations.is_empty()
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let result = match self.violations.len() {
            0 if self.examined == 0 => "nothing to check".to_owned(),
            0 => "ok".to_owned(),
            count => format!("{count} VIOLATIONS"),
        };
        write!(f, "{:<44} {:>8}  {result}", self.name, self.examined)?;
        for violation in self.violations.iter().take(SHOWN) {
            write!(f, "\n    {violation}")?;
        }
        Ok(())
    }
}

/// Every invariant, in the order of the summary.
pub fn check(history: &History) -> Vec<Check> {
    vec![
        metering::no_event_is_lost(history),
        metering::no_event_is_doubled(history),
        metering::sums_equal_events(history),
        metering::invoices_equal_events(history),
        metering::events_have_the_time_of_the_store(history),
        metering::journals_are_empty(history),
        limits::quotas_are_never_passed(history),
        limits::budgets_are_never_passed_and_usable(history),
        limits::minute_limits_hold(history),
        limits::allotment_is_never_passed(history),
        limits::ledger_equals_commitments(history),
        gpu_time::gpu_hours_equal_intervals(history),
        gpu_time::no_gpu_is_held_twice(history),
        gpu_time::holds_match_processes(history),
        keys::revoked_keys_stay_revoked(history),
        keys::valid_keys_are_never_rejected(history),
        connections::no_call_is_cut_by_us(history),
        connections::calls_succeed_again_after_the_last_fault(history),
        connections::no_process_ends_unasked(history),
        leadership::one_leader_at_a_time(history),
        leadership::a_leader_within_fifteen_seconds(history),
        commands::acknowledged_commands_last(history),
    ]
}

/// Faults that were under way at some moment of the span.
fn faults_in(history: &History, began: u64, ended: u64) -> impl Iterator<Item = &FaultSpan> {
    history.faults.iter().filter(move |fault| fault.began <= ended + SLACK && began <= fault.ended + SLACK)
}
