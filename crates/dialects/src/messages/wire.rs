//! What clients of Messages get: a message, its blocks, and the events of its stream.

use super::MessageOptions;
use crate::raw_text::{Text, encode};
use crate::sse;
use bytes::BytesMut;
use domain::usage::Tokens;
use serde::Serialize;
use serde_json::value::RawValue;

/// Clients send it back with the thinking; it has no meaning for us.
pub(super) const SIGNATURE: &str = "Zm9yZWJheQ==";

#[derive(Debug, Serialize)]
pub(super) struct Message<'a> {
    pub(super) id: &'a str,
    pub(super) r#type: &'static str,
    pub(super) role: &'static str,
    pub(super) model: &'a str,
    pub(super) content: Vec<Block<'a>>,
    #[serde(flatten)]
    pub(super) stop: Stop<'a>,
    pub(super) usage: Usage,
}

impl<'a> Message<'a> {
    pub(super) fn new(options: &'a MessageOptions, content: Vec<Block<'a>>, stop: Stop<'a>, usage: Usage) -> Self {
        let (id, model) = (&options.id, &options.model);
        Self { id, r#type: "message", role: "assistant", model, content, stop, usage }
    }
}

/// Why a message ended. All members are null until then.
#[derive(Debug, Default, Serialize)]
pub(super) struct Stop<'a> {
    pub(super) stop_reason: Option<StopReason>,
    pub(super) stop_sequence: Option<&'a str>,
    stop_details: (),
    container: (),
}

impl<'a> Stop<'a> {
    pub(super) fn new(stop_reason: StopReason, stop_sequence: Option<&'a str>) -> Self {
        Self { stop_reason: Some(stop_reason), stop_sequence, ..Self::default() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StopReason {
    EndTurn,
    MaxTokens,
    ToolUse,
    StopSequence,
    Refusal,
    #[serde(rename = "model_context_window_exceeded")]
    ContextWindowExceeded,
}

/// With the members that strict clients require.
#[derive(Debug, Serialize)]
pub(super) struct Usage {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
    output_tokens: u64,
    output_tokens_details: Option<OutputDetails>,
    cache_creation: (),
    inference_geo: (),
    server_tool_use: (),
    /// `flex`, or null.
    service_tier: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct OutputDetails {
    thinking_tokens: u64,
}

impl Usage {
    pub(super) fn new(tokens: Tokens, thinking_tokens: Option<u64>, is_flex: bool) -> Self {
        Self {
            input_tokens: tokens.prompt.saturating_sub(tokens.cached),
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: tokens.cached,
            output_tokens: tokens.completion,
            output_tokens_details: thinking_tokens.map(|thinking_tokens| OutputDetails { thinking_tokens }),
            cache_creation: (),
            inference_geo: (),
            server_tool_use: (),
            service_tier: is_flex.then_some("flex"),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Text { text: Text<'a>, citations: [(); 0] },
    Thinking { thinking: Text<'a>, signature: &'static str },
    ToolUse { id: Box<RawValue>, name: &'a RawValue, caller: Caller, input: Input },
}

impl<'a> Block<'a> {
    /// A call without an id gets one from its position.
    pub(super) fn tool_use(
        id: Option<&RawValue>,
        name: &'a RawValue,
        position: usize,
        input: Input,
        options: &MessageOptions,
    ) -> Self {
        let unique = options.id.trim_start_matches("msg_");
        let id = id.map_or_else(|| encode(&format!("toolu_{unique}_{position}")), ToOwned::to_owned);
        Self::ToolUse { id, name, caller: Caller::Direct, input }
    }
}

/// Called by the model itself, not by code that it runs.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Caller {
    Direct,
}

/// The arguments of a call.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Input {
    Empty {},
    Json(Box<RawValue>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Event<'a> {
    MessageStart { message: Message<'a> },
    Ping,
    ContentBlockStart { index: u64, content_block: Block<'a> },
    ContentBlockDelta { index: u64, delta: Delta<'a> },
    ContentBlockStop { index: u64 },
    MessageDelta { delta: Stop<'a>, usage: Usage },
    MessageStop,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "the names of the API")]
pub(super) enum Delta<'a> {
    TextDelta { text: Text<'a> },
    ThinkingDelta { thinking: Text<'a> },
    SignatureDelta { signature: &'static str },
    InputJsonDelta { partial_json: Text<'a> },
}

impl Event<'_> {
    pub(super) fn write(&self, out: &mut BytesMut) {
        let name = match self {
            Self::MessageStart { .. } => "message_start",
            Self::Ping => "ping",
            Self::ContentBlockStart { .. } => "content_block_start",
            Self::ContentBlockDelta { .. } => "content_block_delta",
            Self::ContentBlockStop { .. } => "content_block_stop",
            Self::MessageDelta { .. } => "message_delta",
            Self::MessageStop => "message_stop",
        };
        sse::write_event(name, self, out);
    }
}
