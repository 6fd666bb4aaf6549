//! Decides by the responses of an engine what it can do.
//!
//! Missing is only what the engine rejects, or what its successful response disproves: a small model that calls no tool
//! may have an engine that can. Everything else stays unknown.

use super::calls::ProbeCall;
use domain::capabilities::{Capabilities, Capability, Support};
use http::StatusCode;
use serde_json::Value;
use std::collections::BTreeMap;

/// How engines say that they cannot do something.
const UNSUPPORTED: [&str; 3] = ["not support", "unsupported", "no endpoints found"];
/// How they say that a prompt does not fit.
const TOO_LONG: [&str; 4] = ["context length", "context size", "context window", "maximum model length"];

/// Notes of reasoning that is not kept apart, which `forebay admin doctor` shows as what to do.
const THOUGHTS_AS_TEXT: &str = "thoughts are part of the text: give the engine a reasoning parser";
const TEXT_AS_THOUGHTS: &str =
    "responses are taken for thoughts: start the engine without its reasoning parser, or with that of the model";

/// A response.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
}

/// What a model has shown.
#[derive(Debug)]
pub(super) struct Evidence {
    /// The responses so far. A call without one is absent.
    pub(super) replies: BTreeMap<ProbeCall, Reply>,
    /// As configured; that of the engine may be another.
    pub(super) context_length: u64,
}

/// What a response says about its call.
enum Verdict {
    /// A success, and its JSON; null for a stream.
    Served(Value),
    /// The engine does not accept this, in its own words.
    Rejected(String),
    /// There is no such route.
    NoRoute,
    /// Something else went wrong, or there is no response.
    Inconclusive,
}

impl Reply {
    /// Whether further calls are pointless now: a limit, an engine that still loads, or a key or a gateway with which not
    /// even the first call works. Hosted services reject single operations with 403.
    pub(super) fn ends_the_probe(&self, call: ProbeCall) -> bool {
        match self.status.as_u16() {
            429 | 503 => true,
            401..=403 | 502 | 504 => call == ProbeCall::Chat,
            _ => false,
        }
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The message of an error in JSON; empty without one.
    pub(super) fn message(&self) -> String {
        message_of(&self.json()).unwrap_or_default()
    }

    fn events(&self) -> Vec<Value> {
        let text = String::from_utf8_lossy(&self.body);
        let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        data.filter_map(|data| serde_json::from_str(data.trim_start()).ok()).collect()
    }
}

/// The message of an error, wherever servers write it.
pub(super) fn message_of(body: &Value) -> Option<String> {
    let messages = [&body["error"]["message"], &body["error"], &body["message"], &body["detail"]];
    messages.into_iter().find_map(Value::as_str).map(str::to_owned)
}

impl Evidence {
    fn verdict(&self, call: ProbeCall) -> Verdict {
        let Some(reply) = self.replies.get(&call) else { return Verdict::Inconclusive };
        if reply.status.is_success() {
            return Verdict::Served(reply.json());
        }
        let message = reply.message();
        let words = message.to_lowercase();
        let has = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
        let is_misnamed = words.contains("model") && has(&["does not exist", "not found", "no model"]);
        // Neither a wrong name nor a context that is too small says anything about what was to be shown.
        if is_misnamed || (call != ProbeCall::Overflow && has(&TOO_LONG)) {
            return Verdict::Inconclusive;
        }
        match reply.status.as_u16() {
            400 | 413 | 415 | 422 => Verdict::Rejected(message),
            // llama-server rejects with 500 and 501.
            404 | 405 | 500 | 501 if has(&UNSUPPORTED) || (call.has_tools() && words.contains("requires")) => {
                Verdict::Rejected(message)
            }
            404 | 405 | 501 => Verdict::NoRoute,
            _ => Verdict::Inconclusive,
        }
    }

    /// An operation that shows itself in a successful response.
    fn operation(&self, call: ProbeCall, is_shown: impl Fn(&Value) -> bool) -> Support {
        match self.verdict(call) {
            Verdict::Served(body) if is_shown(&body) => Support::Yes,
            Verdict::NoRoute => Support::No,
            Verdict::Rejected(message) if is_unsupported(&message) => Support::No,
            Verdict::Served(_) | Verdict::Rejected(_) | Verdict::Inconclusive => Support::Unknown,
        }
    }

    /// A property of chats. The plain chat was accepted, so a rejection is about the property.
    fn property(&self, call: ProbeCall, is_shown: impl Fn(&Value) -> bool) -> Support {
        match self.verdict(call) {
            Verdict::Served(body) if is_shown(&body) => Support::Yes,
            Verdict::Rejected(_) => Support::No,
            Verdict::Served(_) | Verdict::NoRoute | Verdict::Inconclusive => Support::Unknown,
        }
    }

    /// The events of a successful stream.
    fn events(&self, call: ProbeCall) -> Option<Vec<Value>> {
        let reply = self.replies.get(&call).filter(|reply| reply.status.is_success())?;
        Some(reply.events())
    }

    fn choice(&self, call: ProbeCall) -> Value {
        match self.verdict(call) {
            Verdict::Served(body) => body["choices"][0].clone(),
            Verdict::Rejected(_) | Verdict::NoRoute | Verdict::Inconclusive => Value::Null,
        }
    }
}

fn is_unsupported(message: &str) -> bool {
    let words = message.to_lowercase();
    words.contains("not available") || UNSUPPORTED.iter().any(|phrase| words.contains(phrase))
}

/// What the engine can do.
pub(super) fn judge(evidence: &Evidence) -> Capabilities {
    let mut found = Capabilities::default();
    judge_operations(evidence, &mut found);
    if found.get(Capability::Chat) == Support::Yes {
        judge_tools(evidence, &mut found);
        judge_reasoning(evidence, &mut found);
        judge_schemas(evidence, &mut found);
        judge_streams(evidence, &mut found);
        judge_prompts(evidence, &mut found);
        let has_logprobs = |body: &Value| !list(&body["choices"][0]["logprobs"]["content"]).is_empty();
        found.set(Capability::Logprobs, evidence.property(ProbeCall::Logprobs, has_logprobs));
        found.set(Capability::Images, evidence.property(ProbeCall::Image, |body| body["choices"][0].is_object()));
        let is_message = |body: &Value| body["type"] == "message";
        found.set(Capability::NativeMessages, evidence.operation(ProbeCall::Messages, is_message));
        let is_response = |body: &Value| body["object"] == "response";
        found.set(Capability::NativeResponses, evidence.operation(ProbeCall::Responses, is_response));
    }
    for (capability, call) in [(Capability::Images, ProbeCall::Image), (Capability::Tools, ProbeCall::Tools)] {
        if found.get(capability) == Support::No {
            found.note(capability, &evidence.replies.get(&call).map(Reply::message).unwrap_or_default());
        }
    }
    found
}

fn judge_operations(evidence: &Evidence, found: &mut Capabilities) {
    let is_chat = |body: &Value| body["choices"][0]["message"].is_object();
    found.set(Capability::Chat, evidence.operation(ProbeCall::Chat, is_chat));
    let is_text = |body: &Value| body["choices"][0]["text"].is_string();
    found.set(Capability::Completions, evidence.operation(ProbeCall::Completion, is_text));
    let is_vector = |body: &Value| body["data"][0]["embedding"].is_array();
    found.set(Capability::Embeddings, evidence.operation(ProbeCall::Embedding, is_vector));
    let (rerank, score) = comparisons(evidence);
    found.set(Capability::Rerank, rerank);
    found.set(Capability::Score, score);
    found.set(Capability::Tokenize, evidence.operation(ProbeCall::Tokenize, |body| body["tokens"].is_array()));
}

/// Rerank and score. Text Embeddings Inference has one route, which serves both.
fn comparisons(evidence: &Evidence) -> (Support, Support) {
    if evidence.replies.contains_key(&ProbeCall::TeiRerank) {
        let support = evidence.operation(ProbeCall::TeiRerank, |body| body[0]["score"].is_number());
        return (support, support);
    }
    let rerank = evidence.operation(ProbeCall::Rerank, |body| body["results"][0]["relevance_score"].is_number());
    (rerank, evidence.operation(ProbeCall::Score, |body| body["data"][0]["score"].is_number()))
}

/// Tools are there if the engine has called one, and missing if it rejects them both as a choice and as a must.
fn judge_tools(evidence: &Evidence, found: &mut Capabilities) {
    let calls = |call| list(&evidence.choice(call)["message"]["tool_calls"]);
    let is_rejected = |call| matches!(evidence.verdict(call), Verdict::Rejected(_));
    let (chosen, forced) = (calls(ProbeCall::Tools), calls(ProbeCall::ForcedTool));
    if is_rejected(ProbeCall::Tools) && is_rejected(ProbeCall::ForcedTool) {
        for capability in [Capability::Tools, Capability::StreamedTools, Capability::ParallelTools] {
            found.set(capability, Support::No);
        }
        return;
    }
    if !chosen.is_empty() || !forced.is_empty() {
        found.set(Capability::Tools, Support::Yes);
    }
    if chosen.len() > 1 || forced.len() > 1 {
        found.set(Capability::ParallelTools, Support::Yes);
    }
    let Some(events) = evidence.events(ProbeCall::StreamedTool) else { return };
    let forced = whole_arguments(forced.iter().filter_map(|call| call["function"]["arguments"].as_str()));
    let streamed = streamed_arguments(&events);
    match (forced, whole_arguments(streamed.iter().map(String::as_str))) {
        // The same request at temperature 0: they were changed, or the model has chosen others.
        (Some(forced), Some(streamed)) if forced != streamed => {
            found.note(Capability::StreamedTools, "arguments in a stream differ from those of a whole response");
        }
        (_, Some(_)) => found.set(Capability::StreamedTools, Support::Yes),
        (Some(_), None) if !streamed.is_empty() && !is_cut(&events) && !has_error(&events) => {
            found.set(Capability::StreamedTools, Support::No);
            found.note(Capability::StreamedTools, "arguments are lost in streams: set stream_tools = false");
        }
        (_, None) => {}
    }
}

/// The arguments of calls, if there are some and all of them are objects with members.
fn whole_arguments<'a>(texts: impl Iterator<Item = &'a str>) -> Option<Vec<Value>> {
    let is_filled = |value: &Value| value.as_object().is_some_and(|members| !members.is_empty());
    let values: Option<Vec<Value>> = texts.map(|text| serde_json::from_str(text).ok().filter(is_filled)).collect();
    values.filter(|values| !values.is_empty())
}

/// The arguments of each tool call, added up.
fn streamed_arguments(events: &[Value]) -> Vec<String> {
    let mut calls: BTreeMap<u64, String> = BTreeMap::new();
    for event in events {
        for part in list(&event["choices"][0]["delta"]["tool_calls"]) {
            let text = calls.entry(part["index"].as_u64().unwrap_or(0)).or_default();
            text.push_str(part["function"]["arguments"].as_str().unwrap_or_default());
        }
    }
    calls.into_values().collect()
}

/// Whether the limit of tokens has ended the response.
fn is_cut(events: &[Value]) -> bool {
    events.iter().any(|event| event["choices"][0]["finish_reason"] == "length")
}

fn has_error(events: &[Value]) -> bool {
    events.iter().any(|event| !event["error"].is_null())
}

fn judge_reasoning(evidence: &Evidence, found: &mut Capabilities) {
    for call in [ProbeCall::Chat, ProbeCall::Schema, ProbeCall::Tools, ProbeCall::Prompt] {
        let choice = evidence.choice(call);
        let message = &choice["message"];
        let has = |member: &str| message[member].as_str().is_some_and(|text| !text.is_empty());
        if let Some(name) = ["reasoning_content", "reasoning"].into_iter().find(|name| has(name)) {
            let has_response = has("content") || !list(&message["tool_calls"]).is_empty();
            // A grammar leaves no room for the end of thoughts, so that a right parser takes its JSON for them.
            let is_all = call != ProbeCall::Schema && choice["finish_reason"] == "stop" && !has_response;
            found.set(Capability::Reasoning, if is_all { Support::No } else { Support::Yes });
            found.note(Capability::Reasoning, if is_all { TEXT_AS_THOUGHTS } else { name });
            // A response that was cut leaves it to the next one.
            if is_all || has_response {
                break;
            }
        }
        if message["content"].as_str().is_some_and(|text| text.trim_start().starts_with("<think>")) {
            found.set(Capability::Reasoning, Support::No);
            found.note(Capability::Reasoning, THOUGHTS_AS_TEXT);
            break;
        }
    }
    let prompt_tokens = |call| match evidence.verdict(call) {
        Verdict::Served(body) => body["usage"]["prompt_tokens"].as_u64(),
        Verdict::Rejected(_) | Verdict::NoRoute | Verdict::Inconclusive => None,
    };
    let (with, without) = (prompt_tokens(ProbeCall::WithReasoning), prompt_tokens(ProbeCall::WithoutReasoning));
    if let Some((with, without)) = with.zip(without) {
        let support = if with > without { Support::Yes } else { Support::No };
        found.set(Capability::ReasoningRead, support);
    }
}

/// The first call is made as engines think by themselves, the second one without thinking.
fn judge_schemas(evidence: &Evidence, found: &mut Capabilities) {
    let is_valid = |body: &Value| {
        let text = body["choices"][0]["message"]["content"].as_str().unwrap_or_default();
        serde_json::from_str::<Value>(text.trim()).is_ok_and(|value| value["number"].is_i64())
    };
    let usual = evidence.property(ProbeCall::Schema, is_valid);
    if found.get(Capability::Reasoning) != Support::Yes {
        found.set(Capability::JsonSchema, usual);
        return;
    }
    found.set(Capability::JsonSchemaThinking, usual);
    let plain = evidence.property(ProbeCall::PlainSchema, is_valid);
    // The switch may be what was rejected.
    let plain = if plain == Support::No && usual != Support::No { usual } else { plain };
    found.set(Capability::JsonSchema, if usual == Support::Yes { Support::Yes } else { plain });
}

fn judge_streams(evidence: &Evidence, found: &mut Capabilities) {
    if let Some(events) = evidence.events(ProbeCall::Stream) {
        let has_usage = events.iter().any(|event| event["usage"]["completion_tokens"].is_number());
        found.set(Capability::StreamUsage, if has_usage { Support::Yes } else { Support::No });
    } else if matches!(evidence.verdict(ProbeCall::Stream), Verdict::Rejected(_)) {
        found.set(Capability::StreamUsage, Support::No);
    }
    match (evidence.events(ProbeCall::InvalidStream), evidence.verdict(ProbeCall::InvalidStream)) {
        (Some(events), _) => {
            let error = has_error(&events);
            found.set(Capability::StreamErrors, if error { Support::Yes } else { Support::No });
            found.note(Capability::StreamErrors, if error { "as an event" } else { "an invalid schema is ignored" });
        }
        (None, Verdict::Rejected(_)) => {
            found.set(Capability::StreamErrors, Support::Yes);
            found.note(Capability::StreamErrors, "as a status");
        }
        (None, Verdict::Served(_) | Verdict::NoRoute | Verdict::Inconclusive) => {}
    }
}

fn judge_prompts(evidence: &Evidence, found: &mut Capabilities) {
    if let Verdict::Served(body) = evidence.verdict(ProbeCall::RepeatedPrompt) {
        let support = match body["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64() {
            Some(0) => Support::Unknown,
            Some(_) => Support::Yes,
            None => Support::No,
        };
        found.set(Capability::CachedTokens, support);
    }
    match evidence.verdict(ProbeCall::Overflow) {
        Verdict::Rejected(message) => {
            found.set(Capability::OverflowErrors, Support::Yes);
            found.note(Capability::OverflowErrors, &message);
        }
        // With more tokens than configured, the context is longer than the operator says.
        Verdict::Served(body) => match body["usage"]["prompt_tokens"].as_u64() {
            Some(tokens) if tokens <= evidence.context_length => found.set(Capability::OverflowErrors, Support::No),
            Some(_) | None => {}
        },
        Verdict::NoRoute | Verdict::Inconclusive => {}
    }
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}
