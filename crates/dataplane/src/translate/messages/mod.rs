//! Anthropic's Messages API.
//!
//! [`request`] turns a request into a chat request; [`response`] and [`stream`] turn chat responses into messages and
//! their events.

mod arguments;
mod content;
mod ending;
pub mod request;
pub(super) mod response;
mod stream;
mod thinking;
mod tools;

#[cfg(test)]
mod request_tests;
#[cfg(test)]
mod stream_grammar;
#[cfg(test)]
mod stream_property_tests;
#[cfg(test)]
mod stream_tests;

pub use request::{ChatTranslation, MessagesRequest, Traits};
pub(crate) use stream::MessageStream;

/// What the response needs to know of the request and the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageOptions {
    /// The id of the message.
    pub id: String,
    /// The name of the model that the client sent.
    pub model: String,
    pub context_length: u64,
    pub(crate) max_tokens: u64,
    pub(crate) stop_sequences: Vec<String>,
    /// Thinking is not sent to the client.
    pub(crate) omits_thinking: bool,
}
