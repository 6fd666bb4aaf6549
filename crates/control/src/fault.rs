//! Fault points: places where a test can kill the process, to verify that the next one completes unfinished work.
//!
//! `FOREBAY_TEST_KILL_AT=<point>` kills the process there with SIGKILL. Release builds have no fault points.

/// All fault points, in the order in which the life of an endpoint reaches them.
pub const POINTS: [&str; 14] = [
    "command-before-commit",
    "command-after-commit",
    "replica-added",
    "bound-before-commit",
    "bound-after-commit",
    "process-started",
    "starting-written",
    "ready-before-commit",
    "ready-after-commit",
    "drain-begun",
    "drained-before-stop",
    "stopped",
    "ended-before-commit",
    "ended-after-commit",
];

/// Kills the process if a test has selected this point.
#[cfg(debug_assertions)]
pub(crate) fn point(name: &str) {
    use std::sync::LazyLock;
    static SELECTED: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("FOREBAY_TEST_KILL_AT").ok());
    debug_assert!(POINTS.contains(&name), "unknown fault point {name}");
    if SELECTED.as_deref() == Some(name) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

#[cfg(not(debug_assertions))]
pub(crate) const fn point(_name: &str) {}
