//! Turns system prompts and messages into those of chat.
//!
//! A message of blocks becomes one or more chat messages: the results of tools each become one, and precede what else the
//! user said in that turn.

mod assistant;
mod block;
mod image;
mod system;
mod tool_result;
mod user;

pub(super) use system::{SystemPlace, without_billing_header};

use crate::chat_messages::{JoinedText, Messages};
use crate::values::value;
use json::{Checks, ParseError, Path, RawStr, Reader, ValueKind};

/// Returns whether the last message is one of the assistant that its response continues.
pub(super) fn write_messages(
    system: &[u8],
    messages: &[u8],
    place: SystemPlace,
    checks: &mut Checks,
    out: &mut Vec<u8>,
) -> Result<bool, ParseError> {
    let mut first = JoinedText::default();
    if !system.is_empty() {
        system::read_text(system, &"system", &mut first, checks)?;
    }
    if place == SystemPlace::First {
        system::collect(messages, &mut first, checks)?;
    }
    let mut written = Messages::new(out);
    if first.has_text {
        written.text("system", &first.raw);
    }
    let mut reader = Reader::new(messages);
    if !checks.is(&mut reader, &"messages", ValueKind::Array)? {
        return Ok(false);
    }
    let (mut count, mut is_continued) = (0, false);
    reader.array(|reader, index| {
        count += 1;
        let path = Path::Index(&"messages", index);
        is_continued = match Message::read(reader, &path, checks)? {
            Some(message) => write_message(&message, &path, place, checks, &mut written)?,
            None => false,
        };
        Ok::<(), ParseError>(())
    })?;
    if count == 0 {
        checks.invalid(&"messages", || "must have at least one message".into());
    }
    Ok(is_continued)
}

struct Message<'a> {
    role: Option<RawStr<'a>>,
    content: Option<&'a [u8]>,
}

impl<'a> Message<'a> {
    /// `None` if it is not an object.
    fn read(reader: &mut Reader<'a>, path: &Path<'_>, checks: &mut Checks) -> Result<Option<Self>, ParseError> {
        if !checks.is_object(reader, path)? {
            return Ok(None);
        }
        let mut message = Self { role: None, content: None };
        reader.object(|reader, name, _| {
            match &*name.decoded() {
                b"role" => message.role = checks.text(reader, &Path::Member(path, "role"))?,
                b"content" => message.content = value(reader)?,
                _ => reader.skip()?,
            }
            Ok::<(), ParseError>(())
        })?;
        Ok(Some(message))
    }
}

/// Returns whether a response could continue the message.
fn write_message(
    message: &Message<'_>,
    path: &Path<'_>,
    place: SystemPlace,
    checks: &mut Checks,
    out: &mut Messages<'_>,
) -> Result<bool, ParseError> {
    let role_path = Path::Member(path, "role");
    let content_path = Path::Member(path, "content");
    let Some(role) = message.role else {
        checks.missing(&role_path);
        return Ok(false);
    };
    let role = checks.word(role, &role_path, &["user", "assistant", "system"]);
    let Some(content) = message.content else {
        checks.missing(&content_path);
        return Ok(false);
    };
    match role {
        Some("user") => user::write(content, &content_path, checks, out)?,
        Some("assistant") => return assistant::write(content, &content_path, checks, out),
        Some("system") if place == SystemPlace::AsSent => {
            let mut text = JoinedText::default();
            system::read_text(content, &content_path, &mut text, checks)?;
            out.text("system", &text.raw);
        }
        _ => {}
    }
    Ok(false)
}
