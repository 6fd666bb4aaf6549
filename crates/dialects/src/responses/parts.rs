//! Reads the content of messages and of tool outputs: a string, or an array of parts.

use crate::chat_messages::{JoinedText, UserTurn};
use crate::values::required;
use crate::writer::{Output, write_member};
use json::{Checks, ParseError, Path, RawStr, Reader, ValueKind, shorten};
use std::fmt::Display;

/// The types of parts that are text, and the member that has it.
const TEXTS: [(&str, &str); 6] = [
    ("input_text", "text"),
    ("output_text", "text"),
    ("text", "text"),
    ("summary_text", "text"),
    ("reasoning_text", "text"),
    ("refusal", "refusal"),
];

/// One part, as it is understood.
enum Part<'a> {
    /// Escaped.
    Text(&'a [u8]),
    /// The address of an image, escaped.
    Image(&'a [u8]),
}

#[derive(Default)]
struct PartMembers<'a> {
    kind: Option<RawStr<'a>>,
    text: Option<RawStr<'a>>,
    refusal: Option<RawStr<'a>>,
    image_url: Option<RawStr<'a>>,
}

/// Reads content that may only be text.
pub(super) fn read_text(
    content: &[u8],
    path: &dyn Display,
    joined: &mut JoinedText,
    checks: &mut Checks,
) -> Result<(), ParseError> {
    each(content, path, checks, |part, path, checks| match part {
        Part::Text(raw) => joined.add(raw),
        Part::Image(_) => checks.invalid(&Path::Member(path, "type"), || "must be text here".into()),
    })
}

/// Reads the content of a user.
pub(super) fn read_user(
    content: &[u8],
    path: &dyn Display,
    turn: &mut UserTurn,
    checks: &mut Checks,
) -> Result<(), ParseError> {
    each(content, path, checks, |part, _, _| match part {
        Part::Text(raw) => turn.add_text(raw),
        Part::Image(raw_url) => turn.add_image(raw_url),
    })
}

/// Reads the output of a tool. Chat allows only text there, so images are collected.
pub(super) fn read_output(
    content: &[u8],
    path: &dyn Display,
    joined: &mut JoinedText,
    images: &mut UserTurn,
    checks: &mut Checks,
) -> Result<(), ParseError> {
    each(content, path, checks, |part, _, _| match part {
        Part::Text(raw) => joined.add(raw),
        Part::Image(raw_url) => images.add_image(raw_url),
    })
}

fn each<'a>(
    content: &'a [u8],
    path: &dyn Display,
    checks: &mut Checks,
    mut use_part: impl FnMut(Part<'a>, &Path<'_>, &mut Checks),
) -> Result<(), ParseError> {
    let mut reader = Reader::new(content);
    match reader.kind()? {
        ValueKind::String => {
            use_part(Part::Text(reader.string()?.raw()), &Path::Index(path, 0), checks);
            Ok(())
        }
        ValueKind::Array => reader.array(|reader, index| {
            let path = Path::Index(path, index);
            if checks.is_object(reader, &path)?
                && let Some(part) = Part::read(reader, &path, checks)?
            {
                use_part(part, &path, checks);
            }
            Ok(())
        }),
        other => {
            checks.invalid(path, || format!("must be a string or an array of parts, not {}", other.name()));
            Ok(())
        }
    }
}

impl<'a> PartMembers<'a> {
    fn read(reader: &mut Reader<'a>, path: &Path<'_>, checks: &mut Checks) -> Result<Self, ParseError> {
        let mut members = Self::default();
        reader.object(|reader, name, _| {
            match &*name.decoded() {
                b"type" => members.kind = checks.text(reader, &Path::Member(path, "type"))?,
                b"text" => members.text = checks.text(reader, &Path::Member(path, "text"))?,
                b"refusal" => members.refusal = checks.text(reader, &Path::Member(path, "refusal"))?,
                b"image_url" => members.image_url = checks.text(reader, &Path::Member(path, "image_url"))?,
                _ => reader.skip()?,
            }
            Ok::<(), ParseError>(())
        })?;
        Ok(members)
    }
}

/// Writes the content with the members that are read here. Problems are reported by the translation.
pub(super) fn write_kept(content: &[u8], out: &mut Vec<u8>) -> Result<(), ParseError> {
    let mut reader = Reader::new(content);
    if reader.kind()? != ValueKind::Array {
        out.put(content);
        return Ok(());
    }
    let (mut unreported, mut separator) = (Checks::default(), &b"["[..]);
    reader.array(|reader, index| {
        let path = Path::Index(&"", index);
        if !unreported.is_object(reader, &path)? {
            return Ok(());
        }
        let part = PartMembers::read(reader, &path, &mut unreported)?;
        out.put(separator);
        separator = b",";
        out.put(b"{\"type\":");
        out.put_raw_text(part.kind.map_or(&b""[..], RawStr::raw));
        for (name, text) in [("text", part.text), ("refusal", part.refusal), ("image_url", part.image_url)] {
            if let Some(text) = text {
                write_member(name, &[b"\"", text.raw(), b"\""].concat(), out);
            }
        }
        if part.kind.is_some_and(|kind| kind.is("output_text")) {
            out.put(b",\"annotations\":[]");
        }
        out.put(b"}");
        Ok::<(), ParseError>(())
    })?;
    out.put(if separator == b"[" { b"[]" } else { b"]" });
    Ok(())
}

impl<'a> Part<'a> {
    /// Returns `None` and notes it if the part is not supported.
    fn read(reader: &mut Reader<'a>, path: &Path<'_>, checks: &mut Checks) -> Result<Option<Self>, ParseError> {
        let members = PartMembers::read(reader, path, checks)?;
        let Some(kind) = members.kind else {
            checks.missing(&Path::Member(path, "type"));
            return Ok(None);
        };
        if let Some((_, member)) = TEXTS.iter().find(|(known, _)| kind.is(known)) {
            let text = if *member == "refusal" { members.refusal } else { members.text };
            return Ok(required(text, member, path, checks).map(Self::Text));
        }
        if kind.is("input_image") {
            let url = required(members.image_url, "image_url", path, checks);
            if url.is_some_and(|url| !url.starts_with(b"data:")) {
                checks.remote_media(&Path::Member(path, "image_url"));
            }
            return Ok(url.map(Self::Image));
        }
        let why = || format!("`{}` is not a type of content that is supported", shorten(&kind.decoded()));
        checks.invalid(&Path::Member(path, "type"), why);
        Ok(None)
    }
}
