//! Turns a Responses request into a chat request.
//!
//! The members that chat knows under the same or another name are copied; all others are left out, so that nothing a
//! client sends to another API reaches an engine unseen.

use super::format::TextFormat;
use super::input::{self, Conversation};
use super::item::Item;
use super::reasoning::{ReasoningRequest, ReasoningSeal};
use super::resource;
use super::tool_choice::ToolChoice;
use super::tools::ToolSet;
use super::{FinishedResponse, ResponseOptions};
use crate::json::{Reader, ValueKind};
use crate::request::{Checks, NativeRequest, ParseError, ParsedRequest, Translated, read_members, without_bom};
use crate::translate::messages::Traits;
use crate::translate::writer::Output;
use bytes::Bytes;
use domain::model::NativeApi;
use std::collections::HashMap;

/// The members that are read here.
const MEMBERS: [&str; 28] = [
    "model",
    "input",
    "instructions",
    "stream",
    "previous_response_id",
    "store",
    "background",
    "conversation",
    "prompt",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_tool_calls",
    "text",
    "reasoning",
    "include",
    "max_output_tokens",
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "top_logprobs",
    "truncation",
    "metadata",
    "service_tier",
    "prompt_cache_key",
    "safety_identifier",
    "user",
];

/// The members that are passed on to engines which speak this API, besides the model and the token limit.
const NATIVE_MEMBERS: [&str; 19] = [
    "input",
    "instructions",
    "stream",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_tool_calls",
    "text",
    "reasoning",
    "include",
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "top_logprobs",
    "truncation",
    "metadata",
    "service_tier",
    "prompt_cache_key",
];

/// A Responses request whose members were found.
#[derive(Debug)]
pub struct ResponsesRequest {
    body: Bytes,
    /// The values of [`MEMBERS`]; empty for absent and null ones.
    values: [Bytes; MEMBERS.len()],
    /// The name of the model that the client sent; empty if it is not a text.
    pub model: String,
    /// The response that this one continues.
    pub previous_response_id: Option<String>,
    /// Whether the client lets the response be stored; it does unless it says otherwise.
    pub may_store: bool,
}

/// A stored item in the place of an input item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemReference {
    /// Its place in the input.
    pub index: usize,
    pub id: String,
}

/// Stored items that a request refers to, as JSON.
#[derive(Debug, Default)]
pub struct History {
    /// The inputs and outputs of the previous responses, in order. They come before the request's own input.
    pub previous: Vec<Bytes>,
    /// Items by the ids under which the input refers to them.
    pub referenced: HashMap<String, Bytes>,
}

impl History {
    fn is_used(&self) -> bool {
        !self.previous.is_empty() || !self.referenced.is_empty()
    }
}

/// What the translation of a request needs besides the request.
#[derive(Debug)]
pub struct ResponseContext {
    /// The part of all ids that belongs to this response.
    pub unique: String,
    /// Seconds since 1970.
    pub now: fn() -> i64,
    pub history: History,
    /// Of the caller's workspace.
    pub seal: ReasoningSeal,
    /// Receives the final response; `None` if it is not stored.
    pub stored: Option<FinishedResponse>,
}

/// The chat request of a Responses request.
#[derive(Debug)]
pub struct ChatTranslation {
    pub request: ParsedRequest,
    pub options: ResponseOptions,
    /// The types of tools that no engine has.
    pub left_out_tools: Vec<String>,
}

impl ResponsesRequest {
    /// Finds the members of the body of `POST /v1/responses` and of `/v1/responses/input_tokens`.
    pub fn parse(body: Bytes) -> Result<Self, ParseError> {
        let body = without_bom(body);
        let mut values: [Bytes; MEMBERS.len()] = Default::default();
        read_members(&body, &MEMBERS, |reader, name| {
            let is_null = reader.kind()? == ValueKind::Null;
            let span = reader.span()?;
            if let Some(place) = MEMBERS.iter().position(|member| name == member.as_bytes())
                && !is_null
            {
                values[place] = body.slice(span);
            }
            Ok(())
        })?;
        let mut request = Self { body, values, model: String::new(), previous_response_id: None, may_store: true };
        for name in ["model", "input"] {
            if request.value(name).is_empty() {
                return Err(ParseError::Missing { param: name.into() });
            }
        }
        request.model = request.string("model")?.unwrap_or_default();
        request.previous_response_id = request.string("previous_response_id")?;
        request.may_store = request.value("store") != b"false";
        Ok(request)
    }

    pub(super) fn value(&self, name: &str) -> &[u8] {
        MEMBERS.iter().position(|member| *member == name).map_or(&[][..], |place| &self.values[place][..])
    }

    /// The request as an engine gets it that speaks this API. Its logs need no identity, so members that name the user are
    /// left out.
    fn native(&self) -> NativeRequest {
        let value = |name| self.body.slice_ref(self.value(name));
        NativeRequest::new(NativeApi::Responses, self.body.len(), &NATIVE_MEMBERS, value)
    }

    /// `None` if the member is absent or not a string.
    fn string(&self, name: &str) -> Result<Option<String>, ParseError> {
        let value = self.value(name);
        let mut reader = Reader::new(value);
        if value.is_empty() || reader.kind()? != ValueKind::String {
            return Ok(None);
        }
        Ok(Some(String::from_utf8_lossy(&reader.string()?.decoded()).into_owned()))
    }

    /// The items of the input as JSON; a text is a message of the user.
    pub fn input_items(&self) -> Result<Vec<Bytes>, ParseError> {
        let input = &self.values[1];
        let mut reader = Reader::new(input);
        match reader.kind()? {
            ValueKind::String => {
                let text = reader.string()?;
                let item = [b"{\"type\":\"message\",\"role\":\"user\",\"content\":\"", text.raw(), b"\"}"].concat();
                Ok(vec![item.into()])
            }
            ValueKind::Array => {
                let mut items = Vec::new();
                reader.array(|reader, _| {
                    input::check_room(items.len())?;
                    items.push(input.slice(reader.span()?));
                    Ok::<(), ParseError>(())
                })?;
                Ok(items)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The stored items that the input refers to; only the first `limit` of them.
    pub fn references(&self, limit: usize) -> Result<Vec<ItemReference>, ParseError> {
        let mut found = Vec::new();
        let mut reader = Reader::new(self.value("input"));
        if reader.kind()? != ValueKind::Array {
            return Ok(found);
        }
        // Problems are reported by the translation.
        let mut unreported = Checks::default();
        reader.array(|reader, index| {
            if let Some(item) = Item::read(reader, "input", index, &mut unreported)?
                && found.len() < limit
                && let Some(id) = item.reference()
            {
                found.push(ItemReference { index, id });
            }
            Ok::<(), ParseError>(())
        })?;
        Ok(found)
    }

    /// The chat request for a model with these traits.
    pub fn into_chat(self, traits: Traits, context: ResponseContext) -> Result<ChatTranslation, ParseError> {
        let mut checks = Checks::default();
        if self.model.is_empty() && !self.value("model").starts_with(b"\"") {
            checks.invalid(&"model", || "must be a string".into());
        }
        self.check_unsupported(&mut checks)?;
        let ResponseContext { unique, now, history, seal, stored } = context;
        let items = input::read(&self.values[1], &history, &mut checks)?;
        let needs_translation = stored.is_some() || history.is_used() || items.iter().any(Item::is_sealed);
        let mut tools = ToolSet::default();
        tools.declare(self.value("tools"), &"tools", &mut checks)?;
        for item in &items {
            tools.declare_added(item, &mut checks)?;
        }
        let choice = ToolChoice::read(self.value("tool_choice"), &mut checks)?;
        let format = TextFormat::read(self.value("text"), &mut checks)?;
        let reasoning = ReasoningRequest::read(self.value("reasoning"), &mut checks)?;
        let includes = self.includes(&mut checks)?;

        let mut out = Vec::with_capacity(self.body.len() + 1024);
        out.put(b"{\"model\":");
        out.put_text(&self.model);
        out.put(b",\"messages\":[");
        let mut conversation = Conversation::new(tools.table(), &seal, &mut out);
        conversation.begin(self.text("instructions", &mut checks)?, &items, traits.merge_system, &mut checks)?;
        for item in &items {
            conversation.add(item, &mut checks)?;
        }
        conversation.end(&mut checks);
        out.put(b"]");
        if self.boolean("stream", &mut checks)?.unwrap_or(false) {
            out.put(b",\"stream\":true,\"stream_options\":{\"include_usage\":true}");
        }
        let soft_limit = self.write_numbers(includes.logprobs, &mut checks, &mut out)?;
        let is_parallel = self.boolean("parallel_tool_calls", &mut checks)?.unwrap_or(true);
        tools.write(&choice, is_parallel, &mut out);
        format.write_chat(&mut out);
        reasoning.write_chat(traits.thinking, &mut out);
        self.write_key(&mut checks, &mut out)?;
        out.put(b"}");

        let mut members = Vec::new();
        resource::write_members(
            &resource::Echo {
                request: &self,
                unique: &unique,
                created_at: now(),
                is_stored: stored.is_some(),
                tools: tools.echo(),
                choice: &choice,
                is_parallel,
                format: &format,
                reasoning: &reasoning,
            },
            &mut members,
        );
        let remote_media = checks.take_remote_media();
        let (table, left_out_tools) = tools.into_parts();
        let is_native = traits.is_native && !needs_translation && left_out_tools.is_empty();
        let native = is_native.then(|| self.native());
        let translated = Translated { invalid: checks.finish()?, remote_media, soft_limit, native };
        let options = ResponseOptions {
            unique,
            members,
            tools: table,
            has_summary: reasoning.has_summary,
            seal: includes.encrypted_reasoning.then_some(seal),
            now,
            finished: stored,
        };
        Ok(ChatTranslation { request: ParsedRequest::translated(out.into(), translated)?, options, left_out_tools })
    }
}

/// `,"name":value`.
pub(super) fn write_member(name: &str, value: &[u8], out: &mut Vec<u8>) {
    out.put(b",\"");
    out.put(name.as_bytes());
    out.put(b"\":");
    out.put(value);
}
