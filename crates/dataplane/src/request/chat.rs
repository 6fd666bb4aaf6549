//! Parses a chat request. Checks the type and range of every documented member; others are forwarded unchanged.

use super::others::{check_grammar, check_parameters};
use super::stream_options::StreamOptions;
use super::{
    CacheMembers, FingerprintMembers, ModelMember, Operation, OtherMembers, ParsedRequest, TokenEstimate, messages,
    tools,
};
use bytes::Bytes;
use domain::capabilities::{Capability, CapabilitySet};
use json::{Checks, InvalidParam, JsonError, ParseError, Path, Reader, ValueKind, read_members, shorten, without_bom};
use std::ops::Range;
use std::sync::OnceLock;

const MAX_STOPS: usize = 4;
/// The value of `tool_choice` with which no tool is called.
const NO_TOOLS: &[u8] = b"\"none\"";

/// The members that are read here.
const MEMBERS: [&str; 25] = [
    "model",
    "messages",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "n",
    "max_tokens",
    "max_completion_tokens",
    "seed",
    "logprobs",
    "top_logprobs",
    "logit_bias",
    "stop",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "reasoning_effort",
    "verbosity",
    "service_tier",
    "cache_salt",
    "cache_prompt",
];

/// Parses the body of `POST /v1/chat/completions`.
pub fn parse(body: Bytes) -> Result<ParsedRequest, ParseError> {
    let (mut request, grammar) = parse_apart(body)?;
    request.invalid = request.invalid.or(grammar);
    Ok(request)
}

/// [`parse`] for requests whose other members a translation has checked. Returns a grammar that is too large apart.
pub(super) fn parse_apart(body: Bytes) -> Result<(ParsedRequest, Option<InvalidParam>), ParseError> {
    let body = without_bom(body);
    let mut checks = Checks::default();
    let mut grammars = Checks::default();
    let mut model = ModelMember::default();
    let mut prompt = None;
    let mut reasoning_names = Vec::new();
    let mut stream = false;
    let mut stream_options = StreamOptions::default();
    let mut logprobs = false;
    let mut top_logprobs = None;
    let mut estimate = TokenEstimate::chat();
    let mut cache = CacheMembers::default();
    let mut others = OtherMembers::default();
    let mut fingerprint_members = FingerprintMembers::default();
    let mut needs = CapabilitySet::EMPTY.with(Capability::Chat);
    let (mut may_call_tools, mut must_call_tool) = (true, false);
    let mut parameter_bytes = 0;

    fingerprint_members.long_strings = read_members(&body, &MEMBERS, |reader, name| {
        let checks = &mut checks;
        match name {
            b"model" => model.read(reader, checks)?,
            b"messages" => prompt = messages::check(reader, checks, &mut estimate, &mut reasoning_names)?,
            b"stream" => stream = stream_options.read_switch(reader, checks)?,
            b"stream_options" => stream_options.read(reader, checks)?,
            b"temperature" => checks.number(reader, &"temperature", 0.0..=2.0)?,
            b"top_p" => checks.number(reader, &"top_p", 0.0..=1.0)?,
            b"presence_penalty" => checks.number(reader, &"presence_penalty", -2.0..=2.0)?,
            b"frequency_penalty" => checks.number(reader, &"frequency_penalty", -2.0..=2.0)?,
            b"n" => estimate.choices = checks.integer(reader, &"n", 1..=128)?.map_or(1, i64::unsigned_abs),
            b"max_tokens" => estimate.read_max_tokens(reader, checks, 1)?,
            b"max_completion_tokens" => estimate.read_max_completion_tokens(reader, checks)?,
            b"seed" => {
                checks.integer(reader, &"seed", i64::MIN..=i64::MAX)?;
            }
            b"logprobs" => logprobs = checks.boolean(reader, &"logprobs")?.unwrap_or(false),
            b"top_logprobs" => top_logprobs = checks.integer(reader, &"top_logprobs", 0..=20)?.map(i64::unsigned_abs),
            b"logit_bias" => check_logit_bias(reader, checks)?,
            b"stop" => check_stop(reader, checks)?,
            b"tools" => {
                let bytes = measured(reader, |reader| {
                    parameter_bytes = tools::check(reader, checks)?;
                    Ok(())
                })?;
                estimate.prompt_bytes += bytes;
                fingerprint_members.tools = span_before(reader, bytes);
            }
            b"tool_choice" => {
                let bytes = measured(reader, |reader| {
                    must_call_tool = tools::check_choice(reader, checks)?;
                    Ok(())
                })?;
                estimate.prompt_bytes += bytes;
                may_call_tools = body[span_before(reader, bytes)] != *NO_TOOLS;
            }
            b"parallel_tool_calls" => {
                checks.boolean(reader, &"parallel_tool_calls")?;
            }
            b"response_format" => {
                let bytes = measured(reader, |reader| {
                    if check_response_format(reader, checks)? {
                        needs = needs.with(Capability::JsonSchema);
                    }
                    Ok(())
                })?;
                check_grammar(name, bytes, &mut grammars);
                estimate.prompt_bytes += bytes;
            }
            b"reasoning_effort" => checks.one_of(
                reader,
                &"reasoning_effort",
                &["none", "minimal", "low", "medium", "high", "xhigh", "max"],
            )?,
            b"verbosity" => checks.one_of(reader, &"verbosity", &["low", "medium", "high"])?,
            b"service_tier" => others.read_tier(reader, checks)?,
            b"cache_salt" => cache.read_salt(reader, checks)?,
            b"cache_prompt" => cache.read_prompt(reader)?,
            _ => {
                let bytes = others.read(reader, name)?;
                check_grammar(name, bytes, &mut grammars);
                estimate.prompt_bytes += bytes;
                if name == b"prompt_cache_key" {
                    fingerprint_members.session = span_before(reader, bytes);
                }
            }
        }
        Ok(())
    })?;

    if must_call_tool {
        check_parameters(parameter_bytes, &mut grammars);
    }
    let (model, model_span) = model.take(&mut checks)?;
    if may_call_tools && body[fingerprint_members.tools.clone()].contains(&b'{') {
        needs = needs.with(Capability::Tools);
    }
    if estimate.has_images() {
        needs = needs.with(Capability::Images);
    }
    if logprobs {
        needs = needs.with(Capability::Logprobs);
        estimate.logprobs = 1 + top_logprobs.unwrap_or(0);
    } else if top_logprobs.is_some() {
        checks.invalid(&"top_logprobs", || "needs `logprobs` to be true".into());
    }
    if prompt.is_none() {
        checks.missing(&"messages");
    }
    let remote_media = checks.take_remote_media();
    let (invalid, grammar) = (checks.finish()?, grammars.finish()?);
    let operation = Operation::Chat { streaming: stream.then_some(stream_options) };
    let prompt = prompt.unwrap_or(0..0);
    estimate.prompt_bytes += prompt.len() as u64;
    let request = ParsedRequest {
        body,
        model,
        model_span,
        prompt,
        reasoning_names,
        operation,
        estimate,
        cache,
        others,
        remote_media,
        fingerprint_members,
        fingerprint: OnceLock::new(),
        invalid,
        native: None,
        hidden: Vec::new(),
        continues_message: false,
        needs,
    };
    Ok((request, grammar))
}

/// The size in bytes of a value that is checked.
pub(super) fn measured(
    reader: &mut Reader<'_>,
    check: impl FnOnce(&mut Reader<'_>) -> Result<(), JsonError>,
) -> Result<u64, JsonError> {
    reader.kind()?;
    let start = reader.position();
    check(reader)?;
    Ok((reader.position() - start) as u64)
}

/// The range of the last `bytes` that were read.
pub(super) fn span_before(reader: &Reader<'_>, bytes: u64) -> Range<usize> {
    let end = reader.position();
    end - usize::try_from(bytes).unwrap_or(end)..end
}

pub(super) fn check_logit_bias(reader: &mut Reader<'_>, checks: &mut Checks) -> Result<(), JsonError> {
    if !checks.is(reader, &"logit_bias", ValueKind::Object)? {
        return Ok(());
    }
    reader.object(|reader, name, _| {
        let name = name.decoded();
        let path = Path::Member(&"logit_bias", shorten(&name));
        if !std::str::from_utf8(&name).is_ok_and(|name| name.parse::<u64>().is_ok()) {
            checks.invalid(&path, || "must be a token id".into());
        }
        checks.number(reader, &path, -100.0..=100.0)
    })
}

pub(super) fn check_stop(reader: &mut Reader<'_>, checks: &mut Checks) -> Result<(), JsonError> {
    match reader.kind()? {
        ValueKind::String | ValueKind::Null => reader.skip(),
        ValueKind::Array => {
            let mut count = 0;
            reader.array(|reader, index| {
                count += 1;
                let path = Path::Index(&"stop", index);
                match reader.kind()? {
                    ValueKind::String => {}
                    other => checks.invalid(&path, || format!("must be a string, not {}", other.name())),
                }
                reader.skip()
            })?;
            if !(1..=MAX_STOPS).contains(&count) {
                checks.invalid(&"stop", || format!("must have 1 to {MAX_STOPS} strings, not {count}"));
            }
            Ok(())
        }
        other @ (ValueKind::Bool | ValueKind::Number | ValueKind::Object) => {
            checks.invalid(&"stop", || format!("must be a string or an array of strings, not {}", other.name()));
            reader.skip()
        }
    }
}

/// Returns whether it is a schema.
fn check_response_format(reader: &mut Reader<'_>, checks: &mut Checks) -> Result<bool, JsonError> {
    if !checks.is(reader, &"response_format", ValueKind::Object)? {
        return Ok(false);
    }
    let mut has_type = false;
    let mut is_schema = false;
    let mut has_schema = false;
    reader.object(|reader, name, _| {
        if name.is("type") {
            if let Some(text) = checks.text(reader, &"response_format.type")? {
                has_type = true;
                is_schema = text.is("json_schema");
                checks.word(text, &"response_format.type", &["text", "json_object", "json_schema", "structural_tag"]);
            }
            return Ok(());
        }
        if name.is("json_schema") && checks.is(reader, &"response_format.json_schema", ValueKind::Object)? {
            has_schema = true;
            let mut has_name = false;
            reader.object(|reader, name, _| {
                if !name.is("name") {
                    return reader.skip();
                }
                has_name = checks.text(reader, &"response_format.json_schema.name")?.is_some();
                Ok(())
            })?;
            if !has_name {
                checks.missing(&"response_format.json_schema.name");
            }
            return Ok(());
        }
        if name.is("json_schema") { Ok(()) } else { reader.skip() }
    })?;
    if !has_type {
        checks.missing(&"response_format.type");
    } else if is_schema && !has_schema {
        checks.missing(&"response_format.json_schema");
    }
    Ok(is_schema)
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
