//! Other APIs in terms of chat: their requests become chat requests, and chat responses become theirs.
//!
//! Everything here is pure: bytes in, bytes out. `messages` is Anthropic's API, `responses` OpenAI's newer one.
//! [`chat_part`] reads chat responses for all of them, whole or in chunks, after the data plane has normalized them, and
//! [`chat_messages`] writes chat requests.

mod chat_messages;
mod chat_part;
pub mod messages;
mod native;
mod opened;
mod raw_text;
mod request_members;
pub mod responses;
mod sse;
mod thinking;
mod values;
mod writer;

pub use native::{NativeHead, NativeRequest};
pub use opened::Opened;

use bytes::{Bytes, BytesMut};
use domain::model::{NativeApi, ThinkingSwitch};
use domain::usage::Tokens;
use json::InvalidParam;
use messages::{MessageOptions, MessageStream};
use responses::{ResponseOptions, ResponseStream};
use std::sync::Arc;

/// The most tool calls of a choice. Each takes far more memory than the few bytes that an engine may write it in.
pub const MAX_TOOL_CALLS: usize = 1 << 12;

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
pub enum TranslateError {
    #[error("not JSON: {0}")]
    NotJson(#[from] json::JsonError),
    #[error("{0}")]
    Unexpected(&'static str),
}

/// The properties of a model that its chat requests depend on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traits {
    pub context_length: u64,
    pub thinking: ThinkingSwitch,
    /// The chat template accepts only one system message, the first.
    pub merge_system: bool,
    /// An engine of the model speaks the client's API itself.
    pub is_native: bool,
    /// Calls may be flex calls.
    pub has_flex: bool,
}

/// A request of another API as a chat request, and what it knows better than that.
#[derive(Debug)]
pub struct Translation<O> {
    /// The chat request.
    pub body: Bytes,
    /// Paths are those of the client's request.
    pub invalid: Option<InvalidParam>,
    /// The path of what became `response_format`.
    pub format_member: &'static str,
    /// The path of an address from which an engine would fetch media.
    pub remote_media: Option<String>,
    /// The most tokens to generate, if the client limits them. If the context leaves fewer, the limit is lowered to that.
    pub soft_limit: Option<u64>,
    /// Set if an engine may get the client's request instead.
    pub native: Option<NativeRequest>,
    /// What the response needs to know of the request.
    pub options: O,
    /// The types of tools that no engine has.
    pub left_out_tools: Vec<String>,
    /// The last message is one of the assistant, which the response continues.
    pub continues_message: bool,
}

/// Why a stream fails.
#[derive(Debug, Clone, Copy)]
pub struct Failure<'a> {
    pub kind: FailureKind,
    /// For the client.
    pub message: &'a str,
}

/// The kinds of failures that clients tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    ContextOverflow,
    RateLimit,
    Quota,
    Overloaded,
    Server,
}

impl Dialect {
    /// Converts a normalized chat response that is not streamed.
    pub fn translate(&self, response: Bytes, tokens: Tokens) -> Result<Bytes, TranslateError> {
        match self {
            Self::Chat => Ok(response),
            Self::Messages(options) => messages::response::translate(&response, options, tokens),
            Self::Responses(options) => responses::response::translate(&response, options, tokens),
        }
    }

    /// The memory of what a response repeats of its request.
    pub fn echo_bytes(&self) -> usize {
        match self {
            Self::Responses(options) => options.echo_bytes(),
            Self::Chat | Self::Messages(_) => 0,
        }
    }

    /// The writer of a streamed response; `None` if chunks are passed on as they are.
    pub fn stream(&self) -> Option<Box<dyn StreamTranslator>> {
        match self {
            Self::Chat => None,
            Self::Messages(options) => Some(Box::new(MessageStream::new(Arc::clone(options)))),
            Self::Responses(options) => Some(Box::new(ResponseStream::new(Arc::clone(options)))),
        }
    }

    /// Writes the first events of a stream, with the tokens that its prompt probably has, before its engine has begun. The
    /// writers of the stream leave them out.
    pub fn open_stream(&self, tokens: Tokens, out: &mut BytesMut) {
        match self {
            Self::Chat => sse::write_comment(out),
            Self::Messages(options) => MessageStream::new(Arc::clone(options)).open(tokens, out),
            Self::Responses(options) => ResponseStream::new(Arc::clone(options)).open(out),
        }
    }

    /// Writes that a stream is alive whose engine has not begun.
    pub fn ping(&self, out: &mut BytesMut) {
        match self {
            Self::Chat | Self::Responses(_) => sse::write_comment(out),
            Self::Messages(_) => messages::write_ping(out),
        }
    }

    /// The API as engines know it, and the id of the response; `None` for the one that every engine speaks.
    pub fn native_api(&self) -> Option<(NativeApi, String)> {
        match self {
            Self::Chat => None,
            Self::Messages(options) => Some((NativeApi::Messages, options.id.clone())),
            Self::Responses(options) => Some((NativeApi::Responses, options.id())),
        }
    }

    /// Whether its responses name the flex tier.
    pub fn is_flex(&self) -> bool {
        match self {
            // Responses of chat name the tier by the class of their call.
            Self::Chat => false,
            Self::Messages(options) => options.is_flex,
            Self::Responses(options) => options.is_flex(),
        }
    }

    /// Writes that a stream of the engine's own events has failed before the one with this number. Returns false if the API
    /// leaves this to its surface.
    pub fn fail_native(&self, failure: Failure<'_>, number: u64, out: &mut BytesMut) -> bool {
        match self {
            Self::Chat | Self::Messages(_) => false,
            Self::Responses(options) => ResponseStream::continuing(Arc::clone(options), number).fail(failure, out),
        }
    }

    /// The events of a stream that failed before it began; `None` if the client gets an HTTP error. Codex shortens the
    /// conversation after an event about a prompt that is too long, but not after an HTTP error.
    pub fn failed_stream(&self, failure: Failure<'_>) -> Option<Bytes> {
        match (self, failure.kind) {
            (Self::Responses(options), FailureKind::ContextOverflow | FailureKind::Quota) => {
                let mut out = BytesMut::new();
                ResponseStream::new(Arc::clone(options)).fail(failure, &mut out);
                Some(out.freeze())
            }
            _ => None,
        }
    }
}

/// Converts the chunks of a chat stream to the events of another API. Events are written whole, so that an error can
/// follow them at any time.
pub trait StreamTranslator: Send + Sync {
    /// A normalized chunk, with the tokens counted so far.
    fn chunk(&mut self, chunk: &[u8], tokens: Tokens, out: &mut BytesMut) -> Result<(), TranslateError>;

    /// The bytes that are kept in memory until the stream ends, or until it is their turn.
    fn kept_bytes(&self) -> usize;

    /// The engine is alive, but has nothing to say.
    fn keep_alive(&mut self, out: &mut BytesMut);

    /// The end of the stream, with the final count of tokens.
    fn end(&mut self, tokens: Tokens, out: &mut BytesMut) -> Result<(), TranslateError>;

    /// Writes that the stream has failed. Returns false if the API leaves this to its surface.
    fn fail(&mut self, _failure: Failure<'_>, _out: &mut BytesMut) -> bool {
        false
    }
}
