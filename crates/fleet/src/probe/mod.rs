//! Asks model servers what they are, and probes what they can do.
//!
//! `server` sends requests, `description` reads how a server describes itself, and `chat_stream` a streamed chat; `calls`
//! are the small calls that show what it can do, `judge` decides that by the responses, and `learn` makes one call after
//! another.

mod calls;
mod chat_stream;
mod description;
mod judge;
#[cfg(test)]
mod judge_tests;
mod learn;
mod server;

pub use calls::ProbedModel;
pub use description::{Description, OfferedModel};
pub use learn::{Learned, learn};
pub use server::{CallOutcome, CallResponse, ModelServer, ProbeError};
