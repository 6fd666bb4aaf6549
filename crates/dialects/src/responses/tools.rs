//! The tools of a request, as functions of chat, and back.
//!
//! Chat knows only functions with names of letters, digits, `_` and `-`. Custom tools become functions with one text,
//! tools of a namespace get its name as a prefix, and the search for tools is a function like others. The
//! [table](super::tool_table) turns calls back.

use super::item::{Item, ItemKind};
use super::tool_choice::ToolChoice;
use super::tool_table::{DeclaredTool, MAX_TOOLS, TOOL_SEARCH, ToolKind, ToolTable, text};
use super::wire::ToolEcho;
use crate::raw_text::{checked, encode, of_raw};
use crate::values::value;
use crate::writer::Output;
use json::{Checks, ParseError, Path, RawStr, Reader, ValueKind, quote, shorten};
use std::borrow::Cow;
use std::fmt::Display;

/// The most types of left out tools that are reported.
const MAX_REPORTED: usize = 16;
const NO_PARAMETERS: &[u8] = b"{\"type\":\"object\",\"properties\":{}}";
const CUSTOM_PARAMETERS: &[u8] = b"{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\"}},\
    \"required\":[\"input\"],\"additionalProperties\":false}";

/// The tools of a request, and their definitions.
#[derive(Default)]
pub(super) struct ToolSet {
    table: ToolTable,
    /// The definitions in chat, in the order of the table.
    definitions: Vec<Vec<u8>>,
    /// The member `tools` of the response.
    echo: Vec<ToolEcho>,
    left_out: Vec<String>,
}

#[derive(Default)]
struct ToolMembers<'a> {
    kind: Option<RawStr<'a>>,
    name: Option<RawStr<'a>>,
    description: Option<RawStr<'a>>,
    execution: Option<RawStr<'a>>,
    parameters: Option<&'a [u8]>,
    format: Option<&'a [u8]>,
    tools: Option<&'a [u8]>,
    strict: Option<bool>,
}

impl ToolSet {
    pub(super) fn table(&self) -> &ToolTable {
        &self.table
    }

    /// The table, the member of the response, and the types of tools that are left out.
    pub(super) fn into_parts(self) -> (ToolTable, Vec<ToolEcho>, Vec<String>) {
        (self.table, self.echo, self.left_out)
    }

    /// Adds the tools of a request.
    pub(super) fn declare(&mut self, tools: &[u8], path: &dyn Display, checks: &mut Checks) -> Result<(), ParseError> {
        let mut reader = Reader::new(tools);
        if tools.is_empty() || !checks.is(&mut reader, path, ValueKind::Array)? {
            return Ok(());
        }
        reader.array(|reader, index| {
            let path = Path::Index(path, index);
            if !checks.is_object(reader, &path)? {
                return Ok(());
            }
            let json = reader.slice()?;
            let tool = ToolMembers::read(&mut Reader::new(json), &path, checks)?;
            let is_kept = self.add(&tool, &path, checks)?;
            if is_kept {
                self.echo.push(tool.echo(json));
            }
            Ok::<(), ParseError>(())
        })
    }

    /// Adds the tools that an item of the conversation brings. The response repeats only those of the request itself.
    pub(super) fn declare_added(&mut self, item: &Item<'_>, checks: &mut Checks) -> Result<(), ParseError> {
        match (item.kind, item.members.tools) {
            (ItemKind::AdditionalTools | ItemKind::ToolSearchOutput, Some(tools)) => {
                let echoed = self.echo.len();
                self.declare(tools, &Path::Member(&item.path(), "tools"), checks)?;
                self.echo.truncate(echoed);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Returns whether the tool is one that the model can call.
    fn add(&mut self, tool: &ToolMembers<'_>, path: &Path<'_>, checks: &mut Checks) -> Result<bool, ParseError> {
        if !tool.kind.is_some_and(|kind| kind.is("namespace")) {
            return Ok(self.add_callable(tool, None, path, checks));
        }
        let Some(namespace) = tool.name.map(text) else {
            checks.missing(&Path::Member(path, "name"));
            return Ok(false);
        };
        let path = Path::Member(path, "tools");
        let Some(tools) = tool.tools else { return Ok(true) };
        let mut reader = Reader::new(tools);
        if checks.is(&mut reader, &path, ValueKind::Array)? {
            reader.array(|reader, index| {
                let path = Path::Index(&path, index);
                if checks.is_object(reader, &path)? {
                    let tool = ToolMembers::read(reader, &path, checks)?;
                    self.add_callable(&tool, Some(&namespace), &path, checks);
                }
                Ok::<(), ParseError>(())
            })?;
        }
        Ok(true)
    }

    fn add_callable(
        &mut self,
        tool: &ToolMembers<'_>,
        namespace: Option<&str>,
        path: &Path<'_>,
        checks: &mut Checks,
    ) -> bool {
        let Some(kind) = tool.callable_kind() else {
            if self.left_out.len() < MAX_REPORTED {
                let kind = tool.kind.map_or(Cow::Borrowed(&b""[..]), RawStr::decoded);
                self.left_out.push(shorten(&kind).to_owned());
            }
            return false;
        };
        let name = match (kind, tool.name) {
            (ToolKind::Search, _) => TOOL_SEARCH.to_owned(),
            (_, Some(name)) => text(name),
            (_, None) => {
                checks.missing(&Path::Member(path, "name"));
                return false;
            }
        };
        let declared = self.table.declared(kind, namespace, &name).map(|tool| tool.chat_name.clone());
        let chat_name = match declared {
            Some(chat_name) => chat_name,
            None if self.table.tools.len() >= MAX_TOOLS => {
                checks.invalid(path, || format!("there are more than {MAX_TOOLS} tools"));
                return false;
            }
            None => self.table.unique_name(namespace, &name),
        };
        let definition = tool.definition(kind, &chat_name);
        let declared = DeclaredTool { kind, name, namespace: namespace.map(str::to_owned), chat_name };
        self.put(declared, definition);
        true
    }

    /// A tool that is declared again replaces the earlier one.
    fn put(&mut self, tool: DeclaredTool, definition: Vec<u8>) {
        let tools = &mut self.table.tools;
        if let Some(place) = tools.iter().position(|known| known.chat_name == tool.chat_name) {
            tools[place] = tool;
            self.definitions[place] = definition;
        } else {
            tools.push(tool);
            self.definitions.push(definition);
        }
    }

    /// Writes `tools` and `tool_choice`.
    pub(super) fn write(&self, choice: &ToolChoice, is_parallel: bool, out: &mut Vec<u8>) {
        let mut is_first = true;
        for (tool, definition) in self.table.tools.iter().zip(&self.definitions) {
            if choice.allows(tool) {
                out.put(if is_first { b",\"tools\":[" } else { b"," });
                out.put(definition);
                is_first = false;
            }
        }
        if is_first {
            return;
        }
        out.put(b"]");
        choice.write(&self.table.tools, out);
        if !is_parallel {
            out.put(b",\"parallel_tool_calls\":false");
        }
    }
}

impl<'a> ToolMembers<'a> {
    fn read(reader: &mut Reader<'a>, path: &Path<'_>, checks: &mut Checks) -> Result<Self, ParseError> {
        let mut tool = Self::default();
        reader.object(|reader, name, _| {
            let member = |name: &'static str| Path::Member(path, name);
            match &*name.decoded() {
                b"type" => tool.kind = checks.text(reader, &member("type"))?,
                b"name" => tool.name = checks.text(reader, &member("name"))?,
                b"description" => tool.description = checks.text(reader, &member("description"))?,
                b"execution" => tool.execution = checks.text(reader, &member("execution"))?,
                b"strict" => tool.strict = checks.boolean(reader, &member("strict"))?,
                b"format" => tool.format = value(reader)?,
                b"tools" => tool.tools = value(reader)?,
                b"parameters" if reader.kind()? == ValueKind::Object => tool.parameters = value(reader)?,
                b"parameters" => {
                    checks.is(reader, &member("parameters"), ValueKind::Object)?;
                }
                _ => reader.skip()?,
            }
            Ok::<(), ParseError>(())
        })?;
        Ok(tool)
    }

    /// `None` for tools that only OpenAI's servers have.
    fn callable_kind(&self) -> Option<ToolKind> {
        let kind = self.kind?;
        let is_client = self.execution.is_some_and(|place| place.is("client"));
        let known = [("function", ToolKind::Function), ("custom", ToolKind::Custom), (TOOL_SEARCH, ToolKind::Search)];
        let (_, found) = known.into_iter().find(|(name, _)| kind.is(name))?;
        (found != ToolKind::Search || is_client).then_some(found)
    }

    fn echo(&self, json: &[u8]) -> ToolEcho {
        if !self.kind.is_some_and(|kind| kind.is("function")) {
            return ToolEcho::Other(checked(json));
        }
        ToolEcho::Function {
            r#type: "function",
            name: self.name.map_or_else(|| encode(""), of_raw),
            description: self.description.map(of_raw),
            parameters: self.parameters.map(checked),
            strict: self.strict == Some(true),
        }
    }

    fn definition(&self, kind: ToolKind, chat_name: &str) -> Vec<u8> {
        let mut out = Vec::new();
        out.put(b"{\"type\":\"function\",\"function\":{\"name\":");
        out.put(&quote(chat_name));
        let description = self.description.map_or(&b""[..], RawStr::raw);
        let grammar = if kind == ToolKind::Custom { self.format.and_then(grammar) } else { None };
        if self.description.is_some() || grammar.is_some() {
            out.put(b",\"description\":\"");
            out.put(description);
            if let Some(Grammar { syntax, definition }) = grammar {
                out.put(b"\\n\\nThe input must match this ");
                out.put(syntax);
                out.put(b" grammar:\\n");
                out.put(definition);
            }
            out.put(b"\"");
        }
        out.put(b",\"parameters\":");
        out.put(match kind {
            ToolKind::Custom => CUSTOM_PARAMETERS,
            ToolKind::Function | ToolKind::Search => self.parameters.unwrap_or(NO_PARAMETERS),
        });
        if self.strict == Some(true) && kind == ToolKind::Function {
            out.put(b",\"strict\":true");
        }
        out.put(b"}}");
        out
    }
}

/// The grammar of a custom tool's input, escaped.
struct Grammar<'a> {
    syntax: &'a [u8],
    definition: &'a [u8],
}

/// `None` if the input may be any text. Chat cannot enforce a grammar, so the description names it.
fn grammar(format: &[u8]) -> Option<Grammar<'_>> {
    let (mut syntax, mut definition) = (None, None);
    let mut reader = Reader::new(format);
    if reader.kind().ok()? != ValueKind::Object {
        return None;
    }
    let read = reader.object(|reader, name, _| match name.raw() {
        b"syntax" if reader.kind()? == ValueKind::String => {
            syntax = Some(reader.string()?.raw());
            Ok(())
        }
        b"definition" if reader.kind()? == ValueKind::String => {
            definition = Some(reader.string()?.raw());
            Ok(())
        }
        _ => reader.skip(),
    });
    read.ok()?;
    Some(Grammar { syntax: syntax.unwrap_or_default(), definition: definition? })
}
