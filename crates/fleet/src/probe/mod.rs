//! Asks model servers what they are and what they can do.
//!
//! `server` sends requests and reads how a server describes itself; `questions` are the small calls that show what it can do,
//! `judge` decides that by the responses, and `ask` sends one question after another.

mod ask;
mod judge;
#[cfg(test)]
mod judge_tests;
mod questions;
mod server;

pub use ask::{Learned, learn};
pub use server::{CallOutcome, CallResponse, Description, ModelServer, OfferedModel, ProbeError};
