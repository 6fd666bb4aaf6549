//! Other APIs in terms of chat: their requests become chat requests, and chat responses become theirs.
//!
//! Everything here is pure: bytes in, bytes out. `messages` is Anthropic's API, `responses` OpenAI's newer one.
//! [`chat_part`] reads chat responses for all of them, whole or in chunks, after [`crate::response`] has normalized them,
//! and [`chat_messages`] writes chat requests.

mod chat_messages;
mod chat_part;
#[cfg(test)]
mod fuzz_tests;
mod json_pieces;
pub mod messages;
mod request_members;
pub mod responses;
#[cfg(test)]
mod scripted_engine;
mod values;
mod writer;

use crate::error::CallError;
use bytes::{Bytes, BytesMut};
use domain::model::NativeApi;
use domain::usage::Tokens;
use messages::{MessageOptions, MessageStream};
use responses::{ResponseOptions, ResponseStream};
use std::sync::Arc;

/// The most tool calls of a choice. Each takes far more memory than the few bytes that an engine may write it in.
pub(crate) const MAX_TOOL_CALLS: usize = 1 << 12;

/// The API of a call, with what its responses need to know of the request.
#[derive(Debug, Clone, Default)]
pub enum Dialect {
    /// OpenAI's chat and embeddings, which every engine speaks.
    #[default]
    Chat,
    Messages(Arc<MessageOptions>),
    Responses(Arc<ResponseOptions>),
}

/// A chat response that cannot be translated, because of what the model wrote; the cause is for our log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TranslateError {
    #[error("not JSON: {0}")]
    NotJson(#[from] crate::json::JsonError),
    #[error("{0}")]
    Unexpected(&'static str),
}

impl Dialect {
    /// Converts a normalized chat response that is not streamed.
    pub(crate) fn translate(&self, response: Bytes, tokens: Tokens) -> Result<Bytes, TranslateError> {
        match self {
            Self::Chat => Ok(response),
            Self::Messages(options) => messages::response::translate(&response, options, tokens),
            Self::Responses(options) => responses::response::translate(&response, options, tokens),
        }
    }

    /// The memory of what a response repeats of its request.
    pub(crate) fn echo_bytes(&self) -> usize {
        match self {
            Self::Responses(options) => options.echo_bytes(),
            Self::Chat | Self::Messages(_) => 0,
        }
    }

    /// The writer of a streamed response; `None` if chunks are passed on as they are.
    pub(crate) fn stream(&self) -> Option<Box<dyn StreamTranslator>> {
        match self {
            Self::Chat => None,
            Self::Messages(options) => Some(Box::new(MessageStream::new(Arc::clone(options)))),
            Self::Responses(options) => Some(Box::new(ResponseStream::new(Arc::clone(options)))),
        }
    }

    /// The API as engines know it, and the id of the response; `None` for the one that every engine speaks.
    pub(crate) fn native_api(&self) -> Option<(NativeApi, String)> {
        match self {
            Self::Chat => None,
            Self::Messages(options) => Some((NativeApi::Messages, options.id.clone())),
            Self::Responses(options) => Some((NativeApi::Responses, options.id())),
        }
    }

    /// Writes that a stream of the engine's own events has failed before the one with this number. Returns false if the API
    /// leaves this to its surface.
    pub(crate) fn fail_native(&self, error: &CallError, number: u64, out: &mut BytesMut) -> bool {
        match self {
            Self::Chat | Self::Messages(_) => false,
            Self::Responses(options) => ResponseStream::continuing(Arc::clone(options), number).fail(error, out),
        }
    }

    /// The events of a stream that failed before it began; `None` if the client gets an HTTP error. Codex shortens the
    /// conversation after an event about a prompt that is too long, but not after an HTTP error.
    pub(crate) fn failed_stream(&self, error: &CallError) -> Option<Bytes> {
        match (self, error) {
            (Self::Responses(options), CallError::Rejected { overflow: Some(_), .. }) => {
                let mut out = BytesMut::new();
                ResponseStream::new(Arc::clone(options)).fail(error, &mut out);
                Some(out.freeze())
            }
            _ => None,
        }
    }
}

/// Converts the chunks of a chat stream to the events of another API. Events are written whole, so that an error can
/// follow them at any time.
pub(crate) trait StreamTranslator: Send + Sync {
    /// A normalized chunk, with the tokens counted so far.
    fn chunk(&mut self, chunk: &[u8], tokens: Tokens, out: &mut BytesMut) -> Result<(), TranslateError>;

    /// The bytes that are kept in memory until the stream ends, or until it is their turn.
    fn kept_bytes(&self) -> usize;

    /// The engine is alive, but has nothing to say.
    fn keep_alive(&mut self, out: &mut BytesMut);

    /// The end of the stream, with the final count of tokens.
    fn end(&mut self, tokens: Tokens, out: &mut BytesMut) -> Result<(), TranslateError>;

    /// Writes that the stream has failed. Returns false if the API leaves this to its surface.
    fn fail(&mut self, _error: &CallError, _out: &mut BytesMut) -> bool {
        false
    }
}
