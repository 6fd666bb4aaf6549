//! Turns system prompts and messages into those of chat.
//!
//! A message of blocks becomes one or more chat messages: the results of tools each become one, and precede what else the
//! user said in that turn.

use super::tools::is_name;
use crate::json::{RawStr, Reader, ValueKind, quote};
use crate::request::{Checks, ParseError, Path};
use crate::translate::writer::Output;

/// Changes with every call and would defeat prefix caches.
const BILLING_HEADER: &[u8] = b"x-anthropic-billing-header";
const ERROR_PREFIX: &[u8] = b"Error: ";
/// A line break inside of a JSON string.
const LINE_BREAK: &[u8] = b"\\n";

/// Where system messages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SystemPlace {
    AsSent,
    /// All are joined to one, the first message.
    First,
}

/// Escaped texts, joined by line breaks.
#[derive(Default)]
struct JoinedText {
    raw: Vec<u8>,
    has_text: bool,
}

impl JoinedText {
    fn add(&mut self, raw: &[u8]) {
        if self.has_text {
            self.raw.extend_from_slice(LINE_BREAK);
        }
        self.has_text = true;
        self.raw.extend_from_slice(raw);
    }
}

/// The messages of the chat, without their brackets.
struct Messages<'a> {
    out: &'a mut Vec<u8>,
    count: usize,
}

impl Messages<'_> {
    /// Begins a message: `{"role":…`.
    fn begin(&mut self, role: &str) -> &mut Vec<u8> {
        if self.count > 0 {
            self.out.put(b",");
        }
        self.count += 1;
        self.out.put(b"{\"role\":");
        self.out.put_text(role);
        self.out
    }

    fn text(&mut self, role: &str, raw: &[u8]) {
        let out = self.begin(role);
        out.put(b",\"content\":");
        out.put_raw_text(raw);
        out.put(b"}");
    }
}

pub(super) fn write_messages(
    system: &[u8],
    messages: &[u8],
    place: SystemPlace,
    checks: &mut Checks,
    out: &mut Vec<u8>,
) -> Result<(), ParseError> {
    let mut first = JoinedText::default();
    if !system.is_empty() {
        read_text(&mut Reader::new(system), &"system", &mut first, checks)?;
    }
    if place == SystemPlace::First {
        collect_system(messages, &mut first, checks)?;
    }
    let mut written = Messages { out, count: 0 };
    if first.has_text {
        written.text("system", &first.raw);
    }
    let mut reader = Reader::new(messages);
    if !checks.is(&mut reader, &"messages", ValueKind::Array)? {
        return Ok(());
    }
    let mut count = 0;
    reader.array(|reader, index| {
        count += 1;
        let path = Path::Index(&"messages", index);
        match Message::read(reader, &path, checks)? {
            Some(message) => write_message(&message, &path, place, checks, &mut written),
            None => Ok(()),
        }
    })?;
    if count == 0 {
        checks.invalid(&"messages", || "must have at least one message".into());
    }
    Ok(())
}

/// Adds the text of all system messages. Problems are found again when the messages are written.
fn collect_system(messages: &[u8], joined: &mut JoinedText, checks: &mut Checks) -> Result<(), ParseError> {
    let mut reader = Reader::new(messages);
    if reader.kind()? != ValueKind::Array {
        return Ok(());
    }
    reader.array(|reader, index| {
        let path = Path::Index(&"messages", index);
        if let Some(Message { role: Some(role), content: Some(content) }) = Message::read(reader, &path, checks)?
            && role.is("system")
        {
            read_text(&mut Reader::new(content), &Path::Member(&path, "content"), joined, checks)?;
        }
        Ok(())
    })
}

struct Message<'a> {
    role: Option<RawStr<'a>>,
    content: Option<&'a [u8]>,
}

impl<'a> Message<'a> {
    /// `None` if it is not an object.
    fn read(reader: &mut Reader<'a>, path: &Path<'_>, checks: &mut Checks) -> Result<Option<Self>, ParseError> {
        let kind = reader.kind()?;
        if kind != ValueKind::Object {
            checks.invalid(path, || format!("must be an object, not {}", kind.name()));
            reader.skip()?;
            return Ok(None);
        }
        let mut message = Self { role: None, content: None };
        reader.object(|reader, name, _| {
            match name.raw() {
                b"role" => message.role = checks.text(reader, &Path::Member(path, "role"))?,
                b"content" => message.content = value(reader)?,
                _ => reader.skip()?,
            }
            Ok::<(), ParseError>(())
        })?;
        Ok(Some(message))
    }
}

fn write_message(
    message: &Message<'_>,
    path: &Path<'_>,
    place: SystemPlace,
    checks: &mut Checks,
    out: &mut Messages<'_>,
) -> Result<(), ParseError> {
    let role_path = Path::Member(path, "role");
    let content_path = Path::Member(path, "content");
    let Some(role) = message.role else {
        checks.missing(&role_path);
        return Ok(());
    };
    checks.word(role, &role_path, &["user", "assistant", "system"]);
    let Some(content) = message.content else {
        checks.missing(&content_path);
        return Ok(());
    };
    match role.raw() {
        b"user" => write_user(content, &content_path, checks, out),
        b"assistant" => write_assistant(content, &content_path, checks, out),
        b"system" if place == SystemPlace::AsSent => {
            let mut text = JoinedText::default();
            read_text(&mut Reader::new(content), &content_path, &mut text, checks)?;
            out.text("system", &text.raw);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Reads a string or text blocks.
fn read_text(
    reader: &mut Reader<'_>,
    path: &dyn std::fmt::Display,
    joined: &mut JoinedText,
    checks: &mut Checks,
) -> Result<(), ParseError> {
    match reader.kind()? {
        ValueKind::String => {
            joined.add(reader.string()?.raw());
            Ok(())
        }
        ValueKind::Array => reader.array(|reader, index| {
            let path = Path::Index(path, index);
            if let Some(block) = Block::read(reader, &path, checks)?
                && block.is_of(&["text"], &path, checks)
                && let Some(text) = block.text(&path, checks)
                && !text.starts_with(BILLING_HEADER)
            {
                joined.add(text);
            }
            Ok(())
        }),
        other => {
            checks.invalid(path, || format!("must be a string or an array of text blocks, not {}", other.name()));
            Ok(reader.skip()?)
        }
    }
}

/// The members of a content block that any of the known types has.
#[derive(Default)]
struct Block<'a> {
    kind: Option<RawStr<'a>>,
    text: Option<RawStr<'a>>,
    thinking: Option<RawStr<'a>>,
    id: Option<RawStr<'a>>,
    name: Option<RawStr<'a>>,
    tool_use_id: Option<RawStr<'a>>,
    is_error: bool,
    /// `input`, `content` and `source` as JSON.
    input: Option<&'a [u8]>,
    content: Option<&'a [u8]>,
    source: Option<&'a [u8]>,
}

impl<'a> Block<'a> {
    /// Returns `None` and notes it if the value is not an object with a type.
    fn read(reader: &mut Reader<'a>, path: &Path<'_>, checks: &mut Checks) -> Result<Option<Self>, ParseError> {
        let kind = reader.kind()?;
        if kind != ValueKind::Object {
            checks.invalid(path, || format!("must be an object, not {}", kind.name()));
            reader.skip()?;
            return Ok(None);
        }
        let mut block = Self::default();
        reader.object(|reader, name, _| {
            let member = |name: &'static str| Path::Member(path, name);
            match name.raw() {
                b"type" => block.kind = checks.text(reader, &member("type"))?,
                b"text" => block.text = checks.text(reader, &member("text"))?,
                b"thinking" => block.thinking = checks.text(reader, &member("thinking"))?,
                b"id" => block.id = checks.text(reader, &member("id"))?,
                b"name" => block.name = checks.text(reader, &member("name"))?,
                b"tool_use_id" => block.tool_use_id = checks.text(reader, &member("tool_use_id"))?,
                b"is_error" => block.is_error = checks.boolean(reader, &member("is_error"))?.unwrap_or(false),
                b"input" => block.input = value(reader)?,
                b"content" => block.content = value(reader)?,
                b"source" => block.source = value(reader)?,
                _ => reader.skip()?,
            }
            Ok::<(), ParseError>(())
        })?;
        if block.kind.is_none() {
            checks.missing(&Path::Member(path, "type"));
            return Ok(None);
        }
        Ok(Some(block))
    }

    fn kind(&self) -> &'a [u8] {
        self.kind.map_or(&b""[..], RawStr::raw)
    }

    /// Whether the block has one of these types, which are all that its place supports.
    fn is_of(&self, types: &[&str], path: &Path<'_>, checks: &mut Checks) -> bool {
        let is_known = types.iter().any(|known| self.kind.is_some_and(|kind| kind.is(known)));
        if !is_known {
            let why = || format!("is not supported here; supported are {}", types.join(", "));
            checks.invalid(&Path::Member(path, "type"), why);
        }
        is_known
    }

    fn text(&self, path: &Path<'_>, checks: &mut Checks) -> Option<&'a [u8]> {
        required(self.text, "text", path, checks)
    }
}

/// The next value as JSON; `None` for null.
fn value<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, ParseError> {
    let is_null = reader.kind()? == ValueKind::Null;
    let json = reader.slice()?;
    Ok((!is_null).then_some(json))
}

/// The escaped text of a member, which is noted as missing if it is not there.
fn required<'a>(
    member: Option<RawStr<'a>>,
    name: &'static str,
    path: &Path<'_>,
    checks: &mut Checks,
) -> Option<&'a [u8]> {
    if member.is_none() {
        checks.missing(&Path::Member(path, name));
    }
    member.map(RawStr::raw)
}

/// The part of a user's turn that follows the results of tools.
#[derive(Default)]
struct UserTurn {
    /// `{"type":…},…` of all parts.
    parts: Vec<u8>,
    text: JoinedText,
    has_images: bool,
}

impl UserTurn {
    fn add_text(&mut self, raw: &[u8]) {
        self.text.add(raw);
        self.begin_part();
        self.parts.put(b"{\"type\":\"text\",\"text\":");
        self.parts.put_raw_text(raw);
        self.parts.put(b"}");
    }

    fn add_image(&mut self, image: &Image) {
        self.has_images = true;
        self.begin_part();
        self.parts.put(b"{\"type\":\"image_url\",\"image_url\":{\"url\":");
        self.parts.put_raw_text(&image.raw_url);
        self.parts.put(b"}}");
    }

    fn begin_part(&mut self) {
        if !self.parts.is_empty() {
            self.parts.put(b",");
        }
    }

    /// Writes the turn: text alone as a string, which every chat template accepts.
    fn write(&self, out: &mut Messages<'_>) {
        if !self.has_images {
            return out.text("user", &self.text.raw);
        }
        let out = out.begin("user");
        out.put(b",\"content\":[");
        out.put(&self.parts);
        out.put(b"]}");
    }
}

fn write_user(content: &[u8], path: &Path<'_>, checks: &mut Checks, out: &mut Messages<'_>) -> Result<(), ParseError> {
    let mut reader = Reader::new(content);
    match reader.kind()? {
        ValueKind::String => {
            out.text("user", reader.string()?.raw());
            return Ok(());
        }
        ValueKind::Array => {}
        other => {
            checks.invalid(path, || format!("must be a string or an array of blocks, not {}", other.name()));
            return Ok(());
        }
    }
    let mut result_images = UserTurn::default();
    let mut turn = UserTurn::default();
    let mut has_results = false;
    reader.array(|reader, index| {
        let path = Path::Index(path, index);
        let Some(block) = Block::read(reader, &path, checks)? else { return Ok(()) };
        if !block.is_of(&["text", "image", "tool_result"], &path, checks) {
            return Ok(());
        }
        match block.kind() {
            b"tool_result" => {
                has_results = true;
                write_tool_result(&block, &path, checks, &mut result_images, out)
            }
            b"image" => {
                if let Some(image) = Image::read(&block, &path, checks)? {
                    turn.add_image(&image);
                }
                Ok(())
            }
            _ => {
                if let Some(text) = block.text(&path, checks) {
                    turn.add_text(text);
                }
                Ok::<(), ParseError>(())
            }
        }
    })?;
    if result_images.has_images {
        result_images.write(out);
    }
    if !turn.parts.is_empty() || !has_results {
        turn.write(out);
    }
    Ok(())
}

/// Writes one `tool` message; images of the result follow later, because chat allows only text there.
fn write_tool_result(
    block: &Block<'_>,
    path: &Path<'_>,
    checks: &mut Checks,
    images: &mut UserTurn,
    out: &mut Messages<'_>,
) -> Result<(), ParseError> {
    let mut text = JoinedText::default();
    if let Some(content) = block.content {
        let path = Path::Member(path, "content");
        let mut reader = Reader::new(content);
        match reader.kind()? {
            ValueKind::String => text.add(reader.string()?.raw()),
            ValueKind::Array => reader.array(|reader, index| {
                let path = Path::Index(&path, index);
                let Some(part) = Block::read(reader, &path, checks)? else { return Ok(()) };
                if !part.is_of(&["text", "image"], &path, checks) {
                    return Ok(());
                }
                if part.kind() == b"image" {
                    if let Some(image) = Image::read(&part, &path, checks)? {
                        images.add_image(&image);
                    }
                } else if let Some(raw) = part.text(&path, checks) {
                    text.add(raw);
                }
                Ok::<(), ParseError>(())
            })?,
            other => checks.invalid(&path, || format!("must be a string or an array of blocks, not {}", other.name())),
        }
    }
    let id = required(block.tool_use_id, "tool_use_id", path, checks).unwrap_or_default();
    let out = out.begin("tool");
    out.put(b",\"tool_call_id\":");
    out.put_raw_text(id);
    out.put(b",\"content\":\"");
    if block.is_error {
        out.put(ERROR_PREFIX);
    }
    out.put(&text.raw);
    out.put(b"\"}");
    Ok(())
}

/// An image as chat has it.
struct Image {
    /// The address, or the image itself as a `data:` URL, escaped.
    raw_url: Vec<u8>,
}

#[derive(Default)]
struct ImageSource<'a> {
    kind: Option<RawStr<'a>>,
    media_type: Option<RawStr<'a>>,
    data: Option<RawStr<'a>>,
    url: Option<RawStr<'a>>,
}

impl Image {
    fn read(block: &Block<'_>, path: &Path<'_>, checks: &mut Checks) -> Result<Option<Self>, ParseError> {
        let path = Path::Member(path, "source");
        let Some(json) = block.source else {
            checks.missing(&path);
            return Ok(None);
        };
        let mut reader = Reader::new(json);
        if !checks.is(&mut reader, &path, ValueKind::Object)? {
            return Ok(None);
        }
        let mut source = ImageSource::default();
        reader.object(|reader, name, _| {
            match name.raw() {
                b"type" => source.kind = checks.text(reader, &Path::Member(&path, "type"))?,
                b"media_type" => source.media_type = checks.text(reader, &Path::Member(&path, "media_type"))?,
                b"data" => source.data = checks.text(reader, &Path::Member(&path, "data"))?,
                b"url" => source.url = checks.text(reader, &Path::Member(&path, "url"))?,
                _ => reader.skip()?,
            }
            Ok::<(), ParseError>(())
        })?;
        let Some(kind) = source.kind else {
            checks.missing(&Path::Member(&path, "type"));
            return Ok(None);
        };
        checks.word(kind, &Path::Member(&path, "type"), &["base64", "url"]);
        if kind.is("url") {
            let url = required(source.url, "url", &path, checks);
            if url.is_some_and(|url| !url.starts_with(b"data:")) {
                checks.remote_media(&Path::Member(&path, "url"));
            }
            return Ok(url.map(|url| Self { raw_url: url.to_vec() }));
        }
        if !kind.is("base64") {
            return Ok(None);
        }
        let media_type = required(source.media_type, "media_type", &path, checks);
        let data = required(source.data, "data", &path, checks);
        let (Some(media_type), Some(data)) = (media_type, data) else { return Ok(None) };
        Ok(Some(Self { raw_url: [b"data:", media_type, b";base64,", data].concat() }))
    }
}

/// The parts of an assistant's turn, which become one message.
#[derive(Default)]
struct AssistantTurn {
    text: JoinedText,
    thinking: JoinedText,
    /// `{"id":…},…` of all tool calls.
    calls: Vec<u8>,
}

fn write_assistant(
    content: &[u8],
    path: &Path<'_>,
    checks: &mut Checks,
    out: &mut Messages<'_>,
) -> Result<(), ParseError> {
    let mut reader = Reader::new(content);
    let mut turn = AssistantTurn::default();
    match reader.kind()? {
        ValueKind::String => turn.text.add(reader.string()?.raw()),
        ValueKind::Array => reader.array(|reader, index| {
            let path = Path::Index(path, index);
            match Block::read(reader, &path, checks)? {
                Some(block) => turn.add(&block, &path, checks),
                None => Ok(()),
            }
        })?,
        other => {
            checks.invalid(path, || format!("must be a string or an array of blocks, not {}", other.name()));
            return Ok(());
        }
    }
    turn.write(out);
    Ok(())
}

impl AssistantTurn {
    fn add(&mut self, block: &Block<'_>, path: &Path<'_>, checks: &mut Checks) -> Result<(), ParseError> {
        if !block.is_of(&["text", "thinking", "redacted_thinking", "tool_use"], path, checks) {
            return Ok(());
        }
        match block.kind() {
            b"text" => {
                if let Some(text) = block.text(path, checks) {
                    self.text.add(text);
                }
            }
            b"thinking" => {
                if let Some(thinking) = required(block.thinking, "thinking", path, checks) {
                    self.thinking.add(thinking);
                }
            }
            b"tool_use" => self.add_call(block, path, checks),
            _ => {}
        }
        Ok(())
    }

    fn add_call(&mut self, block: &Block<'_>, path: &Path<'_>, checks: &mut Checks) {
        let id = required(block.id, "id", path, checks).unwrap_or_default();
        let name = required(block.name, "name", path, checks).unwrap_or_default();
        if block.name.is_some() && !is_name(name) {
            checks.invalid(&Path::Member(path, "name"), || "is not the name of a tool".into());
        }
        let input = block.input.unwrap_or(b"{}");
        if !input.starts_with(b"{") {
            checks.invalid(&Path::Member(path, "input"), || "must be an object".into());
        }
        if !self.calls.is_empty() {
            self.calls.put(b",");
        }
        self.calls.put(b"{\"id\":");
        self.calls.put_raw_text(id);
        self.calls.put(b",\"type\":\"function\",\"function\":{\"name\":");
        self.calls.put_raw_text(name);
        self.calls.put(b",\"arguments\":");
        self.calls.put(&quote(&String::from_utf8_lossy(input)));
        self.calls.put(b"}}");
    }

    fn write(&self, out: &mut Messages<'_>) {
        let out = out.begin("assistant");
        out.put(b",\"content\":");
        if self.text.has_text || self.calls.is_empty() {
            out.put_raw_text(&self.text.raw);
        } else {
            out.put(b"null");
        }
        if self.thinking.has_text {
            out.put(b",\"reasoning_content\":");
            out.put_raw_text(&self.thinking.raw);
        }
        if !self.calls.is_empty() {
            out.put(b",\"tool_calls\":[");
            out.put(&self.calls);
            out.put(b"]");
        }
        out.put(b"}");
    }
}
