//! The response of a command, which is stored and replayed for a repeated idempotency key.

use domain::Endpoint;
use domain::named_enum;

named_enum! {
    /// How a command succeeded.
    pub enum Outcome {
        Created = "created",
        Done = "done",
        /// It continues after the response.
        Accepted = "accepted",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandResponse {
    pub outcome: Outcome,
    /// The encoded record. A replay repeats it byte for byte.
    pub body: String,
    /// Whether an earlier request with the same idempotency key made the change.
    pub replayed: bool,
    /// The record itself, unless replayed.
    pub endpoint: Option<Endpoint>,
}

impl CommandResponse {
    pub(super) fn new(outcome: Outcome, endpoint: Endpoint, encode: fn(&Endpoint) -> String) -> Self {
        Self { outcome, body: encode(&endpoint), replayed: false, endpoint: Some(endpoint) }
    }

    pub(super) fn replayed(outcome: &str, body: String) -> Option<Self> {
        Some(Self { outcome: Outcome::parse(outcome)?, body, replayed: true, endpoint: None })
    }
}
