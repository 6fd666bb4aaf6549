//! The usage event of a call: recorded by the meter, stored, billed and counted.

use crate::budget::ReservedIn;
use crate::call_class::CallClass;
use crate::caller::Caller;
use crate::end_user::EndUser;
use crate::ids::{BatchId, RequestId};
use crate::model::ModelId;
use crate::money::{NanoUsd, Price};
use crate::named_enum;
use crate::time::Timestamp;
use std::borrow::Cow;
use std::sync::Arc;

pub use crate::caller::Actor;
pub use crate::tokens::Tokens;

/// The code of a call whose client disconnected before the response ended. It is counted apart from errors.
pub const CLIENT_GONE: &str = "client_gone";

named_enum! {
    /// How the token counts of an event are known.
    pub enum Certainty {
        /// The engine reported them.
        Exact = "exact",
        /// The engine did not report them, or the stream broke before it did.
        Estimated = "estimated",
        /// Nothing was generated and nothing is charged.
        Void = "void",
    }
}

named_enum! {
    /// The API that a call was made through; `batch` for the lines of batches, whatever their API is.
    #[derive(PartialOrd, Ord)]
    pub enum CallSurface {
        Chat = "chat",
        Messages = "messages",
        Responses = "responses",
        Completions = "completions",
        Embeddings = "embeddings",
        Rerank = "rerank",
        Score = "score",
        Batch = "batch",
    }
}

/// How a call was made. Only its class has an effect on its price.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallOrigin {
    /// `None` for calls from before it was recorded.
    pub surface: Option<CallSurface>,
    /// The name that the client sent, if it is an alias of the model.
    pub requested_model: Option<Box<str>>,
    /// The batch whose line the call is.
    pub batch: Option<BatchId>,
    pub class: CallClass,
}

/// One call that reached a replica, whether it succeeded or failed.
///
/// The journal line and the row of the store derive from this struct: a new field is added here, in
/// `store/usage/journal/line.rs` and in `store/usage/event.rs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageEvent {
    pub request: RequestId,
    pub caller: Arc<Caller>,
    pub model: ModelId,
    pub replica: Arc<str>,
    pub streamed: bool,
    /// The status that the client saw, and the error code; empty if there was no error.
    pub status: u16,
    pub code: Cow<'static, str>,
    pub tokens: Tokens,
    pub certainty: Certainty,
    pub price: Price,
    pub cost: NanoUsd,
    pub started_at: Timestamp,
    pub first_byte_micros: Option<u64>,
    pub duration_micros: u64,
    /// How long the call was held until a replica was ready; `None` if it was not held.
    pub held_micros: Option<u64>,
    /// From the request until it was first sent to a replica, including the hold.
    pub sent_micros: Option<u64>,
    pub origin: CallOrigin,
    /// How often the stream went on at another replica after its replica was lost. `replica` is the last one.
    pub failovers: u32,
    /// The person behind the key, if the call named one. The text is not in the row.
    pub end_user: Option<Arc<EndUser>>,
    /// The budgets in which the call reserved its cost. In the journal only.
    pub reserved_in: ReservedIn,
}

impl UsageEvent {
    /// Only calls to models of the catalogue do; dedicated endpoints are billed per GPU-hour.
    pub fn counts_against_quota(&self) -> bool {
        !self.model.is_dedicated()
    }
}

/// The usage of several calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Served calls, without void ones.
    pub requests: u64,
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    pub cached_tokens: u64,
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

impl std::ops::SubAssign for Totals {
    fn sub_assign(&mut self, part: Self) {
        self.requests = self.requests.saturating_sub(part.requests);
        self.prompt_tokens = self.prompt_tokens.saturating_sub(part.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_sub(part.completion_tokens);
        self.cached_tokens = self.cached_tokens.saturating_sub(part.cached_tokens);
        self.cost = NanoUsd::from_nanos(self.cost.nanos().saturating_sub(part.cost.nanos()));
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
