//! A chat request: every documented member with its type and range; others travel untouched.

use super::checks::{Checks, Path};
use super::{Ask, Demand, Fault, Named, Probe, messages, read_members, tools, without_mark};
use crate::edits::Edits;
use crate::json::{self, Kind, Malformed, Reader};
use bytes::Bytes;
use std::ops::Range;

/// What the client asked of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Streaming {
    /// A last chunk with the usage.
    pub usage: bool,
    /// Running usage in every chunk.
    pub running_usage: bool,
    options: Option<Options>,
}

/// Where `stream_options` stands, and the members of it that are the client's own business.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Options {
    span: Range<usize>,
    others: Vec<Range<usize>>,
}

const MAX_STOPS: usize = 4;

/// Reads the body of `POST /v1/chat/completions`.
pub fn probe(body: Bytes) -> Result<Probe, Fault> {
    let body = without_mark(body);
    let mut checks = Checks::default();
    let mut named = Named::default();
    let mut prompt = None;
    let mut stream = false;
    let mut streaming = Streaming::default();
    let mut logprobs = false;
    let mut wants_top_logprobs = false;
    let mut demand = Demand::chat();

    read_members(&body, |reader, name| {
        let checks = &mut checks;
        match &*name.decoded() {
            b"model" => named.read(reader, checks)?,
            b"messages" => prompt = messages::check(reader, checks, &mut demand)?,
            b"stream" => stream = checks.boolean(reader, &"stream")?.unwrap_or(false),
            b"stream_options" => read_stream_options(reader, checks, &mut streaming)?,
            b"temperature" => checks.number(reader, &"temperature", 0.0..=2.0)?,
            b"top_p" => checks.number(reader, &"top_p", 0.0..=1.0)?,
            b"presence_penalty" => checks.number(reader, &"presence_penalty", -2.0..=2.0)?,
            b"frequency_penalty" => checks.number(reader, &"frequency_penalty", -2.0..=2.0)?,
            b"n" => demand.choices = checks.integer(reader, &"n", 1..=128)?.map_or(1, i64::unsigned_abs),
            b"max_tokens" => demand.read_max_tokens(reader, checks)?,
            b"max_completion_tokens" => demand.read_max_completion_tokens(reader, checks)?,
            b"seed" => {
                checks.integer(reader, &"seed", i64::MIN..=i64::MAX)?;
            }
            b"logprobs" => logprobs = checks.boolean(reader, &"logprobs")?.unwrap_or(false),
            b"top_logprobs" => wants_top_logprobs = checks.integer(reader, &"top_logprobs", 0..=20)?.is_some(),
            b"logit_bias" => check_logit_bias(reader, checks)?,
            b"stop" => check_stop(reader, checks)?,
            b"tools" => demand.prompt_bytes += measured(reader, |reader| tools::check(reader, checks))?,
            b"tool_choice" => tools::check_choice(reader, checks)?,
            b"parallel_tool_calls" => {
                checks.boolean(reader, &"parallel_tool_calls")?;
            }
            b"response_format" => {
                demand.prompt_bytes += measured(reader, |reader| check_response_format(reader, checks))?;
            }
            b"reasoning_effort" => checks.one_of(
                reader,
                &"reasoning_effort",
                &["none", "minimal", "low", "medium", "high", "xhigh", "max"],
            )?,
            b"verbosity" => checks.one_of(reader, &"verbosity", &["low", "medium", "high"])?,
            b"service_tier" => {
                checks.one_of(reader, &"service_tier", &["auto", "default", "flex", "scale", "priority", "fast"])?;
            }
            _ => reader.skip()?,
        }
        Ok(())
    })?;

    let (model, model_span) = named.take(&mut checks)?;
    if wants_top_logprobs && !logprobs {
        checks.invalid(&"top_logprobs", || "needs `logprobs` to be true".into());
    }
    if prompt.is_none() {
        checks.missing(&"messages");
    }
    let invalid = checks.finish()?;
    let ask = Ask::Chat { streaming: stream.then_some(streaming) };
    let prompt = prompt.unwrap_or(0..0);
    demand.prompt_bytes += prompt.len() as u64;
    Ok(Probe { body, model, model_span, prompt, ask, demand, invalid })
}

/// How many bytes a value has.
fn measured(
    reader: &mut Reader<'_>,
    check: impl FnOnce(&mut Reader<'_>) -> Result<(), Malformed>,
) -> Result<u64, Malformed> {
    reader.kind()?;
    let start = reader.position();
    check(reader)?;
    Ok((reader.position() - start) as u64)
}

fn read_stream_options(
    reader: &mut Reader<'_>,
    checks: &mut Checks,
    streaming: &mut Streaming,
) -> Result<(), Malformed> {
    reader.kind()?;
    let start = reader.position();
    let mut others = Vec::new();
    if checks.is(reader, &"stream_options", Kind::Object)? {
        reader.object(|reader, name, name_at| {
            if name.is("include_usage") {
                streaming.usage = checks.boolean(reader, &"stream_options.include_usage")?.unwrap_or(false);
            } else if name.is("continuous_usage_stats") {
                let running = checks.boolean(reader, &"stream_options.continuous_usage_stats")?;
                streaming.running_usage = running.unwrap_or(false);
            } else {
                let value = reader.span()?;
                others.push(name_at..value.end);
            }
            Ok::<(), Malformed>(())
        })?;
    }
    streaming.options = Some(Options { span: start..reader.position(), others });
    Ok(())
}

fn check_logit_bias(reader: &mut Reader<'_>, checks: &mut Checks) -> Result<(), Malformed> {
    if !checks.is(reader, &"logit_bias", Kind::Object)? {
        return Ok(());
    }
    reader.object(|reader, name, _| {
        let token = name.decoded();
        let token = String::from_utf8_lossy(&token);
        let path = Path::Member(&"logit_bias", &token);
        if token.parse::<u64>().is_err() {
            checks.invalid(&path, || "must be named by a token id".into());
        }
        checks.number(reader, &path, -100.0..=100.0)
    })
}

fn check_stop(reader: &mut Reader<'_>, checks: &mut Checks) -> Result<(), Malformed> {
    match reader.kind()? {
        Kind::String | Kind::Null => reader.skip(),
        Kind::Array => {
            let mut count = 0;
            reader.array(|reader, index| {
                count += 1;
                let path = Path::Index(&"stop", index);
                match reader.kind()? {
                    Kind::String => {}
                    other => checks.invalid(&path, || format!("must be a string, not {}", other.name())),
                }
                reader.skip()
            })?;
            if !(1..=MAX_STOPS).contains(&count) {
                checks.invalid(&"stop", || format!("must have 1 to {MAX_STOPS} strings, not {count}"));
            }
            Ok(())
        }
        other @ (Kind::Bool | Kind::Number | Kind::Object) => {
            checks.invalid(&"stop", || format!("must be a string or an array of strings, not {}", other.name()));
            reader.skip()
        }
    }
}

fn check_response_format(reader: &mut Reader<'_>, checks: &mut Checks) -> Result<(), Malformed> {
    if !checks.is(reader, &"response_format", Kind::Object)? {
        return Ok(());
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
        if name.is("json_schema") && checks.is(reader, &"response_format.json_schema", Kind::Object)? {
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
    Ok(())
}

impl Probe {
    /// What an upstream gets: its own name of the model, usage asked for whether the client did or not, and a limit on
    /// each choice where the quota leaves less than was asked for.
    pub fn upstream_edits(&self, model: &str, running_usage: bool, clamp: Option<u64>) -> Edits<'static> {
        let mut edits = Edits::default();
        edits.replace(self.model_span.clone(), json::quote(model));
        if let Some(limit) = clamp {
            self.demand.clamp(limit, self.model_span.end, &mut edits);
        }
        if let Ask::Chat { streaming: Some(streaming) } = &self.ask {
            let ours = stream_options(&self.body, streaming, running_usage);
            match &streaming.options {
                Some(options) => edits.replace(options.span.clone(), ours),
                None => {
                    let member = [b",\"stream_options\":", &ours[..]].concat();
                    edits.insert(self.model_span.end, member);
                }
            }
        }
        edits
    }
}

fn stream_options(body: &Bytes, streaming: &Streaming, running_usage: bool) -> Vec<u8> {
    let mut ours = br#"{"include_usage":true"#.to_vec();
    if running_usage || streaming.running_usage {
        ours.extend_from_slice(br#","continuous_usage_stats":true"#);
    }
    for other in streaming.options.iter().flat_map(|options| &options.others) {
        ours.push(b',');
        ours.extend_from_slice(&body[other.clone()]);
    }
    ours.push(b'}');
    ours
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
