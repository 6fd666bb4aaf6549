//! Turns tools and the choice among them into those of chat.

use crate::writer::Output;
use json::{Checks, ParseError, Path, RawStr, Reader, ValueKind, shorten};
use std::ops::Range;

const MAX_NAME_LEN: usize = 128;
const CHOICES: [&str; 4] = ["auto", "any", "tool", "none"];
/// The most types of left out tools that are reported.
const MAX_REPORTED: usize = 16;

#[derive(Default)]
struct Tool<'a> {
    kind: Option<RawStr<'a>>,
    name: Option<RawStr<'a>>,
    description: Option<RawStr<'a>>,
    schema: Option<Range<usize>>,
    strict: Option<bool>,
}

/// Writes `tools` and `tool_choice`. Returns the types of tools that only Anthropic's servers have; they are left out.
pub(super) fn write(
    tools: &[u8],
    choice: &[u8],
    checks: &mut Checks,
    out: &mut Vec<u8>,
) -> Result<Vec<String>, ParseError> {
    let mut left_out = Vec::new();
    let mut written = 0;
    let mut list: Vec<u8> = Vec::new();
    let mut reader = Reader::new(tools);
    if !tools.is_empty() && checks.is(&mut reader, &"tools", ValueKind::Array)? {
        reader.array(|reader, index| {
            let path = Path::Index(&"tools", index);
            if !checks.is_object(reader, &path)? {
                return Ok(());
            }
            let tool = Tool::read(reader, &path, checks)?;
            match tool.kind {
                Some(kind) if !kind.is("custom") => {
                    if left_out.len() < MAX_REPORTED {
                        left_out.push(shorten(&kind.decoded()).to_owned());
                    }
                }
                Some(_) | None => {
                    if written > 0 {
                        list.put(b",");
                    }
                    tool.write(tools, &path, checks, &mut list);
                    written += 1;
                }
            }
            Ok::<(), ParseError>(())
        })?;
    }
    let choice = ToolChoice::read(choice, checks)?;
    if written > 0 {
        out.put(b",\"tools\":[");
        out.put(&list);
        out.put(b"]");
        choice.write(out);
    }
    Ok(left_out)
}

impl<'a> Tool<'a> {
    fn read(reader: &mut Reader<'a>, path: &Path<'_>, checks: &mut Checks) -> Result<Self, ParseError> {
        let mut tool = Self::default();
        reader.object(|reader, name, _| {
            match &*name.decoded() {
                b"type" => tool.kind = checks.text(reader, &Path::Member(path, "type"))?,
                b"name" => tool.name = checks.text(reader, &Path::Member(path, "name"))?,
                b"description" => tool.description = checks.text(reader, &Path::Member(path, "description"))?,
                b"strict" => tool.strict = checks.boolean(reader, &Path::Member(path, "strict"))?,
                b"input_schema" => {
                    if checks.is(reader, &Path::Member(path, "input_schema"), ValueKind::Object)? {
                        tool.schema = Some(reader.span()?);
                    }
                }
                _ => reader.skip()?,
            }
            Ok::<(), ParseError>(())
        })?;
        Ok(tool)
    }

    fn write(&self, tools: &[u8], path: &Path<'_>, checks: &mut Checks, out: &mut Vec<u8>) {
        let name = self.name.map_or(&b""[..], RawStr::raw);
        if self.name.is_none() {
            checks.missing(&Path::Member(path, "name"));
        } else if !self.name.is_some_and(is_name) {
            let why = || format!("must be 1 to {MAX_NAME_LEN} letters, digits, _ or -");
            checks.invalid(&Path::Member(path, "name"), why);
        }
        out.put(b"{\"type\":\"function\",\"function\":{\"name\":");
        out.put_raw_text(name);
        if let Some(description) = self.description {
            out.put(b",\"description\":");
            out.put_raw_text(description.raw());
        }
        match &self.schema {
            Some(schema) => {
                out.put(b",\"parameters\":");
                out.put(&tools[schema.clone()]);
            }
            None => checks.missing(&Path::Member(path, "input_schema")),
        }
        if self.strict == Some(true) {
            out.put(b",\"strict\":true");
        }
        out.put(b"}}");
    }
}

pub(super) fn is_name(name: RawStr<'_>) -> bool {
    let name = name.decoded();
    (1..=MAX_NAME_LEN).contains(&name.len())
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte))
}

#[derive(Default)]
struct ToolChoice<'a> {
    /// One of [`CHOICES`].
    kind: Option<&'static str>,
    name: Option<RawStr<'a>>,
    is_single: bool,
}

impl<'a> ToolChoice<'a> {
    fn read(value: &'a [u8], checks: &mut Checks) -> Result<Self, ParseError> {
        let mut choice = Self::default();
        let mut word = None;
        let mut reader = Reader::new(value);
        if value.is_empty() || !checks.is(&mut reader, &"tool_choice", ValueKind::Object)? {
            return Ok(choice);
        }
        reader.object(|reader, name, _| {
            match &*name.decoded() {
                b"type" => word = checks.text(reader, &"tool_choice.type")?,
                b"name" => choice.name = checks.text(reader, &"tool_choice.name")?,
                b"disable_parallel_tool_use" => {
                    let is_single = checks.boolean(reader, &"tool_choice.disable_parallel_tool_use")?;
                    choice.is_single = is_single.unwrap_or(false);
                }
                _ => reader.skip()?,
            }
            Ok::<(), ParseError>(())
        })?;
        match word {
            None => checks.missing(&"tool_choice.type"),
            Some(word) => choice.kind = checks.word(word, &"tool_choice.type", &CHOICES),
        }
        if choice.kind == Some("tool") && choice.name.is_none() {
            checks.missing(&"tool_choice.name");
        }
        Ok(choice)
    }

    fn write(&self, out: &mut Vec<u8>) {
        match (self.kind, self.name) {
            (Some("auto"), _) => out.put(b",\"tool_choice\":\"auto\""),
            (Some("any"), _) => out.put(b",\"tool_choice\":\"required\""),
            (Some("none"), _) => out.put(b",\"tool_choice\":\"none\""),
            (Some("tool"), Some(name)) => {
                out.put(b",\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":");
                out.put_raw_text(name.raw());
                out.put(b"}}");
            }
            _ => {}
        }
        if self.is_single {
            out.put(b",\"parallel_tool_calls\":false");
        }
    }
}
