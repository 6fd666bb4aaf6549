//! Places at which a test may have the process killed, to see that the next one makes good what was left half-done.
//!
//! `FOREBAY_TEST_KILL_AT=<place>` ends the process there as `kill -9` would. A release build has no such places.

/// Every place there is, in the order in which a create and what follows from it reach them.
pub const PLACES: [&str; 14] = [
    "command-before-commit",
    "command-after-commit",
    "replica-wished",
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

/// Ends the process here if that is what a test wants.
#[cfg(debug_assertions)]
pub(crate) fn place(name: &str) {
    use std::sync::LazyLock;
    static WANTED: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("FOREBAY_TEST_KILL_AT").ok());
    debug_assert!(PLACES.contains(&name), "{name} is not in the list");
    if WANTED.as_deref() == Some(name) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

#[cfg(not(debug_assertions))]
pub(crate) const fn place(_name: &str) {}
