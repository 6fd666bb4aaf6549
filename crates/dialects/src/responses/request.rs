//! Turns a Responses request into a chat request.
//!
//! The members that chat knows under the same or another name are copied; all others are left out, so that nothing a
//! client sends to another API reaches an engine unseen.

use super::format::TextFormat;
use super::input::{self, Conversation};
use super::item::Item;
use super::reasoning::{ReasoningRequest, ReasoningSeal};
use super::tool_choice::ToolChoice;
use super::tools::ToolSet;
use super::{FinishedResponse, ResponseOptions};
use crate::request_members::{Member, RequestMembers, kept_back, passed_on};
use crate::writer::Output;
use crate::{NativeRequest, Opened, Traits, Translation};
use bytes::Bytes;
use domain::model::NativeApi;
use json::{Checks, ParseError, Reader, ValueKind};
use std::collections::HashMap;
use std::sync::Arc;

/// The members that are read here.
const MEMBERS: [Member; 28] = [
    kept_back("model"),
    passed_on("input"),
    passed_on("instructions"),
    passed_on("stream"),
    kept_back("previous_response_id"),
    kept_back("store"),
    kept_back("background"),
    kept_back("conversation"),
    kept_back("prompt"),
    passed_on("tools"),
    passed_on("tool_choice"),
    passed_on("parallel_tool_calls"),
    passed_on("max_tool_calls"),
    passed_on("text"),
    passed_on("reasoning"),
    passed_on("include"),
    kept_back("max_output_tokens"),
    passed_on("temperature"),
    passed_on("top_p"),
    passed_on("presence_penalty"),
    passed_on("frequency_penalty"),
    passed_on("top_logprobs"),
    passed_on("truncation"),
    passed_on("metadata"),
    passed_on("service_tier"),
    passed_on("prompt_cache_key"),
    kept_back("safety_identifier"),
    kept_back("user"),
];

/// A Responses request whose members were found.
#[derive(Debug)]
pub struct ResponsesRequest {
    pub(super) members: RequestMembers<{ MEMBERS.len() }>,
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
    /// The seal of the caller's workspace.
    pub seal: Arc<dyn ReasoningSeal>,
    /// Receives the final response; `None` if it is not stored.
    pub stored: Option<FinishedResponse>,
}

impl ResponsesRequest {
    /// Finds the members of the body of `POST /v1/responses` and of `/v1/responses/input_tokens`.
    pub fn parse(body: Bytes) -> Result<Self, ParseError> {
        let members = RequestMembers::read(body, &MEMBERS)?;
        members.require(&["model", "input"])?;
        let model = members.string("model")?.unwrap_or_default();
        let previous_response_id = members.string("previous_response_id")?;
        let may_store = members.value("store") != b"false";
        Ok(Self { members, model, previous_response_id, may_store })
    }

    pub(super) fn value(&self, name: &str) -> &[u8] {
        self.members.value(name)
    }

    /// The request as an engine gets it that speaks this API. Its logs need no identity, so members that name the user are
    /// left out.
    fn native(&self) -> NativeRequest {
        NativeRequest::new(NativeApi::Responses, self.members.body_bytes(), self.members.passed_on())
    }

    /// The input as it is stored: a JSON array of items, which have the members that the translation reads. References are
    /// replaced by their items, because what they refer to may be deleted first.
    pub fn stored_input(&self, history: &History, seal: &dyn ReasoningSeal) -> Result<Vec<u8>, ParseError> {
        // Problems are reported by the translation.
        let items = input::read_own(self.value("input"), &mut Checks::default())?;
        let mut out = Vec::new();
        for item in items {
            out.put(if out.is_empty() { b"[" } else { b"," });
            match item.reference().and_then(|id| history.referenced.get(&id)) {
                Some(referenced) => out.put(referenced),
                None => item.write_kept(seal, &mut out)?,
            }
        }
        out.put(if out.is_empty() { b"[]" } else { b"]" });
        Ok(out)
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
    pub fn into_chat(
        self,
        traits: Traits,
        context: ResponseContext,
    ) -> Result<Translation<ResponseOptions>, ParseError> {
        let mut checks = Checks::default();
        if self.model.is_empty() && !self.value("model").starts_with(b"\"") {
            checks.invalid(&"model", || "must be a string".into());
        }
        self.check_unsupported(&mut checks)?;
        let ResponseContext { unique, now, history, seal, stored } = context;
        let items = input::read(self.value("input"), &history, &mut checks)?;
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

        let mut out = Vec::with_capacity(self.members.body_bytes() + 1024);
        out.put(b"{\"model\":");
        out.put_text(&self.model);
        out.put(b",\"messages\":[");
        let mut conversation = Conversation::new(tools.table(), &*seal, &mut out);
        conversation.begin(
            self.members.text("instructions", &mut checks)?,
            &items,
            traits.merge_system,
            &mut checks,
        )?;
        for item in &items {
            conversation.add(item, &mut checks)?;
        }
        conversation.end(&mut checks);
        out.put(b"]");
        if self.members.boolean("stream", &mut checks)?.unwrap_or(false) {
            out.put(b",\"stream\":true,\"stream_options\":{\"include_usage\":true}");
        }
        let soft_limit = self.write_numbers(includes.logprobs, &mut checks, &mut out)?;
        let is_parallel = self.members.boolean("parallel_tool_calls", &mut checks)?.unwrap_or(true);
        tools.write(&choice, is_parallel, &mut out);
        format.write_chat(&mut out);
        reasoning.write_chat(traits.thinking, &mut out);
        self.write_key(&mut checks, &mut out)?;
        let is_flex = self.members.write_tier(traits.has_flex, &mut out)?;
        out.put(b"}");

        let (table, tool_echoes, left_out_tools) = tools.into_parts();
        let id = format!("resp_{unique}");
        let echo = self.request_echo(id, now(), tool_echoes, is_parallel, format.echo(), reasoning.echo());
        let remote_media = checks.take_remote_media();
        let is_native = traits.is_native && !needs_translation && left_out_tools.is_empty();
        let native = is_native.then(|| self.native());
        let invalid = checks.finish()?;
        let options = ResponseOptions {
            unique,
            echo_bytes: echo.bytes() + table.bytes(),
            echo,
            tools: table,
            has_summary: reasoning.has_summary,
            seal: includes.encrypted_reasoning.then_some(seal),
            is_flex,
            now,
            finished: stored,
            opened: Opened::default(),
        };
        Ok(Translation {
            body: out.into(),
            invalid,
            format_member: "text.format",
            remote_media,
            soft_limit,
            native,
            options,
            left_out_tools,
            continues_message: false,
        })
    }
}
