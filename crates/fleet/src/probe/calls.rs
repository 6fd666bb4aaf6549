//! The small calls that show what an engine can do.

use domain::model::{EngineKind, LimitName, RerankApi, Upstream};
use domain::named_enum;
use serde_json::{Value, json};

named_enum! {
    /// One call, in the order in which they are made. Calls that are compared with each other stand together.
    #[derive(PartialOrd, Ord)]
    pub(super) enum ProbeCall {
        Chat = "chat",
        Completion = "completion",
        Embedding = "embedding",
        Rerank = "rerank",
        /// In the notation of text-embeddings-inference.
        TeiRerank = "tei_rerank",
        Score = "score",
        Tokenize = "tokenize",
        Stream = "stream",
        Tools = "tools",
        ForcedTool = "forced_tool",
        StreamedTool = "streamed_tool",
        Schema = "schema",
        /// Made if the engine thinks, with thinking turned off.
        PlainSchema = "plain_schema",
        Logprobs = "logprobs",
        Image = "image",
        Prompt = "prompt",
        RepeatedPrompt = "repeated_prompt",
        WithReasoning = "with_reasoning",
        WithoutReasoning = "without_reasoning",
        Overflow = "overflow",
        Messages = "messages",
        Responses = "responses",
        /// The last one, because it has ended engines.
        InvalidStream = "invalid_stream",
    }
}

/// Where a call goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// Below `/v1`.
    Api(&'static str),
    /// Beside it.
    Root(&'static str),
}

/// A model at the server that is probed.
#[derive(Debug, Clone, Copy)]
pub struct ProbedModel<'a> {
    /// The server, and the name of the model there.
    pub upstream: &'a Upstream,
    pub context_length: u64,
    /// The version of the server, if it says one.
    pub version: Option<&'a str>,
    /// Names of calls that ended a server of this version.
    pub fatal_calls: &'a [String],
}

/// Prompts that are too long are small enough to send only for models with a context up to this length.
pub(super) const MAX_OVERFLOW_CONTEXT: u64 = 8_192;
/// Prompts with tools or of several sentences, with the template around them, fit into this context.
const LONG_PROMPT_CONTEXT: u64 = 1_024;
/// More tokens than the context has, in case that some of them are joined.
const OVERFLOW_SURPLUS: u64 = 512;
/// The first version of vLLM that no invalid schema has ended.
const SAFE_VLLM: (u64, u64) = (0, 27);
/// A red square of 64 by 64 pixels.
const IMAGE: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsItz/fMYxgi+\
                     hcEKLNO+FgEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQGBywLzk8EPlvGqjQAAAABJRU5ErkJggg==";

impl ProbedModel<'_> {
    /// Whether a call is made to this server, whatever the others have shown.
    pub(super) fn takes(&self, call: ProbeCall) -> bool {
        let has_ended_it = self.fatal_calls.iter().any(|name| ProbeCall::parse(name) == Some(call));
        // Clients send chats anyway, and without one nothing else is known.
        if has_ended_it && call != ProbeCall::Chat {
            return false;
        }
        let is_tei = self.upstream.rerank_api == RerankApi::Tei;
        match call {
            ProbeCall::Rerank | ProbeCall::Score => !is_tei,
            ProbeCall::TeiRerank => is_tei,
            // Beside the API, other services may have other routes.
            ProbeCall::Tokenize => self.upstream.engine.is_some(),
            ProbeCall::InvalidStream => self.survives_invalid_schemas(),
            ProbeCall::Overflow => self.context_length <= MAX_OVERFLOW_CONTEXT,
            ProbeCall::Tools
            | ProbeCall::ForcedTool
            | ProbeCall::StreamedTool
            | ProbeCall::Image
            | ProbeCall::Prompt
            | ProbeCall::RepeatedPrompt
            | ProbeCall::WithReasoning
            | ProbeCall::WithoutReasoning => self.context_length >= LONG_PROMPT_CONTEXT,
            ProbeCall::Chat
            | ProbeCall::Completion
            | ProbeCall::Embedding
            | ProbeCall::Stream
            | ProbeCall::Schema
            | ProbeCall::PlainSchema
            | ProbeCall::Logprobs
            | ProbeCall::Messages
            | ProbeCall::Responses => true,
        }
    }

    /// Whether it is known that an invalid schema does not end the engine.
    fn survives_invalid_schemas(&self) -> bool {
        match self.upstream.engine {
            Some(EngineKind::ForebayEngine | EngineKind::LlamaServer) => true,
            Some(EngineKind::Vllm) => self.version.and_then(major_and_minor).is_some_and(|found| found >= SAFE_VLLM),
            Some(EngineKind::Sglang) | None => false,
        }
    }

    /// The body of a call.
    pub(super) fn body(&self, call: ProbeCall) -> Value {
        let mut body = match call {
            ProbeCall::Chat => chat("Say hello.", 16, json!({})),
            ProbeCall::Completion => json!({"prompt": "Hello", "max_tokens": 1}),
            ProbeCall::Embedding => json!({"input": "Hello"}),
            ProbeCall::Rerank => json!({"query": "a colour", "documents": ["red", "seven"]}),
            ProbeCall::TeiRerank => json!({"query": "a colour", "texts": ["red", "seven"]}),
            ProbeCall::Score => json!({"text_1": "a colour", "text_2": "red"}),
            // llama-server reads `content`.
            ProbeCall::Tokenize => json!({"messages": [user("Hello")], "content": "Hello"}),
            ProbeCall::Stream => {
                chat("Say hello.", 4, json!({"stream": true, "stream_options": {"include_usage": true}}))
            }
            ProbeCall::Tools => with_tools(json!({})),
            ProbeCall::ForcedTool => with_tools(json!({"tool_choice": "required", "temperature": 0})),
            ProbeCall::StreamedTool => with_tools(json!({"tool_choice": "required", "temperature": 0, "stream": true})),
            ProbeCall::Schema => {
                let most = (self.context_length / 4).clamp(1, 256);
                chat("How many legs has a dog?", most, json!({"response_format": schema("integer")}))
            }
            ProbeCall::PlainSchema => {
                let off = json!({"enable_thinking": false, "thinking": false});
                let format = schema("integer");
                chat("How many legs has a dog?", 32, json!({"response_format": format, "chat_template_kwargs": off}))
            }
            ProbeCall::InvalidStream => {
                chat("Say hello.", 4, json!({"response_format": schema("unknown"), "stream": true}))
            }
            ProbeCall::Logprobs => chat("Say hello.", 1, json!({"logprobs": true})),
            ProbeCall::Image => {
                let parts = json!([
                    {"type": "text", "text": "Which colour is this?"},
                    {"type": "image_url", "image_url": {"url": IMAGE}},
                ]);
                json!({"messages": [{"role": "user", "content": parts}], "max_tokens": 4})
            }
            ProbeCall::Prompt | ProbeCall::RepeatedPrompt => {
                chat(&"The river runs down to the sea, past the old mill. ".repeat(30), 1, json!({}))
            }
            ProbeCall::WithReasoning => conversation(Some(EngineKind::reasoning_name(self.upstream.engine))),
            ProbeCall::WithoutReasoning => conversation(None),
            ProbeCall::Overflow => {
                let words = usize::try_from(self.context_length + OVERFLOW_SURPLUS).unwrap_or_default();
                chat(&"hello ".repeat(words), 1, json!({}))
            }
            ProbeCall::Messages => json!({"messages": [user("Say hello.")], "max_tokens": 16}),
            ProbeCall::Responses => json!({"input": "Say hello.", "max_output_tokens": 16, "store": false}),
        };
        body["model"] = self.upstream.model.as_str().into();
        if call.route() == CHATS {
            rename_limit(&mut body, self.upstream.limit_name);
        }
        body
    }
}

const CHATS: Route = Route::Api("/chat/completions");

impl ProbeCall {
    /// Whether the engine is asked to call tools.
    pub(super) const fn has_tools(self) -> bool {
        matches!(self, Self::Tools | Self::ForcedTool | Self::StreamedTool)
    }

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
            | Self::Overflow => CHATS,
        }
    }
}

/// Names the token limit of a chat as the server does.
pub(super) fn rename_limit(body: &mut Value, name: LimitName) {
    if let Some(limit) = body.as_object_mut().and_then(|members| members.remove(LimitName::MaxTokens.as_str())) {
        body[name.as_str()] = limit;
    }
}

/// The first two numbers of a version such as `0.27.0rc1`.
fn major_and_minor(version: &str) -> Option<(u64, u64)> {
    let mut parts = version.trim_start_matches('v').split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn chat(prompt: &str, max_tokens: u64, members: Value) -> Value {
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

/// A conversation in the middle of its tool calls, where templates keep the reasoning, which has this name.
fn conversation(reasoning_name: Option<&str>) -> Value {
    let call = json!({"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Paris\"}"}});
    let mut assistant = json!({"role": "assistant", "content": "", "tool_calls": [call]});
    if let Some(name) = reasoning_name {
        assistant[name] = "I have to look up the weather in Paris before I respond.".into();
    }
    let result = json!({"role": "tool", "tool_call_id": "call_1", "content": "rain"});
    json!({"messages": [user("What is the weather in Paris?"), assistant, result], "tools": [weather()], "max_tokens": 1})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probed(upstream: &Upstream, context_length: u64) -> ProbedModel<'_> {
        ProbedModel { upstream, context_length, version: None, fatal_calls: &[] }
    }

    #[test]
    fn every_call_is_small_and_names_the_model() {
        let upstream = Upstream::plain("http://a/v1", "tiny");
        for call in ProbeCall::ALL {
            let body = probed(&upstream, MAX_OVERFLOW_CONTEXT).body(call);
            assert_eq!(body["model"], "tiny", "{call}");
            let most = if call == ProbeCall::Overflow { 64 << 10 } else { 2 << 10 };
            assert!(body.to_string().len() <= most, "{call}: {}", body.to_string().len());
            let limits = [&body["max_tokens"], &body["max_output_tokens"]];
            assert!(limits.into_iter().all(|limit| limit.as_u64().unwrap_or(0) <= 256), "{call}");
        }
        assert_eq!(probed(&upstream, 512).body(ProbeCall::Schema)["max_tokens"], 128, "a quarter of the context");
    }

    #[test]
    fn chats_name_their_limit_as_the_server_does() {
        let limit_name = LimitName::MaxCompletionTokens;
        let upstream = Upstream { limit_name, ..Upstream::plain("http://a/v1", "tiny") };
        let probed = probed(&upstream, 4_096);
        for (call, name) in [(ProbeCall::Chat, "max_completion_tokens"), (ProbeCall::Image, "max_completion_tokens")] {
            let body = probed.body(call);
            assert!(body[name].is_u64() && body.get("max_tokens").is_none(), "{body}");
        }
        assert!(probed.body(ProbeCall::Completion)["max_tokens"].is_u64(), "completions keep the older name");
    }

    #[test]
    fn reasoning_is_sent_back_under_the_name_that_the_engine_reads() {
        for (engine, name) in [(Some(EngineKind::Vllm), "reasoning"), (None, "reasoning_content")] {
            let upstream = Upstream { engine, ..Upstream::plain("http://a/v1", "tiny") };
            let body = |call| probed(&upstream, 4_096).body(call);
            assert!(body(ProbeCall::WithReasoning)["messages"][1][name].is_string(), "{engine:?}");
            assert!(body(ProbeCall::WithoutReasoning)["messages"][1].get(name).is_none(), "{engine:?}");
        }
    }

    #[test]
    fn an_invalid_schema_is_the_last_call_and_goes_only_to_engines_that_survive_it() {
        assert_eq!(ProbeCall::ALL.last(), Some(&ProbeCall::InvalidStream));
        for (engine, version, expected) in [
            (None, Some("0.32.0"), false),
            (Some(EngineKind::Sglang), Some("0.5.4"), false),
            (Some(EngineKind::LlamaServer), None, true),
            (Some(EngineKind::ForebayEngine), None, true),
            (Some(EngineKind::Vllm), None, false),
            (Some(EngineKind::Vllm), Some("0.9.2"), false),
            (Some(EngineKind::Vllm), Some("0.26.1"), false),
            (Some(EngineKind::Vllm), Some("0.27.0rc1"), true),
            (Some(EngineKind::Vllm), Some("1.0"), true),
            (Some(EngineKind::Vllm), Some("nightly"), false),
        ] {
            let upstream = Upstream { engine, ..Upstream::plain("http://a/v1", "tiny") };
            let probed = ProbedModel { version, ..probed(&upstream, 4_096) };
            assert_eq!(probed.takes(ProbeCall::InvalidStream), expected, "{engine:?} {version:?}");
        }
    }

    #[test]
    fn a_server_gets_only_calls_that_say_something_about_it() {
        use ProbeCall::{Chat, Image, Overflow, Prompt, Rerank, Schema, Score, TeiRerank, Tokenize, Tools};
        let unknown = Upstream::plain("http://a/v1", "tiny");
        let takes = |probed: ProbedModel<'_>, calls: &[ProbeCall]| calls.iter().all(|call| probed.takes(*call));
        assert!(takes(probed(&unknown, 4_096), &[Chat, Rerank, Score, Tools, Image, Prompt, Overflow]));
        assert!(!probed(&unknown, 4_096).takes(Tokenize), "it is beside the API");
        assert!(!probed(&unknown, 4_096).takes(TeiRerank));
        assert!(!probed(&unknown, MAX_OVERFLOW_CONTEXT + 1).takes(Overflow));
        let known = Upstream { engine: Some(EngineKind::Vllm), ..unknown.clone() };
        assert!(probed(&known, 4_096).takes(Tokenize));
        let tei = Upstream { rerank_api: RerankApi::Tei, ..unknown.clone() };
        assert!(probed(&tei, 512).takes(TeiRerank));
        assert!(!probed(&tei, 512).takes(Rerank) && !probed(&tei, 512).takes(Score));
        for call in [Tools, Image, Prompt] {
            assert!(!probed(&unknown, 512).takes(call), "{call} may not fit");
        }
        let fatal_calls = ["schema".to_owned(), "chat".to_owned()];
        let ended = ProbedModel { fatal_calls: &fatal_calls, ..probed(&unknown, 4_096) };
        assert!(!ended.takes(Schema), "it has ended the server");
        assert!(ended.takes(Chat), "clients send it anyway, and without it nothing else is known");
    }
}
