//! Results of checks and their output.

use serde::Serialize;
use std::fmt::Write as _;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Ok,
    /// It works, but may fail soon.
    Warning,
    /// It does not work.
    Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub check: &'static str,
    pub level: Level,
    pub what: String,
    /// How to fix it; empty if ok.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub remedy: String,
}

impl Finding {
    pub(super) fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, level: Level::Ok, what: what.into(), remedy: String::new() }
    }

    pub(super) fn warning(check: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, level: Level::Warning, what: what.into(), remedy: remedy.into() }
    }

    pub(super) fn problem(check: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, level: Level::Problem, what: what.into(), remedy: remedy.into() }
    }
}

/// The results of all checks.
#[derive(Debug, Serialize)]
pub struct Report {
    pub status: Level,
    pub findings: Vec<Finding>,
}

impl Report {
    pub(super) fn new(findings: Vec<Finding>) -> Self {
        let status = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok);
        Self { status, findings }
    }

    /// One line per finding, followed by its remedy.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for Finding { check, level, what, remedy } in &self.findings {
            let mark = match level {
                Level::Ok => "ok",
                Level::Warning => "warning",
                Level::Problem => "PROBLEM",
            };
            let _ = writeln!(text, "{mark:<8} {check:<15} {}", what.replace('\n', "\n                         "));
            if !remedy.is_empty() {
                let _ = writeln!(text, "{:<24} → {remedy}", "");
            }
        }
        let count = |level| self.findings.iter().filter(|finding| finding.level == level).count();
        let (problems, warnings) = (count(Level::Problem), count(Level::Warning));
        let _ = writeln!(text, "{problems} problems, {warnings} warnings");
        text
    }
}
