//! Turns a Messages request into a chat request.
//!
//! The members that chat knows under the same or another name are copied; all others are left out, so that nothing a
//! client sends to another API reaches an engine unseen.

use super::MessageOptions;
use super::content::{self, SystemPlace};
use super::thinking::{self, ThinkingRequest};
use super::tools;
use crate::request_members::{Member, RequestMembers, kept_back, passed_on};
use crate::writer::{Output, write_member};
use crate::{NativeRequest, Opened, Traits, Translation};
use bytes::Bytes;
use domain::SecretHash;
use domain::model::NativeApi;
use json::{Checks, ParseError, Path, Reader, ValueKind};

const MAX_STOP_SEQUENCES: usize = 4;

/// The members that are read here.
const MEMBERS: [Member; 15] = [
    kept_back("model"),
    passed_on("messages"),
    kept_back("max_tokens"),
    passed_on("system"),
    passed_on("stream"),
    passed_on("stop_sequences"),
    passed_on("temperature"),
    passed_on("top_p"),
    passed_on("top_k"),
    kept_back("metadata"),
    passed_on("tools"),
    passed_on("tool_choice"),
    passed_on("thinking"),
    passed_on("output_config"),
    kept_back("service_tier"),
];

/// A Messages request whose members were found.
#[derive(Debug)]
pub struct MessagesRequest {
    members: RequestMembers<{ MEMBERS.len() }>,
    /// The name of the model that the client sent; empty if it is not a text.
    pub model: String,
}

impl MessagesRequest {
    /// Finds the members of the body of `POST /v1/messages`.
    pub fn parse(body: Bytes) -> Result<Self, ParseError> {
        Self::parse_with(body, &["model", "messages", "max_tokens"])
    }

    /// Finds the members of the body of `POST /v1/messages/count_tokens`, which generates nothing.
    pub fn parse_prompt(body: Bytes) -> Result<Self, ParseError> {
        Self::parse_with(body, &["model", "messages"])
    }

    fn parse_with(body: Bytes, required: &[&str]) -> Result<Self, ParseError> {
        let members = RequestMembers::read(body, &MEMBERS)?;
        members.require(required)?;
        let model = members.string("model")?.unwrap_or_default();
        Ok(Self { members, model })
    }

    fn value(&self, name: &str) -> &[u8] {
        self.members.value(name)
    }

    /// The request as an engine gets it that speaks this API. Its logs need no identity, so `metadata` is left out.
    fn native(&self) -> Result<NativeRequest, ParseError> {
        let mut members = self.members.passed_on();
        let mut copied = 0;
        if let Some((_, system)) = members.iter_mut().find(|(name, _)| *name == "system") {
            let shortened = content::without_billing_header(system)?;
            copied = if shortened.len() < system.len() { system.len() } else { 0 };
            *system = shortened;
        }
        Ok(NativeRequest::new(NativeApi::Messages, self.members.body_bytes() + copied, members))
    }

    /// The chat request for a model with these traits. `id` is that of the message.
    pub fn into_chat(self, traits: Traits, id: String) -> Result<Translation<MessageOptions>, ParseError> {
        let mut checks = Checks::default();
        let mut out = Vec::with_capacity(self.members.body_bytes() + 1024);
        if self.model.is_empty() && !self.value("model").starts_with(b"\"") {
            checks.invalid(&"model", || "must be a string".into());
        }
        out.put(b"{\"model\":");
        out.put_text(&self.model);
        out.put(b",\"messages\":[");
        let place = if traits.merge_system { SystemPlace::First } else { SystemPlace::AsSent };
        let continues_message =
            content::write_messages(self.value("system"), self.value("messages"), place, &mut checks, &mut out)?;
        out.put(b"]");
        let max_tokens = self.members.integer("max_tokens", 1..=i64::MAX, &mut checks)?.unwrap_or(1);
        if self.members.boolean("stream", &mut checks)?.unwrap_or(false) {
            out.put(b",\"stream\":true,\"stream_options\":{\"include_usage\":true}");
        }
        self.members.write_numbers(&[("temperature", 0.0..=2.0), ("top_p", 0.0..=1.0)], &mut checks, &mut out)?;
        if let Some(top_k) = self.members.integer("top_k", 0..=i64::MAX, &mut checks)? {
            write_member("top_k", top_k.to_string().as_bytes(), &mut out);
        }
        let stop_sequences = self.write_stop_sequences(&mut checks, &mut out)?;
        self.write_user(&mut checks, &mut out)?;
        self.members.text("service_tier", &mut checks)?;
        let is_flex = self.members.write_tier(traits.has_flex, &mut out)?;
        let left_out_tools = tools::write(self.value("tools"), self.value("tool_choice"), &mut checks, &mut out)?;
        let thinking = ThinkingRequest::read(self.value("thinking"), self.value("output_config"), &mut checks)?;
        thinking::write(&thinking, traits.thinking, continues_message, &mut out);
        out.put(b"}");
        let remote_media = checks.take_remote_media();
        let native = if traits.is_native && left_out_tools.is_empty() { Some(self.native()?) } else { None };
        let invalid = checks.finish()?;
        let options = MessageOptions {
            id,
            model: self.model,
            context_length: traits.context_length,
            max_tokens,
            stop_sequences,
            omits_thinking: thinking.is_omitted,
            is_flex,
            opened: Opened::default(),
        };
        let soft_limit = Some(max_tokens);
        Ok(Translation {
            body: out.into(),
            invalid,
            format_member: "output_config.format",
            remote_media,
            soft_limit,
            native,
            options,
            left_out_tools,
            continues_message,
        })
    }

    fn write_stop_sequences(&self, checks: &mut Checks, out: &mut Vec<u8>) -> Result<Vec<String>, ParseError> {
        const NAME: &str = "stop_sequences";
        let value = self.value(NAME);
        let mut sequences = Vec::new();
        let mut reader = Reader::new(value);
        if value.is_empty() || !checks.is(&mut reader, &NAME, ValueKind::Array)? {
            return Ok(sequences);
        }
        reader.array(|reader, index| {
            let path = Path::Index(&NAME, index);
            if reader.kind()? == ValueKind::Null {
                checks.invalid(&path, || "must be a string, not null".into());
            }
            if let Some(text) = checks.text(reader, &path)?
                && sequences.len() <= MAX_STOP_SEQUENCES
            {
                sequences.push(String::from_utf8_lossy(&text.decoded()).into_owned());
            }
            Ok::<(), ParseError>(())
        })?;
        if sequences.len() > MAX_STOP_SEQUENCES {
            checks.invalid(&NAME, || format!("must have at most {MAX_STOP_SEQUENCES} strings"));
        }
        if !sequences.is_empty() {
            write_member("stop", value, out);
        }
        Ok(sequences)
    }

    /// `metadata.user_id`, hashed: engines and their logs need no identity.
    fn write_user(&self, checks: &mut Checks, out: &mut Vec<u8>) -> Result<(), ParseError> {
        let value = self.value("metadata");
        let mut reader = Reader::new(value);
        if value.is_empty() || !checks.is(&mut reader, &"metadata", ValueKind::Object)? {
            return Ok(());
        }
        let mut users = 0;
        let mut user = None;
        reader.object(|reader, name, _| {
            if !name.is("user_id") {
                return reader.skip();
            }
            users += 1;
            user = checks.text(reader, &"metadata.user_id")?;
            Ok(())
        })?;
        if users > 1 {
            checks.invalid(&"metadata.user_id", || "appears more than once".into());
        }
        if let Some(user) = user {
            let hash = SecretHash::of(&String::from_utf8_lossy(&user.decoded())).to_hex();
            write_member("user", format!("\"{hash}\"").as_bytes(), out);
        }
        Ok(())
    }
}
