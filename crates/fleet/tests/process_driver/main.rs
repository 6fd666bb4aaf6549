//! Replicas as real processes: small scripts, and the scripted engine, under real shims.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod built_in;
mod engines;
mod helpers;
mod life;
mod other_processes;
