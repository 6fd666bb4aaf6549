//! Scripts of the fake engine. Every member has a harmless default.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::personality::{Personality, UsageFault};

/// Maximum number of content chunks, so that a typing error cannot exhaust memory.
pub(super) const MAX_CHUNKS: usize = 100_000;

/// Behaviour of one call, from code or as JSON (`"fake": {…}` in a request body, or `POST /script`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// The engine whose usage reports are imitated.
    pub engine: Personality,
    /// A way to report usage wrongly.
    pub usage_fault: Option<UsageFault>,
    /// Each choice has one content chunk less than the one before it.
    pub uneven: bool,
    /// Tokens of each choice that have no text, such as the one that ends it.
    pub hidden_tokens: u64,
    /// The version that it says, if any.
    pub version: Option<String>,
    /// Names of members, or types of parts, with which chats are rejected, as by this engine without the option for them.
    pub refused: Vec<String>,
    /// Delay before the headers.
    pub delay_ms: u64,
    /// Number of content chunks of a stream; a unary response repeats the text as often.
    pub chunks: usize,
    /// Delay before each content chunk except the first (with `split`: between the pieces).
    pub chunk_delay_ms: u64,
    /// Content of each chunk; may contain multi-byte characters.
    pub text: String,
    /// Content of the first chunk instead of `text`.
    pub first_text: Option<String>,
    /// Abort the connection after this many content chunks; a unary response is cut in the middle of its body.
    pub cut_after: Option<usize>,
    /// Send nothing more after this many content chunks and stay connected. The role chunk is still sent (unless
    /// `no_role`). A unary response with 0 sends no headers.
    pub stall_after: Option<usize>,
    /// Close the connection once the request has been read, before any header.
    pub hang_up: bool,
    /// An error status, with `error_body`.
    pub status: Option<u16>,
    pub error_body: ErrorBody,
    pub error_message: Option<String>,
    /// Value of the `Retry-After` header, for any status.
    pub retry_after: Option<String>,
    /// Unary: invalid JSON. Stream: one invalid data line after the first content chunk.
    pub wrong_json: bool,
    /// 200 with an HTML page.
    pub html: bool,
    pub no_usage: bool,
    /// Cumulative usage in every chunk and a usage chunk at the end, whether requested or not.
    pub usage_every_chunk: bool,
    /// Usage on the last content chunk instead of a separate chunk, whether requested or not.
    pub usage_on_last_content_chunk: bool,
    /// `"usage":null` in the other chunks if usage is requested, like OpenAI and SGLang.
    pub usage_null: bool,
    /// Content of about this many bytes: the whole unary response, or an additional content chunk.
    pub huge_bytes: usize,
    /// Send a unary response in chunks, without its length.
    pub chunked: bool,
    /// Use CRLF line endings in events.
    pub crlf: bool,
    /// A comment line (`: ping`) before every event.
    pub comments: bool,
    /// An `id:` line in every event.
    pub id_lines: bool,
    /// Pings between events: `event: ping`, alternately without and with `data: {}`.
    pub event_lines: bool,
    pub no_role: bool,
    /// Increase `created` with each chunk.
    pub created_per_chunk: bool,
    pub finish_reason: String,
    /// End the stream cleanly but without `[DONE]`.
    pub no_done: bool,
    /// Send an error event and `[DONE]` after this many content chunks, like vLLM.
    pub error_event_after: Option<usize>,
    /// Encoding of embeddings, whatever was requested.
    pub embed_as: Option<EmbedAs>,
    /// Length of vectors if `dimensions` is not requested or is ignored.
    pub embedding_size: usize,
    pub dimensions_ignored: bool,
    /// Write the bytes in pieces of this size, each flushed, regardless of events and characters.
    pub split: Option<usize>,
    pub prompt_tokens: u64,
    /// Completion tokens of all choices. Default: one per content chunk, plus the hidden ones.
    pub completion_tokens: Option<u64>,
    pub cached_tokens: Option<u64>,
    /// Ignore the token limit of the call.
    pub limit_ignored: bool,
    /// Close the connection after the response without `Connection: close`.
    pub close_after_response: bool,
    /// Model name in responses.
    pub model: String,
    /// Additional response headers.
    pub headers: BTreeMap<String, String>,
    /// Replaces the body of a unary response.
    pub raw_body: Option<String>,
    /// Replaces the payloads of all `data:` lines of a stream (`[DONE]` still follows).
    pub raw_events: Option<Vec<String>>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            engine: Personality::Vllm,
            usage_fault: None,
            uneven: false,
            hidden_tokens: 0,
            version: None,
            refused: Vec::new(),
            delay_ms: 0,
            chunks: 3,
            chunk_delay_ms: 0,
            text: "Hello ".to_owned(),
            first_text: None,
            cut_after: None,
            stall_after: None,
            hang_up: false,
            status: None,
            error_body: ErrorBody::Vllm,
            error_message: None,
            retry_after: None,
            wrong_json: false,
            html: false,
            no_usage: false,
            usage_every_chunk: false,
            usage_on_last_content_chunk: false,
            usage_null: false,
            huge_bytes: 0,
            chunked: false,
            crlf: false,
            comments: false,
            id_lines: false,
            event_lines: false,
            no_role: false,
            created_per_chunk: false,
            finish_reason: "stop".to_owned(),
            no_done: false,
            error_event_after: None,
            embed_as: None,
            embedding_size: 8,
            dimensions_ignored: false,
            split: None,
            prompt_tokens: 10,
            completion_tokens: None,
            cached_tokens: None,
            limit_ignored: false,
            close_after_response: false,
            model: "fake-model".to_owned(),
            headers: BTreeMap::new(),
            raw_body: None,
            raw_events: None,
        }
    }
}

impl Script {
    /// The script of a response whose beginning is part of the prompt, as an engine generates it that continues a message.
    /// Another beginning than its own does not change what it says.
    pub(super) fn continuing(&self, beginning: &str) -> Self {
        let length = self.text.len();
        let whole = self.text.repeat(self.chunks.min(MAX_CHUNKS));
        if length == 0 || !whole.starts_with(beginning) {
            return self.clone();
        }
        let said = beginning.len() / length;
        Self {
            chunks: self.chunks - said,
            first_text: self.text.get(beginning.len() % length..).map(str::to_owned),
            prompt_tokens: self.prompt_tokens + beginning.len().div_ceil(length) as u64,
            ..self.clone()
        }
    }

    /// The content of a chunk.
    pub(super) fn content(&self, chunk: usize) -> &str {
        self.first_text.as_deref().filter(|_| chunk == 0).unwrap_or(&self.text)
    }
}

/// Error format, as used by different engines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorBody {
    /// Nested, `code` an integer, `param` null.
    #[default]
    Vllm,
    /// The same members without the enclosing `error`.
    Sglang,
    /// Nested, no `param`.
    LlamaCpp,
    /// Anthropic's envelope, which vLLM has for Messages.
    Messages,
    /// This text as `text/plain`.
    Raw(String),
    /// These bytes as `application/octet-stream`.
    Bytes(Vec<u8>),
}

/// The two encodings of an embedding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmbedAs {
    Float,
    Base64,
}
