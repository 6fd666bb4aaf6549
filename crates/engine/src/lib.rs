//! forebay-engine: one model behind an OpenAI-compatible HTTP interface.
//!
//! llama.cpp computes, through the crate `llama-cpp-2`; this crate decides what is computed when (`decode`, `embed`),
//! turns conversations into prompts (`template`, `chat`), and speaks HTTP (`http`). It knows nothing of the gateway,
//! which starts it as a child process or reaches it like any other model server.

mod backend;
pub mod bare;
mod chat;
pub mod cli;
mod constraint;
mod decode;
mod embed;
mod http;
mod loading;
mod members;
mod metrics;
mod model;
mod refusal;
mod sampling;
mod signals;
mod template;
mod tools;
mod weights;
