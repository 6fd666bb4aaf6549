//! What the client has declared under each name of chat, so that calls are turned back without reading names.

use json::RawStr;
use std::borrow::Cow;
use std::collections::HashMap;

/// The longest name that engines accept.
const MAX_NAME_LEN: usize = 64;
/// The most tools of a conversation.
pub(super) const MAX_TOOLS: usize = 1024;
/// The longest `_number` that makes a name unique; numbers are at most `MAX_TOOLS + 2`.
const MAX_SUFFIX_LEN: usize = 5;
pub(super) const TOOL_SEARCH: &str = "tool_search";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolKind {
    Function,
    /// Its input is text of any form.
    Custom,
    /// Finds further tools, on the side of the client.
    Search,
}

/// A tool as the client declared it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeclaredTool {
    pub(super) kind: ToolKind,
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    /// Its name in chat.
    pub(super) chat_name: String,
}

/// The tools by their names in chat.
#[derive(Debug, Clone, Default)]
pub(super) struct ToolTable {
    pub(super) tools: Vec<DeclaredTool>,
    /// The next number for names that collide, by the part of the name that no suffix cuts. A number is tried only
    /// once: the time for colliding names would be cubic otherwise.
    suffixes: HashMap<String, usize>,
}

impl ToolTable {
    /// What the client has declared under a name of chat.
    pub(super) fn find(&self, chat_name: &[u8]) -> Option<&DeclaredTool> {
        self.tools.iter().find(|tool| tool.chat_name.as_bytes() == chat_name)
    }

    /// The name in chat of a tool that was called before; it need not be declared any more.
    pub(super) fn chat_name(&self, kind: ToolKind, namespace: Option<RawStr<'_>>, name: RawStr<'_>) -> Cow<'_, str> {
        let (namespace, name) = (namespace.map(text), text(name));
        match self.declared(kind, namespace.as_deref(), &name) {
            Some(tool) => Cow::Borrowed(&tool.chat_name),
            None => Cow::Owned(flat_name(namespace.as_deref(), &name)),
        }
    }

    /// The size of all names.
    pub(super) fn bytes(&self) -> usize {
        let of = |tool: &DeclaredTool| tool.name.len() + tool.namespace.as_ref().map_or(0, String::len) + MAX_NAME_LEN;
        self.tools.iter().map(of).sum()
    }

    pub(super) fn tool_search_name(&self) -> &str {
        let search = self.tools.iter().find(|tool| tool.kind == ToolKind::Search);
        search.map_or(TOOL_SEARCH, |tool| &tool.chat_name)
    }

    /// Tools of different kinds may have the same name.
    pub(super) fn declared(&self, kind: ToolKind, namespace: Option<&str>, name: &str) -> Option<&DeclaredTool> {
        let is_same =
            |tool: &&DeclaredTool| tool.kind == kind && tool.namespace.as_deref() == namespace && tool.name == name;
        self.tools.iter().find(is_same)
    }

    /// A name that no other tool has.
    pub(super) fn unique_name(&mut self, namespace: Option<&str>, name: &str) -> String {
        let Self { tools, suffixes } = self;
        let flat = flat_name(namespace, name);
        let is_free = |name: &str| tools.iter().all(|tool| tool.chat_name != name);
        if is_free(&flat) {
            return flat;
        }
        let stem = &flat[..flat.len().min(MAX_NAME_LEN - MAX_SUFFIX_LEN)];
        let next = suffixes.entry(stem.to_owned()).or_insert(2);
        // It ends, since there are at most `MAX_TOOLS` names that are not free.
        loop {
            let suffix = format!("_{next}");
            *next += 1;
            let numbered = format!("{}{suffix}", &flat[..flat.len().min(MAX_NAME_LEN - suffix.len())]);
            if is_free(&numbered) {
                return numbered;
            }
        }
    }
}

/// `namespace__name` with other characters replaced, cut to the length that engines accept.
fn flat_name(namespace: Option<&str>, name: &str) -> String {
    let whole = match namespace {
        Some(namespace) => Cow::Owned(format!("{namespace}__{name}")),
        None => Cow::Borrowed(name),
    };
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    whole.chars().take(MAX_NAME_LEN).map(|letter| if is_allowed(letter) { letter } else { '_' }).collect()
}

pub(super) fn text(raw: RawStr<'_>) -> String {
    String::from_utf8_lossy(&raw.decoded()).into_owned()
}
