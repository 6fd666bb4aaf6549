//! Asks model servers what they are, and probes what they can do.
//!
//! `server` sends requests and reads how a server describes itself; `calls` are the small calls that show what it can do,
//! `judge` decides that by the responses, and `learn` makes one call after another.

mod calls;
mod judge;
#[cfg(test)]
mod judge_tests;
mod learn;
mod server;

pub use calls::ProbedModel;
pub use learn::{Learned, learn};
pub use server::{CallOutcome, CallResponse, Description, ModelServer, OfferedModel, ProbeError};
