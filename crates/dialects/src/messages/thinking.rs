//! How much the model should think, and the format of its response.

use crate::thinking::Thinking;
use crate::writer::Output;
use domain::model::ThinkingSwitch;
use json::{Checks, ParseError, RawStr, Reader, ValueKind};
use std::ops::Range;

/// Budgets below these ask for low and for medium effort.
const LOW_BUDGET: u64 = 4_096;
const MEDIUM_BUDGET: u64 = 16_384;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ThinkingRequest {
    mode: Option<ThinkingMode>,
    budget: Option<u64>,
    effort: Option<&'static str>,
    /// The client does not want to see it.
    pub(super) is_omitted: bool,
    /// The JSON schema of the response.
    schema: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThinkingMode {
    Enabled,
    Adaptive,
    Disabled,
}

const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

impl ThinkingRequest {
    pub(super) fn read(thinking: &[u8], output: &[u8], checks: &mut Checks) -> Result<Self, ParseError> {
        let mut request = Self::default();
        let mut reader = Reader::new(thinking);
        if !thinking.is_empty() && checks.is(&mut reader, &"thinking", ValueKind::Object)? {
            reader.object(|reader, name, _| request.read_thinking(reader, name, checks))?;
        }
        let mut reader = Reader::new(output);
        if !output.is_empty() && checks.is(&mut reader, &"output_config", ValueKind::Object)? {
            reader.object(|reader, name, _| request.read_output(output, reader, name, checks))?;
        }
        Ok(request)
    }

    fn read_thinking(
        &mut self,
        reader: &mut Reader<'_>,
        name: RawStr<'_>,
        checks: &mut Checks,
    ) -> Result<(), ParseError> {
        if name.is("type") {
            if let Some(word) = checks.text(reader, &"thinking.type")? {
                self.mode = match checks.word(word, &"thinking.type", &["enabled", "adaptive", "disabled"]) {
                    Some("enabled") => Some(ThinkingMode::Enabled),
                    Some("adaptive") => Some(ThinkingMode::Adaptive),
                    Some("disabled") => Some(ThinkingMode::Disabled),
                    _ => None,
                };
            }
            return Ok(());
        }
        if name.is("budget_tokens") {
            self.budget = checks.integer(reader, &"thinking.budget_tokens", 0..=i64::MAX)?.map(i64::unsigned_abs);
            return Ok(());
        }
        if name.is("display") {
            self.is_omitted = checks.text(reader, &"thinking.display")?.is_some_and(|word| word.is("omitted"));
            return Ok(());
        }
        Ok(reader.skip()?)
    }

    fn read_output(
        &mut self,
        output: &[u8],
        reader: &mut Reader<'_>,
        name: RawStr<'_>,
        checks: &mut Checks,
    ) -> Result<(), ParseError> {
        if name.is("effort") {
            if let Some(word) = checks.text(reader, &"output_config.effort")? {
                self.effort = checks.word(word, &"output_config.effort", &EFFORTS);
            }
            return Ok(());
        }
        if name.is("format") && checks.is(reader, &"output_config.format", ValueKind::Object)? {
            let mut schema: Option<Range<usize>> = None;
            reader.object(|reader, name, _| {
                if name.is("schema") && checks.is(reader, &"output_config.format.schema", ValueKind::Object)? {
                    schema = Some(reader.span()?);
                    return Ok(());
                }
                if name.is("schema") {
                    return Ok(());
                }
                if name.is("type") {
                    checks.one_of(reader, &"output_config.format.type", &["json_schema"])?;
                    return Ok(());
                }
                Ok::<(), ParseError>(reader.skip()?)
            })?;
            match schema {
                Some(span) => self.schema = Some(output[span].to_vec()),
                None => checks.missing(&"output_config.format.schema"),
            }
            return Ok(());
        }
        if name.is("format") { Ok(()) } else { Ok(reader.skip()?) }
    }

    /// The effort in chat's words; `None` leaves it to the model.
    fn chat_effort(&self) -> Option<&'static str> {
        match (self.mode, self.effort, self.budget) {
            (Some(ThinkingMode::Disabled), _, _) => Some("none"),
            (_, Some(effort), _) => Some(effort),
            (Some(ThinkingMode::Enabled), None, Some(budget)) if budget < LOW_BUDGET => Some("low"),
            (Some(ThinkingMode::Enabled), None, Some(budget)) if budget < MEDIUM_BUDGET => Some("medium"),
            (Some(ThinkingMode::Enabled), None, Some(_)) => Some("high"),
            (Some(ThinkingMode::Enabled), None, None) => Some("medium"),
            (Some(ThinkingMode::Adaptive) | None, None, _) => None,
        }
    }
}

/// Writes the model's own switch, and the format of the response. A message that is continued has no room for thinking:
/// engines would take its rest for thoughts.
pub(super) fn write(request: &ThinkingRequest, switch: ThinkingSwitch, continues_message: bool, out: &mut Vec<u8>) {
    let is_on = match request.mode {
        Some(ThinkingMode::Enabled | ThinkingMode::Adaptive) => Some(true),
        Some(ThinkingMode::Disabled) => Some(false),
        None => continues_message.then_some(false),
    };
    Thinking { is_on, effort: request.chat_effort(), budget: request.budget }.write(switch, out);
    if let Some(schema) = &request.schema {
        out.put(b",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"response\",\"schema\":");
        out.put(schema);
        out.put(b",\"strict\":true}}");
    }
}
