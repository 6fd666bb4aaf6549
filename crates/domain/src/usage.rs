//! What a served call used: the event that is remembered, billed and counted.

use crate::caller::Caller;
use crate::ids::RequestId;
use crate::model::ModelId;
use crate::money::{NanoUsd, Price};
use crate::time::Timestamp;
use std::borrow::Cow;
use std::sync::Arc;

pub use crate::caller::Actor;
pub use crate::tokens::Tokens;

/// How the token counts of an event are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// The engine said so.
    Exact,
    /// The engine did not say, or the stream broke before it did.
    Estimated,
    /// Nothing was generated and nothing is charged.
    Void,
}

impl Certainty {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Estimated => "estimated",
            Self::Void => "void",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Exact, Self::Estimated, Self::Void].into_iter().find(|certainty| certainty.as_str() == text)
    }
}

/// One call that reached a model, complete or broken.
#[derive(Debug, Clone)]
pub struct UsageEvent {
    pub request: RequestId,
    pub caller: Arc<Caller>,
    pub model: ModelId,
    pub replica: Arc<str>,
    pub streamed: bool,
    /// The status the client saw, and the error code if there was one.
    pub status: u16,
    pub code: Cow<'static, str>,
    pub tokens: Tokens,
    pub certainty: Certainty,
    pub price: Price,
    pub cost: NanoUsd,
    pub started_at: Timestamp,
    pub first_byte_micros: Option<u64>,
    pub duration_micros: u64,
    /// How long it was held until a replica was ready; nothing when one was.
    pub held_micros: Option<u64>,
    /// From the request until it was first sent to a replica, with the hold.
    pub sent_micros: Option<u64>,
}

impl UsageEvent {
    /// Only calls to models of the catalogue do; dedicated ones are paid by the GPU-hour.
    pub fn counts_against_quota(&self) -> bool {
        !self.model.is_dedicated()
    }
}

/// What calls used, added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Served calls: those that were void are not among them.
    pub requests: u64,
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    pub cached_tokens: u64,
    #[serde(rename = "costUsd")]
    pub cost: NanoUsd,
}

impl From<&UsageEvent> for Totals {
    fn from(event: &UsageEvent) -> Self {
        Self {
            requests: match event.certainty {
                Certainty::Exact | Certainty::Estimated => 1,
                Certainty::Void => 0,
            },
            prompt_tokens: event.tokens.prompt,
            completion_tokens: event.tokens.completion,
            cached_tokens: event.tokens.cached,
            cost: event.cost,
        }
    }
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(other.completion_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.cost += other.cost;
    }
}

impl std::iter::Sum for Totals {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut total, one| {
            total += one;
            total
        })
    }
}
