//! Which replica a call goes to: the one with the least prompt work, queued and of the call itself.
//!
//! ```text
//! cost(replica) = prompt tokens in flight there + tokens of this prompt that it has not cached + 64 · running calls
//! ```
//!
//! [`fingerprint`] describes a prompt by hashes of its prefixes, [`index`] remembers which prefixes were sent to a replica,
//! [`load`] counts the prompt tokens in flight, [`policy`] compares the costs, and [`exchange`] encodes what nodes report to each
//! other. Nothing here knows a replica's address, does I/O or reads a clock.

pub mod exchange;
pub mod fingerprint;
pub mod index;
pub mod load;
pub mod policy;
#[cfg(test)]
mod simulation_tests;
pub mod token_ratio;

pub use fingerprint::{Fingerprint, FingerprintBuilder, PrefixHash};
pub use index::PrefixIndex;
pub use load::{EnginePressure, PromptLoad};
pub use policy::{Decisions, Reason};
pub use token_ratio::TokenRatio;
