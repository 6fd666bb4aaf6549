//! Turns the items of a conversation into the messages of a chat.
//!
//! Reasoning, text and tool calls that follow each other are one message of the assistant. Images of tool outputs become
//! a message of the user, after all outputs of the turn.

use super::item::{Item, ItemKind, quoted_text};
use super::parts;
use super::reasoning::{self, ReasoningSeal};
use super::request::History;
use super::tool_table::{ToolKind, ToolTable};
use crate::chat_messages::{AssistantTurn, JoinedText, Messages, UserTurn};
use crate::writer::Output;
use json::{Checks, ParseError, Path, RawStr, Reader, ValueKind, quote};

const NO_MESSAGE: &str = "must have at least one message";
/// The most items of a conversation. Each takes far more memory than the few bytes that it may be written in.
const MAX_ITEMS: usize = 1 << 14;

/// The items of all previous responses, and then of the input. References are replaced by the items they stand for.
pub(super) fn read<'a>(
    input: &'a [u8],
    history: &'a History,
    checks: &mut Checks,
) -> Result<Vec<Item<'a>>, ParseError> {
    let mut items = Vec::new();
    for (index, json) in history.previous.iter().enumerate() {
        items.extend(Item::read(&mut Reader::new(json), "previous_response_id", index, checks)?);
    }
    let mut reader = Reader::new(input);
    match reader.kind()? {
        ValueKind::String => items.push(Item::of_text(input)),
        ValueKind::Array => reader.array(|reader, index| {
            check_room(items.len())?;
            let Some(item) = Item::read(reader, "input", index, checks)? else { return Ok(()) };
            match item.reference() {
                None if item.kind == ItemKind::Reference => checks.missing(&Path::Member(&item.path(), "id")),
                None => items.push(item),
                Some(id) => {
                    let stored = history.referenced.get(&id).ok_or_else(|| ParseError::BadName {
                        param: format!("input[{index}].id"),
                        why: "refers to an item that is not stored".into(),
                    })?;
                    items.extend(Item::read(&mut Reader::new(stored), "input", index, checks)?);
                }
            }
            Ok::<(), ParseError>(())
        })?,
        other => checks.invalid(&"input", || format!("must be a string or an array of items, not {}", other.name())),
    }
    if items.iter().all(|item| item.kind == ItemKind::AdditionalTools) {
        checks.invalid(&"input", || NO_MESSAGE.into());
    }
    Ok(items)
}

/// The items of the input alone, with its references.
pub(super) fn read_own<'a>(input: &'a [u8], checks: &mut Checks) -> Result<Vec<Item<'a>>, ParseError> {
    let mut items = Vec::new();
    let mut reader = Reader::new(input);
    match reader.kind()? {
        ValueKind::String => items.push(Item::of_text(input)),
        ValueKind::Array => reader.array(|reader, index| {
            check_room(items.len())?;
            items.extend(Item::read(reader, "input", index, checks)?);
            Ok::<(), ParseError>(())
        })?,
        _ => {}
    }
    Ok(items)
}

/// Checks that there may be another item besides this many.
fn check_room(items: usize) -> Result<(), ParseError> {
    if items < MAX_ITEMS {
        return Ok(());
    }
    let why = format!("has more than {MAX_ITEMS} items, with those of previous responses");
    Err(ParseError::BadName { param: "input".into(), why })
}

/// Writes a chat.
pub(super) struct Conversation<'a> {
    messages: Messages<'a>,
    tools: &'a ToolTable,
    seal: &'a dyn ReasoningSeal,
    /// What the assistant has said since the last message of another role.
    turn: AssistantTurn,
    images: UserTurn,
    /// System messages were all written at the beginning.
    has_merged_system: bool,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(tools: &'a ToolTable, seal: &'a dyn ReasoningSeal, out: &'a mut Vec<u8>) -> Self {
        Self {
            messages: Messages::new(out),
            tools,
            seal,
            turn: AssistantTurn::default(),
            images: UserTurn::default(),
            has_merged_system: false,
        }
    }

    /// Writes the instructions, together with all system messages if the model accepts only one.
    pub(super) fn begin(
        &mut self,
        instructions: Option<RawStr<'_>>,
        items: &[Item<'_>],
        merges_system: bool,
        checks: &mut Checks,
    ) -> Result<(), ParseError> {
        let mut system = JoinedText::default();
        if let Some(text) = instructions {
            system.add(text.raw());
        }
        self.has_merged_system = merges_system;
        for item in items.iter().filter(|item| merges_system && is_system(item)) {
            if let Some(content) = item.members.content {
                parts::read_text(content, &Path::Member(&item.path(), "content"), &mut system, checks)?;
            }
        }
        if system.has_text {
            self.messages.text("system", &system.raw);
        }
        Ok(())
    }

    pub(super) fn add(&mut self, item: &Item<'_>, checks: &mut Checks) -> Result<(), ParseError> {
        let members = &item.members;
        match item.kind {
            ItemKind::Message => self.add_message(item, checks),
            ItemKind::Reasoning => self.add_reasoning(item, checks),
            ItemKind::FunctionCall => {
                let arguments = members.arguments.and_then(quoted_text);
                if arguments.is_none() {
                    checks.missing(&Path::Member(&item.path(), "arguments"));
                }
                self.add_call(item, arguments.unwrap_or(b"\"\""), checks);
                Ok(())
            }
            ItemKind::CustomToolCall => {
                let input = item.required(members.input, "input", checks);
                let arguments = [b"{\"input\":\"", input, b"\"}"].concat();
                self.add_call(item, &quote(&String::from_utf8_lossy(&arguments)), checks);
                Ok(())
            }
            ItemKind::ToolSearchCall => {
                let arguments = quote(&String::from_utf8_lossy(members.arguments.unwrap_or(b"{}")));
                let id = members.call_id.map_or(&b""[..], RawStr::raw);
                self.turn.add_call(id, self.tools.tool_search_name().as_bytes(), &arguments);
                Ok(())
            }
            ItemKind::FunctionCallOutput | ItemKind::CustomToolCallOutput => {
                self.begin_output();
                let mut text = JoinedText::default();
                match members.output {
                    Some(output) => {
                        let path = item.path();
                        let path = Path::Member(&path, "output");
                        parts::read_output(output, &path, &mut text, &mut self.images, checks)?;
                    }
                    None => checks.missing(&Path::Member(&item.path(), "output")),
                }
                let id = item.required(members.call_id, "call_id", checks);
                self.add_output(id, &text.raw);
                Ok(())
            }
            ItemKind::ToolSearchOutput => {
                self.begin_output();
                let found = quote(&String::from_utf8_lossy(members.tools.unwrap_or(b"[]")));
                let id = members.call_id.map_or(&b""[..], RawStr::raw);
                self.add_output(id, &found[1..found.len() - 1]);
                Ok(())
            }
            ItemKind::AdditionalTools | ItemKind::Reference => Ok(()),
        }
    }

    /// Items may come to no message at all, such as reasoning that another service has encrypted.
    pub(super) fn end(mut self, checks: &mut Checks) {
        self.end_turn();
        if self.messages.is_empty() {
            checks.invalid(&"input", || NO_MESSAGE.into());
        }
    }

    fn add_message(&mut self, item: &Item<'_>, checks: &mut Checks) -> Result<(), ParseError> {
        let path = item.path();
        let (role_path, path) = (Path::Member(&path, "role"), Path::Member(&path, "content"));
        let Some(role) = item.members.role else {
            checks.missing(&role_path);
            return Ok(());
        };
        checks.word(role, &role_path, &["user", "assistant", "system", "developer"]);
        let Some(content) = item.members.content else {
            checks.missing(&path);
            return Ok(());
        };
        if role.is("assistant") {
            return parts::read_text(content, &path, &mut self.turn.text, checks);
        }
        if is_system(item) {
            if self.has_merged_system {
                return Ok(());
            }
            self.end_turn();
            let mut text = JoinedText::default();
            parts::read_text(content, &path, &mut text, checks)?;
            self.messages.text("system", &text.raw);
            return Ok(());
        }
        self.end_turn();
        let mut turn = UserTurn::default();
        parts::read_user(content, &path, &mut turn, checks)?;
        turn.write(&mut self.messages);
        Ok(())
    }

    /// The text of the reasoning, or our own copy of it, or its summary.
    fn add_reasoning(&mut self, item: &Item<'_>, checks: &mut Checks) -> Result<(), ParseError> {
        let members = &item.members;
        let mut text = JoinedText::default();
        for (name, json) in [("content", members.content), ("summary", members.summary)] {
            if let Some(json) = json.filter(|_| !text.has_text) {
                parts::read_text(json, &Path::Member(&item.path(), name), &mut text, checks)?;
            }
            if !text.has_text
                && let Some(own) = members.encrypted_content.and_then(|content| reasoning::open(self.seal, content))
            {
                text.add(&own);
            }
        }
        if text.has_text {
            self.turn.thinking.add(&text.raw);
        }
        Ok(())
    }

    fn add_call(&mut self, item: &Item<'_>, arguments: &[u8], checks: &mut Checks) {
        let id = item.required(item.members.call_id, "call_id", checks);
        item.required(item.members.name, "name", checks);
        let kind = if item.kind == ItemKind::CustomToolCall { ToolKind::Custom } else { ToolKind::Function };
        let name = item.members.name.map(|name| self.tools.chat_name(kind, item.members.namespace, name));
        self.turn.add_call(id, name.unwrap_or_default().as_bytes(), arguments);
    }

    /// Ends the turn with the calls. Images of this turn's other outputs still wait.
    fn begin_output(&mut self) {
        if !self.turn.is_empty() {
            self.end_turn();
        }
    }

    /// Writes a tool message with escaped text.
    fn add_output(&mut self, id: &[u8], text: &[u8]) {
        let out = self.messages.begin("tool");
        out.put(b",\"tool_call_id\":");
        out.put_raw_text(id);
        out.put(b",\"content\":");
        out.put_raw_text(text);
        out.put(b"}");
    }

    /// Images are from before the turn of the assistant.
    fn end_turn(&mut self) {
        if !self.images.is_empty() {
            std::mem::take(&mut self.images).write(&mut self.messages);
        }
        if !self.turn.is_empty() {
            std::mem::take(&mut self.turn).write(&mut self.messages);
        }
    }
}

fn is_system(item: &Item<'_>) -> bool {
    let is_role = |role: RawStr<'_>| role.is("system") || role.is("developer");
    item.kind == ItemKind::Message && item.members.role.is_some_and(is_role)
}
