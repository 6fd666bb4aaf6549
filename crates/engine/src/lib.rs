//! forebay-engine: one model behind an OpenAI-compatible HTTP interface.
//!
//! llama.cpp does the computation, through the crate `llama-cpp-2`. This crate schedules it (`decode`, `embed`), turns
//! conversations into prompts (`model::template`, `chat`) and serves HTTP (`http`). It does not depend on the gateway,
//! which starts it as a child process or calls it like any other model server.

pub mod bare;
mod chat;
pub mod cli;
mod completion;
mod decode;
mod embed;
mod error;
mod http;
mod loading;
mod long_text;
mod members;
mod metrics;
mod model;
mod sampling;
mod signals;
mod tools;
mod weights;
