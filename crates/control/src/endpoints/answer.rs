//! What a command answers, now or once more.

use super::Refusal;
use domain::Endpoint;
use domain::endpoint::Generation;
use serde_json::Value;

/// How a command ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Created,
    Done,
    /// It goes on after the answer.
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
pub struct Answer {
    pub outcome: Outcome,
    /// The record as JSON: byte for byte the same when it is given again.
    pub body: String,
    pub name: String,
    pub generation: Generation,
    /// Whether an earlier request with the same key was answered so.
    pub replayed: bool,
    /// The record itself, unless the answer is an old one.
    pub endpoint: Option<Endpoint>,
}

impl Answer {
    pub(super) fn new(outcome: Outcome, endpoint: Endpoint) -> Result<Self, Refusal> {
        let body = serde_json::to_string(&endpoint).map_err(|error| Refusal::Internal { cause: Box::new(error) })?;
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
