//! Runs the engine as a process with the real starter models, which `scripts/fetch-models` downloads if necessary.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod batching;
mod cancellation;
mod chat;
mod completions;
mod constraints;
mod embeddings;
mod engine;
mod hub;
mod limits;
mod long_runs;
mod starting;
mod streams;
mod tools;
