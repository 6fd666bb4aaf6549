//! What engines answer, and what of it is put right on the way to the client.
//!
//! Engines stray from the format that clients were written for: they name themselves as the model, leave out the
//! role, stamp every chunk anew, or send usage nobody asked for. Everything else passes as it came.

pub mod chat;
pub mod chat_stream;
mod chunk;
pub mod embeddings;
mod finish;
mod members;
pub mod sse;
mod tokens;
pub mod upstream_error;

pub use tokens::Meter;

/// An answer that makes no sense; the cause is for our log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Nonsense {
    #[error("not JSON: {0}")]
    NotJson(#[from] crate::json::Malformed),
    #[error("{0}")]
    Unexpected(&'static str),
    #[error("the engine reported: {0}")]
    Reported(String),
    /// The engine ignored a member that must be obeyed.
    #[error("the engine ignored `{0}`")]
    Ignored(&'static str),
}
