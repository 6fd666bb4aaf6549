//! The choice among the tools.

use super::tool_table::{DeclaredTool, TOOL_SEARCH, ToolKind};
use crate::values::value;
use crate::writer::Output;
use json::{Checks, ParseError, Path, RawStr, Reader, ValueKind, quote};

const MODES: [&str; 3] = ["auto", "required", "none"];

/// A tool, or all tools of a namespace.
#[derive(Debug)]
struct NamedTool {
    /// `None` for a namespace.
    kind: Option<ToolKind>,
    name: String,
    namespace: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct ToolChoice {
    mode: Option<&'static str>,
    /// The only tool that the model may call, and must.
    forced: Option<NamedTool>,
    /// `None` if all tools are allowed.
    allowed: Option<Vec<NamedTool>>,
}

#[derive(Default)]
struct ChoiceMembers<'a> {
    kind: Option<RawStr<'a>>,
    name: Option<RawStr<'a>>,
    namespace: Option<RawStr<'a>>,
    mode: Option<RawStr<'a>>,
    tools: Option<&'a [u8]>,
}

impl ToolChoice {
    pub(super) fn read(json: &[u8], checks: &mut Checks) -> Result<Self, ParseError> {
        if json.is_empty() {
            return Ok(Self::default());
        }
        let mut choice = Self::default();
        let mut reader = Reader::new(json);
        if reader.kind()? == ValueKind::String {
            choice.mode = read_mode(reader.string()?, "tool_choice", checks);
            return Ok(choice);
        }
        if !checks.is(&mut reader, &"tool_choice", ValueKind::Object)? {
            return Ok(choice);
        }
        let members = ChoiceMembers::read(&mut reader, &"tool_choice", checks)?;
        let Some(kind) = members.kind else {
            checks.missing(&"tool_choice.type");
            return Ok(choice);
        };
        if kind.is("allowed_tools") {
            choice.mode = members.mode.and_then(|mode| read_mode(mode, "tool_choice.mode", checks));
            choice.allowed = Some(read_allowed(members.tools, checks)?);
        } else if kind.is("function") || kind.is("custom") || kind.is(TOOL_SEARCH) {
            choice.forced = members.named();
            if choice.forced.is_none() {
                checks.missing(&"tool_choice.name");
            }
        }
        // Other types are of tools that are left out, so the model chooses among the rest.
        Ok(choice)
    }

    pub(super) fn allows(&self, tool: &DeclaredTool) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.iter().any(|named| named.covers(tool)))
    }

    /// Writes `tool_choice`, with the name that a tool has in chat.
    pub(super) fn write(&self, tools: &[DeclaredTool], out: &mut Vec<u8>) {
        if let Some(forced) = &self.forced {
            let name = match forced.best_of(tools) {
                Some(tool) => &tool.chat_name,
                // A search on the server is left out, so the model chooses among the rest.
                None if forced.kind == Some(ToolKind::Search) => return,
                None => &forced.name,
            };
            out.put(b",\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":");
            out.put(&quote(name));
            out.put(b"}}");
        } else if let Some(mode) = self.mode {
            out.put(b",\"tool_choice\":");
            out.put_text(mode);
        }
    }
}

fn read_mode(word: RawStr<'_>, path: &'static str, checks: &mut Checks) -> Option<&'static str> {
    checks.word(word, &path, &MODES);
    MODES.into_iter().find(|mode| word.is(mode))
}

fn read_allowed(tools: Option<&[u8]>, checks: &mut Checks) -> Result<Vec<NamedTool>, ParseError> {
    const PATH: &str = "tool_choice.tools";
    let mut allowed = Vec::new();
    let Some(tools) = tools else {
        checks.missing(&PATH);
        return Ok(allowed);
    };
    let mut reader = Reader::new(tools);
    if checks.is(&mut reader, &PATH, ValueKind::Array)? {
        reader.array(|reader, index| {
            let path = Path::Index(&PATH, index);
            if checks.is_object(reader, &path)? {
                allowed.extend(ChoiceMembers::read(reader, &path, checks)?.named());
            }
            Ok::<(), ParseError>(())
        })?;
    }
    Ok(allowed)
}

impl<'a> ChoiceMembers<'a> {
    fn read(reader: &mut Reader<'a>, path: &dyn std::fmt::Display, checks: &mut Checks) -> Result<Self, ParseError> {
        let mut members = Self::default();
        reader.object(|reader, name, _| {
            let member = |name: &'static str| Path::Member(path, name);
            match &*name.decoded() {
                b"type" => members.kind = checks.text(reader, &member("type"))?,
                b"name" => members.name = checks.text(reader, &member("name"))?,
                b"namespace" => members.namespace = checks.text(reader, &member("namespace"))?,
                b"mode" => members.mode = checks.text(reader, &member("mode"))?,
                b"tools" => members.tools = value(reader)?,
                _ => reader.skip()?,
            }
            Ok::<(), ParseError>(())
        })?;
        Ok(members)
    }

    /// `None` for tools without a name, which are those that are left out. The search for tools needs none.
    fn named(&self) -> Option<NamedTool> {
        let text = |raw: RawStr<'_>| String::from_utf8_lossy(&raw.decoded()).into_owned();
        let is = |word: &str| self.kind.is_some_and(|kind| kind.is(word));
        if is(TOOL_SEARCH) {
            return Some(NamedTool { kind: Some(ToolKind::Search), name: TOOL_SEARCH.to_owned(), namespace: None });
        }
        let kind = if is("custom") { ToolKind::Custom } else { ToolKind::Function };
        Some(NamedTool {
            kind: (!is("namespace")).then_some(kind),
            name: self.name.map(text)?,
            namespace: self.namespace.map(text),
        })
    }
}

impl NamedTool {
    /// A name without a namespace is that of a tool in any namespace. Functions and custom tools count as one kind.
    fn covers(&self, tool: &DeclaredTool) -> bool {
        let Some(kind) = self.kind else { return tool.namespace.as_ref() == Some(&self.name) };
        let (is_search, names_search) = (tool.kind == ToolKind::Search, kind == ToolKind::Search);
        is_search == names_search
            && tool.name == self.name
            && self.namespace.as_ref().is_none_or(|own| tool.namespace.as_ref() == Some(own))
    }

    /// The tool that is meant: first one of the same kind, and then one in the same namespace or without one.
    fn best_of<'t>(&self, tools: &'t [DeclaredTool]) -> Option<&'t DeclaredTool> {
        let covered = tools.iter().filter(|tool| self.covers(tool));
        covered.min_by_key(|tool| (Some(tool.kind) != self.kind, tool.namespace != self.namespace))
    }
}
