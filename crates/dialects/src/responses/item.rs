//! Reads the items of a conversation.

use super::parts;
use super::reasoning::{self, ReasoningSeal};
use crate::values::value;
use crate::writer::{Output, write_member};
use json::{Checks, ParseError, Path, RawStr, Reader, ValueKind, shorten};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    Message,
    Reasoning,
    FunctionCall,
    FunctionCallOutput,
    CustomToolCall,
    CustomToolCallOutput,
    ToolSearchCall,
    ToolSearchOutput,
    /// Tools that are added in mid-conversation.
    AdditionalTools,
    /// Stands for a stored item.
    Reference,
}

const KINDS: [(&str, ItemKind); 10] = [
    ("message", ItemKind::Message),
    ("reasoning", ItemKind::Reasoning),
    ("function_call", ItemKind::FunctionCall),
    ("function_call_output", ItemKind::FunctionCallOutput),
    ("custom_tool_call", ItemKind::CustomToolCall),
    ("custom_tool_call_output", ItemKind::CustomToolCallOutput),
    ("tool_search_call", ItemKind::ToolSearchCall),
    ("tool_search_output", ItemKind::ToolSearchOutput),
    ("additional_tools", ItemKind::AdditionalTools),
    ("item_reference", ItemKind::Reference),
];

/// One item, with the members that any of the known types has.
#[derive(Debug)]
pub(super) struct Item<'a> {
    /// The member of the request that it comes from, and its place there.
    source: &'static str,
    index: usize,
    pub(super) kind: ItemKind,
    pub(super) members: ItemMembers<'a>,
}

#[derive(Debug, Default)]
pub(super) struct ItemMembers<'a> {
    kind: Option<RawStr<'a>>,
    id: Option<RawStr<'a>>,
    pub(super) role: Option<RawStr<'a>>,
    pub(super) call_id: Option<RawStr<'a>>,
    pub(super) name: Option<RawStr<'a>>,
    pub(super) namespace: Option<RawStr<'a>>,
    pub(super) input: Option<RawStr<'a>>,
    pub(super) encrypted_content: Option<RawStr<'a>>,
    /// JSON of any type.
    pub(super) content: Option<&'a [u8]>,
    pub(super) summary: Option<&'a [u8]>,
    pub(super) arguments: Option<&'a [u8]>,
    pub(super) output: Option<&'a [u8]>,
    pub(super) tools: Option<&'a [u8]>,
}

impl<'a> Item<'a> {
    /// Returns `None` and notes it if the value is not an object. An unknown type is an error.
    pub(super) fn read(
        reader: &mut Reader<'a>,
        source: &'static str,
        index: usize,
        checks: &mut Checks,
    ) -> Result<Option<Self>, ParseError> {
        let path = Path::Index(&source, index);
        if !checks.is_object(reader, &path)? {
            return Ok(None);
        }
        let mut members = ItemMembers::default();
        reader.object(|reader, name, _| members.read(reader, name, &path, checks))?;
        let kind = members.kind(&path)?;
        Ok(Some(Self { source, index, kind, members }))
    }

    /// A message of the user.
    pub(super) fn of_text(input: &'a [u8]) -> Self {
        let role = Reader::new(b"\"user\"").string().ok();
        let members = ItemMembers { role, content: Some(input), ..ItemMembers::default() };
        Self { source: "input", index: 0, kind: ItemKind::Message, members }
    }

    pub(super) fn path(&self) -> Path<'_> {
        Path::Index(&self.source, self.index)
    }

    /// The id of the stored item that this one stands for.
    pub(super) fn reference(&self) -> Option<String> {
        let id = self.members.id.filter(|_| self.kind == ItemKind::Reference)?;
        Some(String::from_utf8_lossy(&id.decoded()).into_owned())
    }

    /// Whether it has reasoning that only its author can read, which may be us.
    pub(super) fn is_sealed(&self) -> bool {
        self.members.encrypted_content.is_some()
    }

    /// Writes the item as it is stored: with the members that its translation reads, and no others. Otherwise a request of
    /// few tokens could store any amount.
    pub(super) fn write_kept(&self, seal: &dyn ReasoningSeal, out: &mut Vec<u8>) -> Result<(), ParseError> {
        let members = &self.members;
        let own_reasoning = members.encrypted_content.filter(|content| reasoning::open(seal, *content).is_some());
        let (texts, content, values): (&[_], &[_], &[_]) = match self.kind {
            ItemKind::Message => (&[("role", members.role)], &[("content", members.content)], &[]),
            ItemKind::Reasoning => (
                &[("encrypted_content", own_reasoning)],
                &[("summary", members.summary.or(Some(b"[]"))), ("content", members.content)],
                &[],
            ),
            ItemKind::FunctionCall | ItemKind::CustomToolCall => (
                &[
                    ("call_id", members.call_id),
                    ("namespace", members.namespace),
                    ("name", members.name),
                    ("input", members.input.filter(|_| self.kind == ItemKind::CustomToolCall)),
                ],
                &[],
                &[("arguments", members.arguments.filter(|_| self.kind == ItemKind::FunctionCall))],
            ),
            ItemKind::FunctionCallOutput | ItemKind::CustomToolCallOutput => {
                (&[("call_id", members.call_id)], &[("output", members.output)], &[])
            }
            ItemKind::ToolSearchCall => (&[("call_id", members.call_id)], &[], &[("arguments", members.arguments)]),
            ItemKind::ToolSearchOutput => (&[("call_id", members.call_id)], &[], &[("tools", members.tools)]),
            ItemKind::AdditionalTools => (&[], &[], &[("tools", members.tools)]),
            ItemKind::Reference => (&[("id", members.id)], &[], &[]),
        };
        out.put(b"{\"type\":");
        out.put_text(KINDS.iter().find(|(_, kind)| *kind == self.kind).map_or("", |(name, _)| *name));
        for (name, text) in texts {
            if let Some(text) = text {
                write_member(name, &[b"\"", text.raw(), b"\""].concat(), out);
            }
        }
        for (name, content) in content {
            if let Some(content) = content {
                write_member(name, b"", out);
                parts::write_kept(content, out)?;
            }
        }
        for (name, value) in values {
            if let Some(value) = value {
                write_member(name, value, out);
            }
        }
        out.put(b"}");
        Ok(())
    }

    /// A member that items of this kind must have, escaped.
    pub(super) fn required(&self, member: Option<RawStr<'a>>, name: &'static str, checks: &mut Checks) -> &'a [u8] {
        crate::values::required(member, name, &self.path(), checks).unwrap_or_default()
    }
}

impl<'a> ItemMembers<'a> {
    fn read(
        &mut self,
        reader: &mut Reader<'a>,
        name: RawStr<'a>,
        path: &Path<'_>,
        checks: &mut Checks,
    ) -> Result<(), ParseError> {
        let mut text = |name: &'static str| checks.text(reader, &Path::Member(path, name));
        match &*name.decoded() {
            b"type" => self.kind = text("type")?,
            b"id" => self.id = text("id")?,
            b"role" => self.role = text("role")?,
            b"call_id" => self.call_id = text("call_id")?,
            b"name" => self.name = text("name")?,
            b"namespace" => self.namespace = text("namespace")?,
            b"input" => self.input = text("input")?,
            b"encrypted_content" => self.encrypted_content = text("encrypted_content")?,
            b"content" => self.content = value(reader)?,
            b"summary" => self.summary = value(reader)?,
            b"arguments" => self.arguments = value(reader)?,
            b"output" => self.output = value(reader)?,
            b"tools" => self.tools = value(reader)?,
            _ => reader.skip()?,
        }
        Ok(())
    }

    /// An item without a type is a message, or a reference if it has nothing but an id.
    fn kind(&self, path: &Path<'_>) -> Result<ItemKind, ParseError> {
        let Some(kind) = self.kind else {
            let is_reference = self.id.is_some() && self.role.is_none() && self.content.is_none();
            return Ok(if is_reference { ItemKind::Reference } else { ItemKind::Message });
        };
        let known = KINDS.iter().find(|(name, _)| kind.is(name)).map(|(_, known)| *known);
        known.ok_or_else(|| ParseError::BadName {
            param: Path::Member(path, "type").to_string(),
            why: format!("`{}` is not a type of item that is supported", shorten(&kind.decoded())),
        })
    }
}

/// The text of a value that must be a string, with quotes; `None` for another type.
pub(super) fn quoted_text(json: &[u8]) -> Option<&[u8]> {
    (Reader::new(json).kind().ok()? == ValueKind::String).then_some(json)
}
