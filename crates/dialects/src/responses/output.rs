//! The items of a response's output.

use super::ResponseOptions;
use super::reasoning;
use super::tool_table::{DeclaredTool, ToolKind};
use crate::writer::Output;
use json::{JsonError, Reader, ValueKind, quote};
use std::borrow::Cow;
use std::sync::OnceLock;

#[derive(Debug)]
pub(super) struct OutputItem {
    pub(super) kind: OutputKind,
    /// Its text, or the arguments of a call, escaped.
    pub(super) text: Vec<u8>,
    /// The log probabilities of the text's tokens, as JSON without brackets.
    pub(super) logprobs: Vec<u8>,
    /// The sealed text: sealing it again would give another value.
    pub(super) sealed: OnceLock<String>,
    pub(super) status: ItemStatus,
}

#[derive(Debug)]
pub(super) enum OutputKind {
    Reasoning,
    Message,
    Call(ToolCall),
}

/// Names a call. Both are escaped.
#[derive(Debug)]
pub(super) struct ToolCall {
    pub(super) id: Box<[u8]>,
    /// In chat.
    pub(super) name: Box<[u8]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemStatus {
    InProgress,
    Completed,
    /// The response was cut off here.
    Incomplete,
}

impl ItemStatus {
    const fn name(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
        }
    }
}

impl OutputItem {
    pub(super) fn new(kind: OutputKind) -> Self {
        let (text, logprobs, sealed) = (Vec::new(), Vec::new(), OnceLock::new());
        Self { kind, text, logprobs, sealed, status: ItemStatus::InProgress }
    }

    /// What the client declared under the name of the call; `None` for other items and for a name of the model's own.
    pub(super) fn tool<'o>(&self, options: &'o ResponseOptions) -> Option<&'o DeclaredTool> {
        match &self.kind {
            OutputKind::Call(call) => options.tools.find(&call.name),
            OutputKind::Reasoning | OutputKind::Message => None,
        }
    }

    /// The kind of tool that the item calls. A name that was not declared is that of a function.
    pub(super) fn tool_kind(&self, options: &ResponseOptions) -> ToolKind {
        self.tool(options).map_or(ToolKind::Function, |tool| tool.kind)
    }

    /// The bytes of what its last events repeat.
    pub(super) fn bytes(&self) -> usize {
        self.text.len() + self.logprobs.len()
    }

    /// Adds log probabilities, which are a JSON array. Returns how many bytes of it are kept.
    pub(super) fn add_logprobs(&mut self, array: &[u8]) -> usize {
        let inside = array.trim_ascii().strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]"));
        let Some(inside) = inside.map(<[u8]>::trim_ascii).filter(|inside| !inside.is_empty()) else { return 0 };
        if !self.logprobs.is_empty() {
            self.logprobs.put(b",");
        }
        self.logprobs.put(inside);
        inside.len() + 1
    }

    /// The id of the item at this place of the output, with quotes.
    pub(super) fn write_id(&self, index: usize, options: &ResponseOptions, out: &mut impl Output) {
        let prefix: &[u8] = match &self.kind {
            OutputKind::Reasoning => b"\"rs_",
            OutputKind::Message => b"\"msg_",
            OutputKind::Call(_) => match self.tool_kind(options) {
                ToolKind::Function => b"\"fc_",
                ToolKind::Custom => b"\"ctc_",
                ToolKind::Search => b"\"tsc_",
            },
        };
        out.put(prefix);
        out.put(options.unique.as_bytes());
        out.put(b"_");
        out.put_number(index as u64);
        out.put(b"\"");
    }

    /// The item as JSON. One in progress has no content yet.
    pub(super) fn write(&self, index: usize, options: &ResponseOptions, out: &mut impl Output) {
        out.put(b"{\"id\":");
        self.write_id(index, options, out);
        match &self.kind {
            OutputKind::Reasoning => self.write_reasoning(options, out),
            OutputKind::Message => {
                out.put(b",\"type\":\"message\",\"role\":\"assistant\",\"content\":[");
                if self.status != ItemStatus::InProgress {
                    self.write_part(out);
                }
                out.put(b"]");
                self.write_status(out);
            }
            OutputKind::Call(call) => self.write_call(call, options, out),
        }
        out.put(b"}");
    }

    fn write_status(&self, out: &mut impl Output) {
        out.put(b",\"status\":");
        out.put_text(self.status.name());
    }

    fn write_reasoning(&self, options: &ResponseOptions, out: &mut impl Output) {
        let is_done = self.status != ItemStatus::InProgress;
        out.put(b",\"type\":\"reasoning\",\"summary\":[");
        if is_done && options.has_summary {
            self.write_summary_part(out);
        }
        out.put(b"],\"content\":[");
        if is_done {
            self.write_part(out);
        }
        out.put(b"]");
        if is_done && let Some(seal) = &options.seal {
            out.put(b",\"encrypted_content\":");
            out.put_text(self.sealed.get_or_init(|| reasoning::seal(&**seal, &self.text)));
        }
    }

    /// The only part of the content.
    pub(super) fn write_part(&self, out: &mut impl Output) {
        match &self.kind {
            OutputKind::Message => {
                out.put(b"{\"type\":\"output_text\",\"text\":");
                out.put_raw_text(&self.text);
                out.put(b",\"annotations\":[],\"logprobs\":[");
                out.put(&self.logprobs);
                out.put(b"]}");
            }
            OutputKind::Reasoning | OutputKind::Call(_) => {
                out.put(b"{\"type\":\"reasoning_text\",\"text\":");
                out.put_raw_text(&self.text);
                out.put(b"}");
            }
        }
    }

    /// The reasoning as its own summary.
    pub(super) fn write_summary_part(&self, out: &mut impl Output) {
        out.put(b"{\"type\":\"summary_text\",\"text\":");
        out.put_raw_text(&self.text);
        out.put(b"}");
    }

    fn write_call(&self, call: &ToolCall, options: &ResponseOptions, out: &mut impl Output) {
        let tool = self.tool(options);
        let is_done = self.status != ItemStatus::InProgress;
        out.put(b",\"call_id\":");
        out.put_raw_text(&call.id);
        match tool.map_or(ToolKind::Function, |tool| tool.kind) {
            ToolKind::Function => {
                out.put(b",\"type\":\"function_call\"");
                write_name(tool, call, out);
                out.put(b",\"arguments\":");
                out.put_raw_text(if is_done { self.arguments() } else { b"" });
            }
            ToolKind::Custom => {
                out.put(b",\"type\":\"custom_tool_call\"");
                write_name(tool, call, out);
                out.put(b",\"input\":");
                out.put_raw_text(&if is_done { self.custom_input() } else { Vec::new() });
            }
            ToolKind::Search => {
                out.put(b",\"type\":\"tool_search_call\",\"execution\":\"client\",\"arguments\":");
                let arguments = decoded(&self.text);
                out.put(if is_done && is_object(&arguments) { &arguments } else { b"{}" });
            }
        }
        self.write_status(out);
    }

    /// The arguments of a function, escaped. Engines send nothing for a function without parameters.
    pub(super) fn arguments(&self) -> &[u8] {
        if self.text.is_empty() { b"{}" } else { &self.text }
    }

    /// The input of a custom tool, escaped: the text that the model wrote as its argument, or else all that it wrote.
    pub(super) fn custom_input(&self) -> Vec<u8> {
        let arguments = decoded(&self.text);
        read_input(&arguments).ok().flatten().unwrap_or_else(|| self.text.clone())
    }
}

/// The name as the client declared it.
fn write_name(tool: Option<&DeclaredTool>, call: &ToolCall, out: &mut impl Output) {
    out.put(b",\"name\":");
    match tool {
        Some(tool) => out.put_text(&tool.name),
        None => out.put_raw_text(&call.name),
    }
    if let Some(namespace) = tool.and_then(|tool| tool.namespace.as_ref()) {
        out.put(b",\"namespace\":");
        out.put_text(namespace);
    }
}

/// The text of an escaped one.
fn decoded(raw: &[u8]) -> Vec<u8> {
    let quoted = [b"\"", raw, b"\""].concat();
    Reader::new(&quoted).string().map_or_else(|_| raw.to_vec(), |text| text.decoded().into_owned())
}

fn is_object(json: &[u8]) -> bool {
    let mut reader = Reader::new(json);
    matches!(reader.kind(), Ok(ValueKind::Object)) && reader.skip().is_ok() && reader.end().is_ok()
}

/// The member `input` of the arguments, escaped; `None` if there is none.
fn read_input(arguments: &[u8]) -> Result<Option<Vec<u8>>, JsonError> {
    let mut input = None;
    let mut reader = Reader::new(arguments);
    if reader.kind()? != ValueKind::Object {
        return Ok(None);
    }
    reader.object(|reader, name, _| {
        if !name.is("input") {
            return reader.skip();
        }
        let is_string = reader.kind()? == ValueKind::String;
        let json = reader.slice()?;
        let raw = if is_string { Cow::Borrowed(json) } else { Cow::Owned(quote(&String::from_utf8_lossy(json))) };
        input = Some(raw[1..raw.len() - 1].to_vec());
        Ok(())
    })?;
    reader.end()?;
    Ok(input)
}
