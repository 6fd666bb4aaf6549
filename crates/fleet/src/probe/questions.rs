//! The small calls that show what an engine can do.

use serde_json::{Value, json};

/// One call. Calls that are compared with each other stand together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Question {
    Chat,
    Completion,
    Embedding,
    Rerank,
    /// In the notation of text-embeddings-inference.
    TeiRerank,
    Score,
    Tokenize,
    Stream,
    Tools,
    ForcedTool,
    StreamedTool,
    Schema,
    /// Asked if the engine thinks, with thinking turned off.
    PlainSchema,
    InvalidStream,
    Logprobs,
    Image,
    Prompt,
    RepeatedPrompt,
    WithReasoning,
    WithoutReasoning,
    Overflow,
    Messages,
    Responses,
}

/// Where a call goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// Below `/v1`.
    Api(&'static str),
    /// Beside it.
    Root(&'static str),
}

/// The model that is asked about.
#[derive(Debug, Clone)]
pub(super) struct Asked<'a> {
    /// Its name at the server.
    pub(super) model: &'a str,
    pub(super) context_length: u64,
}

/// Prompts that are too long are small enough to send only for models with a context up to this length.
pub(super) const MAX_OVERFLOW_CONTEXT: u64 = 8_192;
/// More tokens than the context has, in case that some of them are joined.
const OVERFLOW_SURPLUS: u64 = 512;
/// A red square of 64 by 64 pixels.
const IMAGE: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsItz/fMYxgi+\
                     hcEKLNO+FgEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQGBywLzk8EPlvGqjQAAAABJRU5ErkJggg==";

impl Question {
    pub(super) const ALL: [Self; 23] = [
        Self::Chat,
        Self::Completion,
        Self::Embedding,
        Self::Rerank,
        Self::TeiRerank,
        Self::Score,
        Self::Tokenize,
        Self::Stream,
        Self::Tools,
        Self::ForcedTool,
        Self::StreamedTool,
        Self::Schema,
        Self::PlainSchema,
        Self::InvalidStream,
        Self::Logprobs,
        Self::Image,
        Self::Prompt,
        Self::RepeatedPrompt,
        Self::WithReasoning,
        Self::WithoutReasoning,
        Self::Overflow,
        Self::Messages,
        Self::Responses,
    ];

    pub(super) const fn route(self) -> Route {
        match self {
            Self::Completion => Route::Api("/completions"),
            Self::Embedding => Route::Api("/embeddings"),
            Self::Rerank => Route::Api("/rerank"),
            Self::TeiRerank => Route::Root("/rerank"),
            Self::Score => Route::Api("/score"),
            Self::Tokenize => Route::Root("/tokenize"),
            Self::Messages => Route::Api("/messages"),
            Self::Responses => Route::Api("/responses"),
            Self::Chat
            | Self::Stream
            | Self::Tools
            | Self::ForcedTool
            | Self::StreamedTool
            | Self::Schema
            | Self::PlainSchema
            | Self::InvalidStream
            | Self::Logprobs
            | Self::Image
            | Self::Prompt
            | Self::RepeatedPrompt
            | Self::WithReasoning
            | Self::WithoutReasoning
            | Self::Overflow => Route::Api("/chat/completions"),
        }
    }

    pub(super) fn body(self, asked: &Asked<'_>) -> Value {
        let mut body = match self {
            Self::Chat => chat("Say hello.", 16, json!({})),
            Self::Completion => json!({"prompt": "Hello", "max_tokens": 1}),
            Self::Embedding => json!({"input": "Hello"}),
            Self::Rerank => json!({"query": "a colour", "documents": ["red", "seven"]}),
            Self::TeiRerank => json!({"query": "a colour", "texts": ["red", "seven"]}),
            Self::Score => json!({"text_1": "a colour", "text_2": "red"}),
            // llama-server reads `content`.
            Self::Tokenize => json!({"messages": [user("Hello")], "content": "Hello"}),
            Self::Stream => chat("Say hello.", 4, json!({"stream": true, "stream_options": {"include_usage": true}})),
            Self::Tools => with_tools(json!({})),
            Self::ForcedTool => with_tools(json!({"tool_choice": "required", "temperature": 0})),
            Self::StreamedTool => with_tools(json!({"tool_choice": "required", "temperature": 0, "stream": true})),
            Self::Schema => chat("How many legs has a dog?", 256, json!({"response_format": schema("integer")})),
            Self::PlainSchema => {
                let off = json!({"enable_thinking": false, "thinking": false});
                let format = schema("integer");
                chat("How many legs has a dog?", 32, json!({"response_format": format, "chat_template_kwargs": off}))
            }
            Self::InvalidStream => chat("Say hello.", 4, json!({"response_format": schema("unknown"), "stream": true})),
            Self::Logprobs => chat("Say hello.", 1, json!({"logprobs": true})),
            Self::Image => {
                let parts = json!([
                    {"type": "text", "text": "Which colour is this?"},
                    {"type": "image_url", "image_url": {"url": IMAGE}},
                ]);
                json!({"messages": [{"role": "user", "content": parts}], "max_tokens": 4})
            }
            Self::Prompt | Self::RepeatedPrompt => {
                chat(&"The river runs down to the sea, past the old mill. ".repeat(30), 1, json!({}))
            }
            Self::WithReasoning => conversation(Some("I have to look up the weather in Paris before I respond.")),
            Self::WithoutReasoning => conversation(None),
            Self::Overflow => {
                let words = usize::try_from(asked.context_length + OVERFLOW_SURPLUS).unwrap_or_default();
                chat(&"hello ".repeat(words), 1, json!({}))
            }
            Self::Messages => json!({"messages": [user("Say hello.")], "max_tokens": 16}),
            Self::Responses => json!({"input": "Say hello.", "max_output_tokens": 16, "store": false}),
        };
        body["model"] = asked.model.into();
        body
    }
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn chat(prompt: &str, max_tokens: u32, members: Value) -> Value {
    let mut body = members;
    body["messages"] = json!([user(prompt)]);
    body["max_tokens"] = max_tokens.into();
    body
}

fn with_tools(members: Value) -> Value {
    let mut body = chat("What is the weather in Paris, and what is it in Rome? Look up both.", 128, members);
    body["tools"] = json!([weather()]);
    body
}

fn weather() -> Value {
    let city = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    json!({"type": "function", "function": {"name": "get_weather", "description": "The weather of a city.", "parameters": city}})
}

/// A schema with one member of this type.
fn schema(kind: &str) -> Value {
    let schema = json!({
        "type": "object", "properties": {"number": {"type": kind}}, "required": ["number"], "additionalProperties": false,
    });
    json!({"type": "json_schema", "json_schema": {"name": "legs", "strict": true, "schema": schema}})
}

/// A conversation in the middle of its tool calls, where templates keep the reasoning.
fn conversation(reasoning: Option<&str>) -> Value {
    let call = json!({"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Paris\"}"}});
    let mut assistant = json!({"role": "assistant", "content": "", "tool_calls": [call]});
    if let Some(reasoning) = reasoning {
        assistant["reasoning_content"] = reasoning.into();
    }
    let result = json!({"role": "tool", "tool_call_id": "call_1", "content": "rain"});
    json!({"messages": [user("What is the weather in Paris?"), assistant, result], "tools": [weather()], "max_tokens": 1})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_is_small_and_names_the_model() {
        let asked = Asked { model: "tiny", context_length: MAX_OVERFLOW_CONTEXT };
        for question in Question::ALL {
            let body = question.body(&asked);
            assert_eq!(body["model"], "tiny", "{question:?}");
            let most = if question == Question::Overflow { 64 << 10 } else { 2 << 10 };
            assert!(body.to_string().len() <= most, "{question:?}: {}", body.to_string().len());
            let limits = [&body["max_tokens"], &body["max_output_tokens"]];
            assert!(limits.into_iter().all(|limit| limit.as_u64().unwrap_or(0) <= 256), "{question:?}");
        }
    }
}
