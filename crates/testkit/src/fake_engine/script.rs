//! What the fake engine is told to do with a call. Every member has a harmless default.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// More content chunks than this are never sent, so that a typing error cannot fill the memory.
pub(super) const MAX_CHUNKS: usize = 100_000;

/// One call's behaviour, from code or as JSON (`"fake": {…}` in a request body, or `POST /script`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// Wait before the headers.
    pub delay_ms: u64,
    /// How many content chunks a stream has; a unary answer holds the text as often.
    pub chunks: usize,
    /// Wait before each content chunk but the first (with `split`: between the pieces).
    pub chunk_delay_ms: u64,
    /// Content of each chunk; may hold multi-byte characters.
    pub text: String,
    /// Abort the connection after this many content chunks; a unary answer breaks in the middle of its body.
    pub cut_after: Option<usize>,
    /// Send nothing more after this many content chunks and stay connected; the role chunk still comes before them
    /// (unless `no_role`). A unary answer with 0 sends no header.
    pub stall_after: Option<usize>,
    /// Close the connection once the request has been read, before any header.
    pub hang_up: bool,
    /// An error status, with `error_body`.
    pub status: Option<u16>,
    pub error_body: ErrorBody,
    pub error_message: Option<String>,
    /// Value of the `Retry-After` header, whatever the status.
    pub retry_after: Option<String>,
    /// Unary: broken JSON. Stream: one broken data line after the first content chunk.
    pub wrong_json: bool,
    /// 200 with an HTML page.
    pub html: bool,
    pub no_usage: bool,
    /// Running usage in every chunk and a usage chunk at the end, asked for or not.
    pub usage_every_chunk: bool,
    /// Usage on the last content chunk instead of a chunk of its own, asked for or not.
    pub usage_on_last_content_chunk: bool,
    /// `"usage":null` in the other chunks when usage was asked for, as OpenAI and SGLang do.
    pub usage_null: bool,
    /// Content of about this many bytes: the whole unary answer, or one more content chunk.
    pub huge_bytes: usize,
    /// Line ends of events are CR LF.
    pub crlf: bool,
    /// A comment line (`: ping`) before every event.
    pub comments: bool,
    /// An `id:` line in every event.
    pub id_lines: bool,
    /// Pings between the events: `event: ping` alone, then with `data: {}`, in turn.
    pub event_lines: bool,
    pub no_role: bool,
    pub role_every_chunk: bool,
    /// `created` grows with each chunk.
    pub created_per_chunk: bool,
    pub finish_reason: String,
    /// End the stream cleanly, but without `[DONE]`.
    pub no_done: bool,
    /// After this many content chunks: an error event, then `[DONE]`, as vLLM does.
    pub error_event_after: Option<usize>,
    /// Send embeddings this way whatever was asked.
    pub embed_as: Option<EmbedAs>,
    /// How long a vector is when no `dimensions` is asked (or heeded).
    pub embedding_size: usize,
    pub dimensions_ignored: bool,
    /// Write the bytes of the events in pieces of this size, flushed one by one, across events and characters.
    pub split: Option<usize>,
    pub prompt_tokens: u64,
    /// Default: one per content chunk and choice.
    pub completion_tokens: Option<u64>,
    pub cached_tokens: Option<u64>,
    /// Generate more than the call allows, as no engine should.
    pub limit_ignored: bool,
    /// Close the connection after the answer without having said `Connection: close`.
    pub close_after_response: bool,
    /// The model's name in answers.
    pub model: String,
    /// Further headers of the answer.
    pub headers: BTreeMap<String, String>,
    /// The whole body of a unary answer, as is.
    pub raw_body: Option<String>,
    /// The payloads of the `data:` lines of a stream, as they are, instead of all chunks (`[DONE]` still follows).
    pub raw_events: Option<Vec<String>>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            delay_ms: 0,
            chunks: 3,
            chunk_delay_ms: 0,
            text: "Hello ".to_owned(),
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
            crlf: false,
            comments: false,
            id_lines: false,
            event_lines: false,
            no_role: false,
            role_every_chunk: false,
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

/// Whose error body the engine imitates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorBody {
    /// Nested, `code` an integer, `param` null.
    #[default]
    Vllm,
    /// The same members without the `error` around them.
    Sglang,
    /// Nested, no `param`.
    LlamaCpp,
    /// These characters as `text/plain`.
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
