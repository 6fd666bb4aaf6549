//! The response of a command, which is stored and replayed for a repeated idempotency key.

use super::EndpointError;
use domain::Endpoint;
use domain::endpoint::Generation;
use serde_json::Value;

/// How a command succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Created,
    Done,
    /// It continues after the response.
    Accepted,
}

impl Outcome {
    const ALL: [Self; 3] = [Self::Created, Self::Done, Self::Accepted];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Done => "done",
            Self::Accepted => "accepted",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == text)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandResponse {
    pub outcome: Outcome,
    /// The record as JSON; byte for byte the same when replayed.
    pub body: String,
    pub name: String,
    pub generation: Generation,
    /// Whether this is the stored response of an earlier request with the same key.
    pub replayed: bool,
    /// The record itself; `None` if replayed.
    pub endpoint: Option<Endpoint>,
}

impl CommandResponse {
    pub(super) fn new(outcome: Outcome, endpoint: Endpoint) -> Result<Self, EndpointError> {
        let body =
            serde_json::to_string(&endpoint).map_err(|error| EndpointError::Internal { cause: Box::new(error) })?;
        Ok(Self {
            outcome,
            body,
            name: endpoint.name.to_string(),
            generation: endpoint.generation,
            replayed: false,
            endpoint: Some(endpoint),
        })
    }

    pub(super) fn replayed(outcome: &str, body: String) -> Option<Self> {
        let record: Value = serde_json::from_str(&body).ok()?;
        Some(Self {
            outcome: Outcome::parse(outcome)?,
            name: record.get("name")?.as_str()?.to_owned(),
            generation: Generation(record.get("generation")?.as_u64()?),
            replayed: true,
            endpoint: None,
            body,
        })
    }
}
