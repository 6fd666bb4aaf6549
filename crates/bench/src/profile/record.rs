//! The instructions that the repository expects, in `crates/bench/instructions.toml`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Context;

use super::load::Workload;

const HEAD: &str = "\
# Instructions of the serving core for one call or event, as Callgrind counts them with the debug build.
# `make instructions-check` fails if one of them grows by more than 3 %; `make instructions-update` writes this file.
";
/// Counts of the same program differ by less.
const TOLERANCE: f64 = 1.03;

/// Instructions by workload.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record(BTreeMap<String, u64>);

impl Record {
    pub(super) fn new(counted: &[(Workload, u64)]) -> Self {
        Self(counted.iter().map(|(workload, instructions)| (workload.name().to_owned(), *instructions)).collect())
    }

    pub(super) fn read(text: &str) -> anyhow::Result<Self> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let numbers = lines.map(|line| {
            let (name, number) = line.split_once(" = ").with_context(|| format!("no number: {line}"))?;
            Ok((name.to_owned(), number.replace('_', "").parse().with_context(|| line.to_owned())?))
        });
        Ok(Self(numbers.collect::<anyhow::Result<_>>()?))
    }

    pub(super) fn render(&self) -> String {
        let mut text = HEAD.to_owned();
        for (name, instructions) in &self.0 {
            writeln!(text, "{name} = {instructions}").expect("a String takes any text");
        }
        text
    }

    /// The most instructions that are not reported.
    pub(super) fn most(&self, workload: &str) -> Option<u64> {
        self.0.get(workload).map(|expected| (*expected as f64 * TOLERANCE) as u64)
    }

    /// One line for each workload that takes too many instructions, or has no expected number.
    pub(super) fn grown_over(&self, expected: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, instructions) in &self.0 {
            if expected.most(name).is_some_and(|most| *instructions <= most) {
                continue;
            }
            match expected.0.get(name) {
                Some(expected) => {
                    let percent = (*instructions as f64 / *expected as f64 - 1.0) * 100.0;
                    lines.push(format!("{name}: {instructions} instructions, {percent:.1} % more than {expected}"));
                }
                None => lines.push(format!("{name}: {instructions} instructions, and no number to compare with")),
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_beyond_the_tolerance_is_reported() {
        let expected = Record::read("# text\n\nevent = 1_000\nunary = 2000\n").unwrap();
        assert_eq!(Record::read(&expected.render()).unwrap(), expected);
        let measured = |event, unary| Record([("event".into(), event), ("unary".into(), unary)].into());
        assert!(measured(1_030, 100).grown_over(&expected).is_empty());
        let grown = measured(1_000, 2_100).grown_over(&expected);
        assert_eq!(grown, ["unary: 2100 instructions, 5.0 % more than 2000"]);
        assert_eq!(expected.grown_over(&Record([].into())).len(), 2, "a workload without a number");
        assert!(Record::read("unary: 5").is_err());
    }
}
