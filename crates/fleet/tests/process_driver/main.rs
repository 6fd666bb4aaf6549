//! Replicas as real processes: small scripts, and the scripted engine, under real shims.

#![expect(clippy::unwrap_used, reason = "a story that cannot go on stops there")]

mod built_in;
mod engines;
mod helpers;
mod life;
mod strangers;
