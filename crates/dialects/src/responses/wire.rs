//! What clients of Responses get: a response, its output items, and the events of its stream.

use crate::raw_text::Text;
use bytes::Bytes;
use domain::usage::Tokens;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// The members of a response that are known from the beginning. They repeat the request, with the effective or the default
/// values.
#[derive(Debug, Clone, Serialize)]
pub(super) struct RequestEcho {
    pub(super) id: String,
    pub(super) object: &'static str,
    pub(super) created_at: i64,
    pub(super) model: String,
    pub(super) previous_response_id: Box<RawValue>,
    pub(super) instructions: Box<RawValue>,
    pub(super) max_output_tokens: Box<RawValue>,
    pub(super) max_tool_calls: Box<RawValue>,
    pub(super) user: Box<RawValue>,
    pub(super) safety_identifier: Box<RawValue>,
    pub(super) prompt_cache_key: Box<RawValue>,
    pub(super) temperature: Box<RawValue>,
    pub(super) top_p: Box<RawValue>,
    pub(super) metadata: Box<RawValue>,
    pub(super) presence_penalty: Box<RawValue>,
    pub(super) frequency_penalty: Box<RawValue>,
    pub(super) top_logprobs: Box<RawValue>,
    pub(super) tools: Vec<ToolEcho>,
    pub(super) tool_choice: Box<RawValue>,
    pub(super) parallel_tool_calls: bool,
    pub(super) text: TextEcho,
    pub(super) reasoning: ReasoningEcho,
}

impl RequestEcho {
    /// Its size as JSON.
    pub(super) fn bytes(&self) -> usize {
        serde_json::to_vec(self).map_or(0, |json| json.len())
    }
}

/// A tool of the request.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(super) enum ToolEcho {
    /// With every member that strict clients require.
    Function {
        r#type: &'static str,
        name: Box<RawValue>,
        description: Option<Box<RawValue>>,
        parameters: Option<Box<RawValue>>,
        strict: bool,
    },
    /// As it came.
    Other(Box<RawValue>),
}

/// The format of the text.
#[derive(Debug, Clone, Serialize)]
pub(super) struct TextEcho {
    pub(super) format: FormatEcho,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) verbosity: Option<Box<RawValue>>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum FormatEcho {
    Text,
    JsonObject,
    JsonSchema {
        description: Option<Box<RawValue>>,
        name: Option<Box<RawValue>>,
        schema: Option<Box<RawValue>>,
        strict: bool,
    },
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct ReasoningEcho {
    pub(super) effort: Option<&'static str>,
    pub(super) summary: Option<Box<RawValue>>,
}

/// A whole response: the body of one that is not streamed, the last event of a stream, and what is stored.
#[derive(Debug, Serialize)]
pub(super) struct Response<'a> {
    #[serde(flatten)]
    pub(super) request: &'a RequestEcho,
    pub(super) store: bool,
    pub(super) truncation: &'static str,
    pub(super) background: bool,
    pub(super) service_tier: &'static str,
    pub(super) status: &'static str,
    pub(super) completed_at: Option<i64>,
    pub(super) incomplete_details: Option<IncompleteDetails>,
    pub(super) error: Option<ResponseError<'a>>,
    pub(super) output: Vec<Item<'a>>,
    pub(super) usage: Option<Usage>,
}

impl Response<'_> {
    pub(super) fn to_json(&self) -> Bytes {
        serde_json::to_vec(self).expect("a response is JSON").into()
    }
}

#[derive(Debug, Serialize)]
pub(super) struct IncompleteDetails {
    pub(super) reason: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct ResponseError<'a> {
    pub(super) code: &'static str,
    pub(super) message: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct Usage {
    input_tokens: u64,
    input_tokens_details: InputDetails,
    output_tokens: u64,
    output_tokens_details: OutputDetails,
    total_tokens: u64,
}

#[derive(Debug, Serialize)]
struct InputDetails {
    cached_tokens: u64,
}

#[derive(Debug, Serialize)]
struct OutputDetails {
    reasoning_tokens: u64,
}

impl Usage {
    pub(super) fn new(tokens: Tokens, reasoning_tokens: u64) -> Self {
        Self {
            input_tokens: tokens.prompt,
            input_tokens_details: InputDetails { cached_tokens: tokens.cached },
            output_tokens: tokens.completion,
            output_tokens_details: OutputDetails { reasoning_tokens },
            total_tokens: tokens.total(),
        }
    }
}

/// An item of the output. One in progress has no content yet.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Item<'a> {
    Reasoning {
        id: &'a str,
        r#type: &'static str,
        summary: Vec<Part<'a>>,
        content: Vec<Part<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        encrypted_content: Option<&'a str>,
    },
    Message {
        id: &'a str,
        r#type: &'static str,
        role: &'static str,
        content: Vec<Part<'a>>,
        status: ItemStatus,
    },
    FunctionCall {
        #[serde(flatten)]
        call: CallHead<'a>,
        arguments: Text<'a>,
        status: ItemStatus,
    },
    CustomToolCall {
        #[serde(flatten)]
        call: CallHead<'a>,
        input: Text<'a>,
        status: ItemStatus,
    },
    ToolSearchCall {
        #[serde(flatten)]
        call: CallHead<'a>,
        execution: &'static str,
        arguments: Object<'a>,
        status: ItemStatus,
    },
}

/// The members that all calls have.
#[derive(Debug, Serialize)]
pub(super) struct CallHead<'a> {
    pub(super) id: &'a str,
    pub(super) call_id: &'a RawValue,
    pub(super) r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ItemStatus {
    InProgress,
    Completed,
    /// The response was cut off here.
    Incomplete,
}

/// A part of the content of an item.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "the names of the API")]
pub(super) enum Part<'a> {
    OutputText { text: Text<'a>, annotations: [(); 0], logprobs: Logprobs<'a> },
    ReasoningText { text: Text<'a> },
    SummaryText { text: Text<'a> },
}

/// A JSON object.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Object<'a> {
    Empty {},
    Json(&'a RawValue),
}

/// The log probabilities of tokens: an array.
#[derive(Debug, Clone, Copy)]
pub(super) struct Logprobs<'a>(pub(super) Option<&'a RawValue>);

impl Serialize for Logprobs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(list) => list.serialize(serializer),
            None => [(); 0].serialize(serializer),
        }
    }
}

/// An event: its name, its number, and the members that depend on the name.
#[derive(Debug, Serialize)]
pub(super) struct Event<'a> {
    pub(super) r#type: &'static str,
    pub(super) sequence_number: u64,
    #[serde(flatten)]
    pub(super) members: EventMembers<'a>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum EventMembers<'a> {
    Response { response: &'a Response<'a> },
    Item { output_index: usize, item: Item<'a> },
    Content(ContentEvent<'a>),
}

/// What is new in the content of an item. Events have those members that their names promise.
#[derive(Debug, Default, Serialize)]
pub(super) struct ContentEvent<'a> {
    pub(super) item_id: &'a str,
    pub(super) output_index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content_index: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) summary_index: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) part: Option<Part<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) delta: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) input: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) logprobs: Option<Logprobs<'a>>,
}
