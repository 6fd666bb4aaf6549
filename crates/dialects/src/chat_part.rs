//! Reads the first choice of a normalized chat response: a chunk with its delta, or a whole response with its message.

use crate::MAX_TOOL_CALLS;
use json::{JsonError, RawStr, Reader, ValueKind};

/// One choice, or a piece of it. Texts are as the engine escaped them.
#[derive(Debug, Default)]
pub(super) struct ChatPart<'a> {
    /// The text of a thinking model before its response.
    pub(super) reasoning: Option<RawStr<'a>>,
    pub(super) content: Option<RawStr<'a>>,
    pub(super) tool_calls: Vec<ToolPart<'a>>,
    pub(super) finish: Option<FinishReason>,
    /// The stop sequence that ended the text, if the engine reports it.
    pub(super) matched_stop: Option<RawStr<'a>>,
    pub(super) reasoning_tokens: Option<u64>,
    /// The array of log probabilities of the tokens of `content`.
    pub(super) logprobs: Option<&'a [u8]>,
}

/// A tool call, or a piece of it.
#[derive(Debug, Default)]
pub(super) struct ToolPart<'a> {
    /// The number of the call within the response.
    pub(super) index: u64,
    pub(super) id: Option<RawStr<'a>>,
    pub(super) name: Option<RawStr<'a>>,
    pub(super) arguments: Option<RawStr<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FinishReason {
    Stop,
    Length,
    ToolCalls,
    ContentFilter,
}

impl<'a> ChatPart<'a> {
    pub(super) fn read(json: &'a [u8]) -> Result<Self, JsonError> {
        let mut part = Self::default();
        let mut reader = Reader::new(json);
        reader.object(|reader, name, _| match name.raw() {
            b"choices" if reader.kind()? == ValueKind::Array => reader.array(|reader, position| {
                if position > 0 || reader.kind()? != ValueKind::Object {
                    return reader.skip();
                }
                part.read_choice(reader)
            }),
            b"usage" if reader.kind()? == ValueKind::Object => part.read_usage(reader),
            _ => reader.skip(),
        })?;
        Ok(part)
    }

    fn read_choice(&mut self, reader: &mut Reader<'a>) -> Result<(), JsonError> {
        reader.object(|reader, name, _| match name.raw() {
            b"delta" | b"message" if reader.kind()? == ValueKind::Object => self.read_delta(reader),
            b"finish_reason" => {
                self.finish = text(reader)?.map(FinishReason::read);
                Ok(())
            }
            b"logprobs" if reader.kind()? == ValueKind::Object => reader.object(|reader, name, _| {
                if name.raw() != b"content" || reader.kind()? != ValueKind::Array {
                    return reader.skip();
                }
                self.logprobs = Some(reader.slice()?);
                Ok(())
            }),
            // vLLM and forebay-engine; SGLang.
            b"stop_reason" | b"matched_stop" => {
                self.matched_stop = text(reader)?.or(self.matched_stop);
                Ok(())
            }
            _ => reader.skip(),
        })
    }

    fn read_delta(&mut self, reader: &mut Reader<'a>) -> Result<(), JsonError> {
        let mut refusal = None;
        reader.object(|reader, name, _| {
            match name.raw() {
                b"content" => self.content = text(reader)?,
                b"refusal" => refusal = text(reader)?,
                // Some engines send both, with the same text.
                b"reasoning_content" | b"reasoning" => self.reasoning = self.reasoning.or(text(reader)?),
                b"tool_calls" if reader.kind()? == ValueKind::Array => reader.array(|reader, position| {
                    if reader.kind()? != ValueKind::Object {
                        return reader.skip();
                    }
                    if self.tool_calls.len() == MAX_TOOL_CALLS {
                        return Err(JsonError { why: "there are too many tool calls", at: reader.position() });
                    }
                    self.tool_calls.push(ToolPart::read(reader, position)?);
                    Ok(())
                })?,
                _ => reader.skip()?,
            }
            Ok::<(), JsonError>(())
        })?;
        self.content = self.content.or(refusal);
        Ok(())
    }

    fn read_usage(&mut self, reader: &mut Reader<'a>) -> Result<(), JsonError> {
        reader.object(|reader, name, _| {
            if name.raw() == b"completion_tokens_details" && reader.kind()? == ValueKind::Object {
                return reader.object(|reader, name, _| self.read_reasoning_tokens(reader, name));
            }
            // SGLang has no details.
            self.read_reasoning_tokens(reader, name)
        })
    }

    fn read_reasoning_tokens(&mut self, reader: &mut Reader<'a>, name: RawStr<'a>) -> Result<(), JsonError> {
        if name.raw() != b"reasoning_tokens" || reader.kind()? != ValueKind::Number {
            return reader.skip();
        }
        self.reasoning_tokens = number(reader)?;
        Ok(())
    }
}

impl<'a> ToolPart<'a> {
    fn read(reader: &mut Reader<'a>, position: usize) -> Result<Self, JsonError> {
        let mut part = Self { index: position as u64, ..Self::default() };
        reader.object(|reader, name, _| {
            match name.raw() {
                b"index" if reader.kind()? == ValueKind::Number => part.index = number(reader)?.unwrap_or(part.index),
                b"id" => part.id = text(reader)?,
                b"function" if reader.kind()? == ValueKind::Object => reader.object(|reader, name, _| {
                    match name.raw() {
                        b"name" => part.name = text(reader)?,
                        b"arguments" => part.arguments = text(reader)?,
                        _ => reader.skip()?,
                    }
                    Ok::<(), JsonError>(())
                })?,
                _ => reader.skip()?,
            }
            Ok::<(), JsonError>(())
        })?;
        Ok(part)
    }
}

impl FinishReason {
    /// Other words were replaced before.
    fn read(word: RawStr<'_>) -> Self {
        match word.raw() {
            b"length" => Self::Length,
            b"tool_calls" | b"function_call" => Self::ToolCalls,
            b"content_filter" => Self::ContentFilter,
            _ => Self::Stop,
        }
    }
}

/// A string that is not empty; `None` for every other value.
fn text<'a>(reader: &mut Reader<'a>) -> Result<Option<RawStr<'a>>, JsonError> {
    if reader.kind()? != ValueKind::String {
        return reader.skip().map(|()| None);
    }
    Ok(Some(reader.string()?).filter(|text| !text.raw().is_empty()))
}

fn number(reader: &mut Reader<'_>) -> Result<Option<u64>, JsonError> {
    let digits = reader.number()?;
    Ok(std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()))
}
