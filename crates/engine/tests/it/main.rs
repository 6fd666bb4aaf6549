//! The engine as a process, with the real starter models. `scripts/fetch-models` brings them if they are not there.

#![expect(clippy::unwrap_used, reason = "a story that cannot go on stops there")]

mod batching;
mod cancellation;
mod chat;
mod constraints;
mod embeddings;
mod engine;
mod hub;
mod limits;
mod starting;
mod streams;
mod tools;
