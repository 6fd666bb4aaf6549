//! Reads, checks and copies single members of a Responses request.

use super::request::ResponsesRequest;
use super::wire::{ReasoningEcho, RequestEcho, TextEcho, ToolEcho};
use crate::raw_text::checked;
use crate::writer::write_member;
use json::{Checks, ParseError, Path, RawStr, Reader, ValueKind};
use serde_json::value::RawValue;

/// The most pairs of `metadata`, and the most characters of their keys and values.
const MAX_METADATA: usize = 16;
const MAX_METADATA_NAME: usize = 64;
const MAX_METADATA_TEXT: usize = 512;

impl ResponsesRequest {
    /// Members that would change the meaning of the request, but that nothing here can do.
    pub(super) fn check_unsupported(&self, checks: &mut Checks) -> Result<(), ParseError> {
        if self.members.boolean("background", checks)? == Some(true) {
            checks.invalid(&"background", || "is not supported: responses are created while the client waits".into());
        }
        self.members.boolean("store", checks)?;
        for (name, instead) in
            [("conversation", "send the whole conversation as `input`"), ("prompt", "send its text as `instructions`")]
        {
            if !self.value(name).is_empty() {
                checks.invalid(&name, || format!("is not supported; {instead}"));
            }
        }
        for name in ["previous_response_id", "prompt_cache_key", "safety_identifier", "user"] {
            self.members.text(name, checks)?;
        }
        self.check_metadata(checks)?;
        for (name, words) in [
            ("truncation", &["auto", "disabled"][..]),
            ("service_tier", &["auto", "default", "flex", "scale", "priority", "fast"][..]),
        ] {
            if let Some(word) = self.members.text(name, checks)? {
                checks.word(word, &name, words);
            }
        }
        Ok(())
    }

    /// Every event with the response repeats the metadata, so they have OpenAI's bounds.
    fn check_metadata(&self, checks: &mut Checks) -> Result<(), ParseError> {
        let value = self.value("metadata");
        let mut reader = Reader::new(value);
        if value.is_empty() || !checks.is(&mut reader, &"metadata", ValueKind::Object)? {
            return Ok(());
        }
        let mut pairs = 0;
        reader.object(|reader, name, _| {
            pairs += 1;
            if !has_at_most(MAX_METADATA_NAME, name) {
                checks.invalid(&"metadata", || format!("has a key of more than {MAX_METADATA_NAME} characters"));
            }
            if let Some(text) = checks.text(reader, &"metadata")?
                && !has_at_most(MAX_METADATA_TEXT, text)
            {
                checks.invalid(&"metadata", || format!("has a value of more than {MAX_METADATA_TEXT} characters"));
            }
            Ok::<(), ParseError>(())
        })?;
        if pairs > MAX_METADATA {
            checks.invalid(&"metadata", || format!("has more than {MAX_METADATA} pairs"));
        }
        Ok(())
    }

    /// Writes the members with the same meaning in chat. Returns the most tokens to generate.
    pub(super) fn write_numbers(
        &self,
        wants_logprobs: bool,
        checks: &mut Checks,
        out: &mut Vec<u8>,
    ) -> Result<Option<u64>, ParseError> {
        let ranges = [
            ("temperature", 0.0..=2.0),
            ("top_p", 0.0..=1.0),
            ("presence_penalty", -2.0..=2.0),
            ("frequency_penalty", -2.0..=2.0),
        ];
        self.members.write_numbers(&ranges, checks, out)?;
        self.members.integer("max_tool_calls", 1..=i64::MAX, checks)?;
        let top_logprobs = self.members.integer("top_logprobs", 0..=20, checks)?;
        if wants_logprobs || top_logprobs.is_some_and(|count| count > 0) {
            write_member("logprobs", b"true", out);
            write_member("top_logprobs", top_logprobs.unwrap_or(0).to_string().as_bytes(), out);
        }
        self.members.integer("max_output_tokens", 1..=i64::MAX, checks)
    }

    /// Calls with the same key go to the same replica, as in chat.
    pub(super) fn write_key(&self, checks: &mut Checks, out: &mut Vec<u8>) -> Result<(), ParseError> {
        if self.members.text("prompt_cache_key", checks)?.is_some() {
            write_member("prompt_cache_key", self.value("prompt_cache_key"), out);
        }
        Ok(())
    }

    pub(super) fn includes(&self, checks: &mut Checks) -> Result<Includes, ParseError> {
        let mut includes = Includes::default();
        let value = self.value("include");
        let mut reader = Reader::new(value);
        if value.is_empty() || !checks.is(&mut reader, &"include", ValueKind::Array)? {
            return Ok(includes);
        }
        reader.array(|reader, index| {
            if let Some(word) = checks.text(reader, &Path::Index(&"include", index))? {
                includes.encrypted_reasoning |= word.is("reasoning.encrypted_content");
                includes.logprobs |= word.is("message.output_text.logprobs");
            }
            Ok::<(), ParseError>(())
        })?;
        Ok(includes)
    }

    /// What the response repeats of the request.
    pub(super) fn request_echo(
        &self,
        id: String,
        created_at: i64,
        tools: Vec<ToolEcho>,
        parallel_tool_calls: bool,
        text: TextEcho,
        reasoning: ReasoningEcho,
    ) -> RequestEcho {
        RequestEcho {
            id,
            object: "response",
            created_at,
            model: self.model.clone(),
            previous_response_id: self.echo("previous_response_id", "null"),
            instructions: self.echo("instructions", "null"),
            max_output_tokens: self.echo("max_output_tokens", "null"),
            max_tool_calls: self.echo("max_tool_calls", "null"),
            user: self.echo("user", "null"),
            safety_identifier: self.echo("safety_identifier", "null"),
            prompt_cache_key: self.echo("prompt_cache_key", "null"),
            temperature: self.echo("temperature", "1"),
            top_p: self.echo("top_p", "1"),
            metadata: self.echo("metadata", "{}"),
            presence_penalty: self.echo("presence_penalty", "0"),
            frequency_penalty: self.echo("frequency_penalty", "0"),
            top_logprobs: self.echo("top_logprobs", "0"),
            tools,
            tool_choice: self.echo("tool_choice", "\"auto\""),
            parallel_tool_calls,
            text,
            reasoning,
        }
    }

    /// The value of a member as the client wrote it, or else the default.
    fn echo(&self, name: &str, default: &str) -> Box<RawValue> {
        let value = self.value(name);
        checked(if value.is_empty() { default.as_bytes() } else { value })
    }
}

fn has_at_most(characters: usize, text: RawStr<'_>) -> bool {
    String::from_utf8_lossy(&text.decoded()).chars().nth(characters).is_none()
}

/// What the client wants to be included in the response.
#[derive(Default)]
pub(super) struct Includes {
    pub(super) encrypted_reasoning: bool,
    pub(super) logprobs: bool,
}
