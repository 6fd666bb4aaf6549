//! The format of the response's text.

use super::wire::{FormatEcho, TextEcho};
use crate::raw_text::{checked, of_raw};
use crate::values::value;
use crate::writer::Output;
use json::{Checks, ParseError, RawStr, Reader, ValueKind};

const TYPES: [&str; 3] = ["text", "json_object", "json_schema"];

#[derive(Debug, Default)]
pub(super) struct TextFormat<'a> {
    kind: Option<&'static str>,
    name: Option<RawStr<'a>>,
    description: Option<RawStr<'a>>,
    schema: Option<&'a [u8]>,
    is_strict: bool,
    verbosity: Option<RawStr<'a>>,
}

impl<'a> TextFormat<'a> {
    pub(super) fn read(json: &'a [u8], checks: &mut Checks) -> Result<Self, ParseError> {
        let mut format = Self::default();
        let mut reader = Reader::new(json);
        if json.is_empty() || !checks.is(&mut reader, &"text", ValueKind::Object)? {
            return Ok(format);
        }
        reader.object(|reader, name, _| {
            match &*name.decoded() {
                b"format" => {
                    if checks.is(reader, &"text.format", ValueKind::Object)? {
                        reader.object(|reader, name, _| format.read_format(reader, name, checks))?;
                        format.check(checks);
                    }
                }
                b"verbosity" => {
                    format.verbosity = checks.text(reader, &"text.verbosity")?;
                    if let Some(word) = format.verbosity {
                        checks.word(word, &"text.verbosity", &["low", "medium", "high"]);
                    }
                }
                _ => reader.skip()?,
            }
            Ok::<(), ParseError>(())
        })?;
        Ok(format)
    }

    fn read_format(
        &mut self,
        reader: &mut Reader<'a>,
        name: RawStr<'a>,
        checks: &mut Checks,
    ) -> Result<(), ParseError> {
        match &*name.decoded() {
            b"type" => {
                if let Some(word) = checks.text(reader, &"text.format.type")? {
                    checks.word(word, &"text.format.type", &TYPES);
                    self.kind = TYPES.into_iter().find(|kind| word.is(kind));
                }
            }
            b"name" => self.name = checks.text(reader, &"text.format.name")?,
            b"description" => self.description = checks.text(reader, &"text.format.description")?,
            b"strict" => self.is_strict = checks.boolean(reader, &"text.format.strict")?.unwrap_or(false),
            b"schema" => {
                if reader.kind()? != ValueKind::Object {
                    checks.is(reader, &"text.format.schema", ValueKind::Object)?;
                    return Ok(());
                }
                self.schema = value(reader)?;
            }
            _ => reader.skip()?,
        }
        Ok(())
    }

    fn check(&self, checks: &mut Checks) {
        if self.kind != Some("json_schema") {
            return;
        }
        if self.name.is_none() {
            checks.missing(&"text.format.name");
        }
        if self.schema.is_none() {
            checks.missing(&"text.format.schema");
        }
    }

    /// Writes `response_format`.
    pub(super) fn write_chat(&self, out: &mut Vec<u8>) {
        match self.kind {
            Some("json_object") => out.put(b",\"response_format\":{\"type\":\"json_object\"}"),
            Some("json_schema") => {
                out.put(b",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{");
                self.write_schema(out);
                out.put(b"}}");
            }
            _ => {}
        }
    }

    /// `"name":…,"description":…,"schema":…,"strict":…`.
    fn write_schema(&self, out: &mut Vec<u8>) {
        out.put(b"\"name\":");
        out.put_raw_text(self.name.map_or(&b""[..], RawStr::raw));
        if let Some(description) = self.description {
            out.put(b",\"description\":");
            out.put_raw_text(description.raw());
        }
        out.put(b",\"schema\":");
        out.put(self.schema.unwrap_or(b"{}"));
        out.put(if self.is_strict { b",\"strict\":true" } else { b",\"strict\":false" });
    }

    /// The member `text` of the response.
    pub(super) fn echo(&self) -> TextEcho {
        let format = match self.kind {
            Some("json_schema") => FormatEcho::JsonSchema {
                description: self.description.map(of_raw),
                name: self.name.map(of_raw),
                schema: self.schema.map(checked),
                strict: self.is_strict,
            },
            Some("json_object") => FormatEcho::JsonObject,
            _ => FormatEcho::Text,
        };
        TextEcho { format, verbosity: self.verbosity.map(of_raw) }
    }
}
