//! OpenAI's Responses API.
//!
//! [`request`] turns a request into a chat request, [`response`] and [`stream`] turn chat responses into responses with
//! their [`output`] items, and into events. [`wire`] are the types that clients get.

mod events;
mod format;
mod input;
mod item;
mod members;
mod output;
mod parts;
mod reasoning;
mod request;
pub(super) mod response;
mod stream;
mod tool_choice;
mod tool_table;
mod tools;
mod wire;

#[cfg(test)]
mod request_tests;
#[cfg(test)]
mod tools_tests;

pub use reasoning::ReasoningSeal;
pub use request::{History, ItemReference, ResponseContext, ResponsesRequest};

pub(crate) use stream::ResponseStream;

use crate::Opened;
use bytes::Bytes;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use tool_table::ToolTable;
use wire::{RequestEcho, Response};

/// What the response needs to know of the request.
#[derive(Debug)]
pub struct ResponseOptions {
    /// The part of all ids that belongs to this response.
    unique: String,
    /// The members of the response that are known from the beginning.
    echo: RequestEcho,
    /// The size of `echo` and of the tools.
    echo_bytes: usize,
    tools: ToolTable,
    /// Reasoning is also sent as its own summary.
    has_summary: bool,
    /// Set if reasoning items carry their text in a form that clients send back unread.
    seal: Option<Arc<dyn ReasoningSeal>>,
    is_flex: bool,
    /// Seconds since 1970.
    now: fn() -> i64,
    /// Set if the response is to be stored.
    finished: Option<FinishedResponse>,
    opened: Opened,
}

impl ResponseOptions {
    /// The size of what the response repeats of its request, which lasts as long as the call.
    pub fn echo_bytes(&self) -> usize {
        self.echo_bytes
    }

    pub(super) fn is_flex(&self) -> bool {
        self.is_flex
    }

    pub(super) fn id(&self) -> String {
        format!("resp_{}", self.unique)
    }
}

/// What follows the response in the event that ends a stream.
const AFTER_RESPONSE: &[u8] = b"}\n\n";

/// The final response, as JSON, once it has been written. Shared with the code that stores it.
#[derive(Debug, Clone, Default)]
pub struct FinishedResponse(Arc<OnceLock<Bytes>>);

impl FinishedResponse {
    /// `None` until the response is complete, and if it failed.
    pub fn get(&self) -> Option<&Bytes> {
        self.0.get()
    }

    /// The response as it reads if it could not be stored.
    pub fn unstored(&self) -> Option<Bytes> {
        let mut members: BTreeMap<&str, &RawValue> = serde_json::from_slice(self.get()?).ok()?;
        members.insert("store", RawValue::FALSE);
        serde_json::to_vec(&members).ok().map(Bytes::from)
    }

    /// The end of a stream as it reads if the response could not be stored; `None` if `events` are an earlier part.
    pub fn unstored_events(&self, events: &[u8]) -> Option<Bytes> {
        let before = events.strip_suffix(AFTER_RESPONSE)?.strip_suffix(&self.get()?[..])?;
        Some([before, &self.unstored()?[..], AFTER_RESPONSE].concat().into())
    }

    /// A response ends once.
    fn set(&self, response: &Response<'_>) -> Bytes {
        self.0.get_or_init(|| response.to_json()).clone()
    }
}
