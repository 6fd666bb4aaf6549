//! OpenAI's Responses API.
//!
//! [`request`] turns a request into a chat request. A response consists of [`output`] items; [`resource`] writes them
//! with the other members of a response, and [`stream`] their events.

mod events;
mod format;
mod input;
mod item;
mod members;
mod output;
mod parts;
mod reasoning;
mod request;
mod resource;
pub(super) mod response;
mod stream;
mod tool_choice;
mod tool_table;
mod tools;

#[cfg(test)]
mod request_tests;
#[cfg(test)]
mod tools_tests;

pub use reasoning::ReasoningSeal;
pub use request::{History, ItemReference, ResponseContext, ResponsesRequest};

pub(crate) use stream::ResponseStream;

use bytes::Bytes;
use std::sync::{Arc, OnceLock};
use tool_table::ToolTable;

/// What the response needs to know of the request.
#[derive(Debug, Clone)]
pub struct ResponseOptions {
    /// The part of all ids that belongs to this response.
    unique: String,
    /// The members of the response that are known from the beginning, without brackets.
    members: Vec<u8>,
    tools: ToolTable,
    /// Reasoning is also sent as its own summary.
    has_summary: bool,
    /// Set if reasoning items carry their text in a form that clients send back unread.
    seal: Option<Arc<dyn ReasoningSeal>>,
    /// Seconds since 1970.
    now: fn() -> i64,
    /// Set if the response is to be stored.
    finished: Option<FinishedResponse>,
}

impl ResponseOptions {
    /// The memory of what the response repeats, which lasts as long as the call.
    pub(crate) fn echo_bytes(&self) -> usize {
        self.members.len() + self.tools.bytes()
    }

    pub(super) fn id(&self) -> String {
        format!("resp_{}", self.unique)
    }
}

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
        self.get().map(|response| resource::unstored(response))
    }

    fn set(&self, response: Bytes) {
        // A response ends once.
        let _ = self.0.set(response);
    }
}
