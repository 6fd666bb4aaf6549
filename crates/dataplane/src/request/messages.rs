//! Checks the messages of a chat.

use super::{BYTES_PER_TOKEN, TokenEstimate, image, media};
use json::{Checks, JsonError, Path, Reader, ValueKind, shorten};
use std::ops::Range;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Instruction,
    User,
    Assistant,
    Tool,
    Function,
    Unknown,
}

const ROLES: [&str; 6] = ["developer", "system", "user", "assistant", "tool", "function"];

/// Names that are changed on the way to an engine: each change takes memory.
const MAX_RENAMED: usize = 1_024;
/// Bytes around a name.
const QUOTES: usize = 2;

/// Checks `messages` and returns their range; `None` if they are null. Notes the names of reasoning, with their quotes.
pub(super) fn check(
    reader: &mut Reader<'_>,
    checks: &mut Checks,
    estimate: &mut TokenEstimate,
    reasoning_names: &mut Vec<Range<usize>>,
) -> Result<Option<Range<usize>>, JsonError> {
    let kind = reader.kind()?;
    let start = reader.position();
    match kind {
        ValueKind::Null => {
            reader.skip()?;
            return Ok(None);
        }
        ValueKind::Array => {
            reader.array(|reader, index| {
                estimate.messages += 1;
                let reasoning = check_message(reader, checks, &Path::Index(&"messages", index), estimate)?;
                reasoning_names.extend(reasoning.filter(|_| reasoning_names.len() < MAX_RENAMED));
                Ok(())
            })?;
            if estimate.messages == 0 {
                checks.invalid(&"messages", || "must have at least one message".into());
            }
        }
        other => {
            checks.invalid(&"messages", || format!("must be an array, not {}", other.name()));
            reader.skip()?;
        }
    }
    Ok(Some(start..reader.position()))
}

/// Returns the name of its reasoning, if it has only one.
fn check_message(
    reader: &mut Reader<'_>,
    checks: &mut Checks,
    path: &Path<'_>,
    estimate: &mut TokenEstimate,
) -> Result<Option<Range<usize>>, JsonError> {
    if !checks.is_object(reader, path)? {
        return Ok(None);
    }
    let mut role = None;
    let mut has_content = false;
    let mut has_call_id = false;
    let (mut reasoning, mut is_ambiguous) = (None, false);
    reader.object(|reader, name, name_at| {
        if name.is("role") {
            let path = Path::Member(path, "role");
            let kind = reader.kind()?;
            if let Some(text) = checks.text(reader, &path)? {
                checks.word(text, &path, &ROLES);
                role = Some(role_of(&text.decoded()));
            } else if kind != ValueKind::Null {
                role = Some(Role::Unknown);
            }
            return Ok(());
        }
        if name.is("content") {
            has_content = check_content(reader, checks, &Path::Member(path, "content"), estimate)?;
            return Ok(());
        }
        if name.is("tool_call_id") {
            has_call_id = reader.kind()? != ValueKind::Null;
            return checks.text(reader, &Path::Member(path, "tool_call_id")).map(drop);
        }
        if name.is("tool_calls") {
            return check_tool_calls(reader, checks, &Path::Member(path, "tool_calls"));
        }
        if name.is("name") {
            return checks.text(reader, &Path::Member(path, "name")).map(drop);
        }
        if let raw @ (b"reasoning" | b"reasoning_content") = name.raw() {
            let is_text = reader.kind()? == ValueKind::String;
            let is_second = reasoning.replace(name_at..name_at + raw.len() + QUOTES).is_some();
            is_ambiguous |= !is_text || is_second;
        }
        reader.skip()
    })?;
    let needs_content = matches!(role, Some(Role::Instruction | Role::User | Role::Tool));
    if role.is_none() {
        checks.missing(&Path::Member(path, "role"));
    } else if needs_content && !has_content {
        checks.missing(&Path::Member(path, "content"));
    } else if role == Some(Role::Tool) && !has_call_id {
        checks.missing(&Path::Member(path, "tool_call_id"));
    }
    Ok(reasoning.filter(|_| role == Some(Role::Assistant) && !is_ambiguous))
}

fn role_of(text: &[u8]) -> Role {
    match text {
        b"developer" | b"system" => Role::Instruction,
        b"user" => Role::User,
        b"assistant" => Role::Assistant,
        b"tool" => Role::Tool,
        b"function" => Role::Function,
        _ => Role::Unknown,
    }
}

/// Checks a string or an array of parts. Returns whether there is any content.
fn check_content(
    reader: &mut Reader<'_>,
    checks: &mut Checks,
    path: &Path<'_>,
    estimate: &mut TokenEstimate,
) -> Result<bool, JsonError> {
    match reader.kind()? {
        ValueKind::String => reader.string().map(|_| true),
        ValueKind::Array => {
            reader.array(|reader, index| check_part(reader, checks, &Path::Index(path, index), estimate))?;
            Ok(true)
        }
        ValueKind::Null => reader.skip().map(|_| false),
        other @ (ValueKind::Bool | ValueKind::Number | ValueKind::Object) => {
            checks.invalid(path, || format!("must be a string or an array of parts, not {}", other.name()));
            reader.skip().map(|_| true)
        }
    }
}

/// Checks a part of a message. Parts of unknown types are left to the engine.
fn check_part(
    reader: &mut Reader<'_>,
    checks: &mut Checks,
    path: &Path<'_>,
    estimate: &mut TokenEstimate,
) -> Result<(), JsonError> {
    if !checks.is_object(reader, path)? {
        return Ok(());
    }
    let start = reader.position();
    let mut needs = None;
    let mut has_type = false;
    let mut found = [false; PART_MEMBERS.len()];
    reader.object(|reader, name, _| {
        if name.is("type") {
            has_type = reader.kind()? != ValueKind::Null;
            if let Some(text) = checks.text(reader, &Path::Member(path, "type"))? {
                needs = PART_MEMBERS.iter().position(|(part, ..)| text.is(part));
            }
            return Ok(());
        }
        match PART_MEMBERS.iter().position(|(_, member, _)| name.is(member)) {
            Some(known) => {
                let (_, member, expected) = PART_MEMBERS[known];
                found[known] = reader.kind()? != ValueKind::Null;
                let path = Path::Member(path, member);
                if checks.is(reader, &path, expected)? {
                    return media::check(reader, checks, &path, member.as_bytes()).map(drop);
                }
                Ok(())
            }
            None => {
                let name = name.decoded();
                media::check(reader, checks, &Path::Member(path, shorten(&name)), &name).map(drop)
            }
        }
    })?;
    if !needs.is_some_and(|known| TEXT_PARTS.contains(&PART_MEMBERS[known].0)) {
        let part = reader.since(start);
        estimate.opaque = true;
        estimate.opaque_bytes += part.len() as u64;
        match needs.map(|known| PART_MEMBERS[known].0) {
            Some("image_url") => estimate.add_image(image::size(part)),
            Some(_) | None => estimate.media_tokens += part.len() as u64 / BYTES_PER_TOKEN,
        }
    }
    if !has_type {
        checks.missing(&Path::Member(path, "type"));
    } else if let Some(known) = needs
        && !found[known]
    {
        checks.missing(&Path::Member(path, PART_MEMBERS[known].1));
    }
    Ok(())
}

/// The type of a part, the member it requires, and the type of that member.
const PART_MEMBERS: [(&str, &str, ValueKind); 5] = [
    ("text", "text", ValueKind::String),
    ("image_url", "image_url", ValueKind::Object),
    ("input_audio", "input_audio", ValueKind::Object),
    ("file", "file", ValueKind::Object),
    ("refusal", "refusal", ValueKind::String),
];

const TEXT_PARTS: [&str; 2] = ["text", "refusal"];

fn check_tool_calls(reader: &mut Reader<'_>, checks: &mut Checks, path: &Path<'_>) -> Result<(), JsonError> {
    if !checks.is(reader, path, ValueKind::Array)? {
        return Ok(());
    }
    reader.array(|reader, index| {
        let path = Path::Index(path, index);
        if !checks.is(reader, &path, ValueKind::Object)? {
            return Ok(());
        }
        reader.object(|reader, name, _| {
            if !name.is("function") {
                return reader.skip();
            }
            let path = Path::Member(&path, "function");
            if !checks.is(reader, &path, ValueKind::Object)? {
                return Ok(());
            }
            reader.object(|reader, name, _| {
                for member in ["name", "arguments"] {
                    if name.is(member) {
                        return checks.text(reader, &Path::Member(&path, member)).map(drop);
                    }
                }
                reader.skip()
            })
        })
    })
}
