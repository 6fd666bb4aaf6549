//! Anthropic's Messages API.
//!
//! [`request`] turns a request into a chat request; [`response`] and [`stream`] turn chat responses into messages and
//! their events.

mod arguments;
mod content;
mod ending;
mod request;
pub(super) mod response;
mod stream;
mod thinking;
mod tools;
mod wire;

#[cfg(test)]
mod request_tests;

pub use request::MessagesRequest;
pub(crate) use stream::{MessageStream, write_ping};

use crate::Opened;

/// What the response needs to know of the request and the model.
#[derive(Debug)]
pub struct MessageOptions {
    /// The id of the message.
    pub id: String,
    /// The name of the model that the client sent.
    pub model: String,
    pub context_length: u64,
    pub max_tokens: u64,
    pub stop_sequences: Vec<String>,
    /// Thinking is not sent to the client.
    pub omits_thinking: bool,
    pub is_flex: bool,
    pub opened: Opened,
}
