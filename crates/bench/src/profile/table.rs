//! The results as text.

use std::fmt::Write as _;

use super::load::{Counts, Workload};
use super::perf::Samples;

/// Components with a smaller part of the instructions are shown together.
const SMALLEST_SHARE: f64 = 0.005;

pub(super) fn summary(workload: Workload, counts: &Counts) -> String {
    let Counts { serving, background, .. } = counts;
    let name = workload.name();
    format!("{name}: {serving} instructions on the serving core, about {background} on other threads")
}

/// A table of components. The CPU time of the serving thread outside of the kernel is spread over them by instructions.
pub(super) fn by_component(counts: &Counts, samples: &Option<Samples>) -> String {
    let mut text = String::from("\n| component | instructions | µs CPU |\n|---|---|---|\n");
    let all: f64 = counts.components.iter().map(|(_, cost)| cost).sum();
    let micros = |cost: f64| match samples {
        Some(samples) => format!("{:.2}", samples.user * cost / all),
        None => String::new(),
    };
    let mut row = |name: &str, instructions: &str, micros: &str| {
        writeln!(text, "| {name} | {instructions} | {micros} |").expect("a String takes any text");
    };
    let is_large = |(_, cost): &&(_, f64)| *cost >= all * SMALLEST_SHARE;
    let (large, small): (Vec<_>, Vec<_>) = counts.components.iter().partition(is_large);
    for &(component, cost) in large {
        row(component.name(), &format!("{cost:.0}"), &micros(cost));
    }
    let rest: f64 = small.iter().map(|(_, cost)| cost).sum();
    row("smaller ones", &format!("{rest:.0}"), &micros(rest));
    let Some(samples) = samples else { return text };
    let Samples { others, measured, .. } = samples;
    for (name, cost) in others {
        row(name, "", &format!("{cost:.2}"));
    }
    let share = samples.share();
    row("sum", &format!("{all:.0}"), &format!("{:.2}", share * measured));
    row("measured without sampling", "", &format!("{measured:.2} ({:.0} %)", share * 100.0));
    text
}
