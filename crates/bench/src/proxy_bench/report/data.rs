//! Writes a measurement as `docs/data/performance.toml`, which the documents are compared with.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::proxy_bench::report::figures::{Figure, Figures, Judgement};
use crate::proxy_bench::report::table::number;

const HEAD: &str = "\
# The newest measurement of Forebay against nginx, which README.md, docs/performance.md and docs/production.md show.
# `make bench BENCH_ARGS=\"--data docs/data/performance.toml\"` writes this file.
#
# baseline: nginx, or Forebay itself without what the figure adds. ratio and added compare forebay with it within a round.
";

/// When, where and with which program the figures were measured.
#[derive(Debug)]
pub(crate) struct Conditions {
    date: String,
    machine: String,
    version: String,
}

impl Conditions {
    pub(crate) fn now(forebay: &Path) -> anyhow::Result<Self> {
        let version = Command::new(forebay).arg("--version").output().context("forebay --version")?.stdout;
        let date = jiff::Timestamp::now().to_string();
        let (date, _) = date.split_once('T').context("a timestamp without a time")?;
        Ok(Self {
            date: date.to_owned(),
            machine: machine(&std::fs::read_to_string("/proc/cpuinfo")?),
            version: String::from_utf8_lossy(&version).trim().to_owned(),
        })
    }
}

/// The processors of the machine, also those that this process is not pinned to.
fn machine(cpuinfo: &str) -> String {
    let models = || cpuinfo.lines().filter_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let (_, model) = models().next().unwrap_or(("", "unknown processor"));
    format!("{} cores, {model}", models().count())
}

pub(crate) fn render(figures: &Figures, conditions: &Conditions) -> String {
    let Conditions { date, machine, version } = conditions;
    let rounds = figures.rounds();
    let head = format!("\ndate = {date:?}\nmachine = {machine:?}\nversion = {version:?}\nrounds = {rounds}\n");
    let is_measured = |figure: &&Figure| figure.baseline().is_finite() && figure.contender().is_finite();
    let tables = figures.all.iter().filter(is_measured).map(table);
    [HEAD.to_owned(), head].into_iter().chain(tables).collect()
}

fn table(figure: &Figure) -> String {
    let mut text = format!("\n[[figures]]\nfigure = {:?}\nunit = {:?}\n", figure.kind.label, figure.kind.unit);
    let compared = match figure.kind.judgement {
        Judgement::Added => Some(("added", format!("{:.3}", figure.added()))),
        // An idle nginx uses no CPU.
        _ if !figure.ratio().is_finite() => None,
        Judgement::Ratio | Judgement::Value | Judgement::None => Some(("ratio", format!("{:.2}", figure.ratio()))),
    };
    let values = [("baseline", number(figure.baseline())), ("forebay", number(figure.contender()))];
    for (name, value) in values.into_iter().chain(compared) {
        // What the table shows, as a float.
        let value = value.replace(',', "");
        let point = if value.contains('.') { "" } else { ".0" };
        let _ = writeln!(text, "{name} = {value}{point}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy_bench::report::figures::{CPU_IDLE, LATENCY_P50, THROUGHPUT, UNARY};

    #[test]
    fn a_measurement_is_written_as_the_table_shows_it() {
        let mut figures = Figures::default();
        figures.add(UNARY, 20.04, 30.06);
        figures.add(THROUGHPUT, 42_991.4, 35_732.0);
        figures.add(LATENCY_P50, 0.1374, 0.1736);
        figures.add(CPU_IDLE, 0.0, 0.333);
        let conditions = Conditions {
            date: "2026-11-17".into(),
            machine: machine("processor\t: 0\nmodel name\t: Xeon\nprocessor\t: 1\nmodel name\t: Xeon\n"),
            version: "forebay 0.2.0".into(),
        };
        let text = render(&figures, &conditions);
        let data = text.strip_prefix(HEAD).unwrap();
        expect_test::expect![[r#"

            date = "2026-11-17"
            machine = "2 cores, Xeon"
            version = "forebay 0.2.0"
            rounds = 1

            [[figures]]
            figure = "unary, 1 KiB prompt"
            unit = "µs CPU"
            baseline = 20.0
            forebay = 30.1
            ratio = 1.50

            [[figures]]
            figure = "unary calls, one core"
            unit = "/s"
            baseline = 42991.0
            forebay = 35732.0
            ratio = 0.83

            [[figures]]
            figure = "latency at 2,000/s, p50"
            unit = "ms"
            baseline = 0.137
            forebay = 0.174
            added = 0.036

            [[figures]]
            figure = "CPU of an idle node"
            unit = "% core"
            baseline = 0.000
            forebay = 0.333
        "#]]
        .assert_eq(data);
    }
}
