//! Reads content: a string, or an array of blocks, each an object with a type.

use crate::values::{required, value};
use json::{Checks, ParseError, Path, RawStr, Reader, ValueKind};
use std::borrow::Cow;
use std::fmt::Display;

/// The content of a message or of a tool's result.
pub(super) enum Content<'a> {
    /// Escaped.
    Text(&'a [u8]),
    Blocks(Blocks<'a>),
}

impl<'a> Content<'a> {
    /// Returns `None` and notes it if the value is neither a string nor an array. `blocks` names the elements.
    pub(super) fn read(
        json: &'a [u8],
        path: &dyn Display,
        blocks: &str,
        checks: &mut Checks,
    ) -> Result<Option<Self>, ParseError> {
        let mut reader = Reader::new(json);
        match reader.kind()? {
            ValueKind::String => Ok(Some(Self::Text(reader.string()?.raw()))),
            ValueKind::Array => Ok(Some(Self::Blocks(Blocks { reader }))),
            other => {
                checks.invalid(path, || format!("must be a string or an array of {blocks}, not {}", other.name()));
                Ok(None)
            }
        }
    }
}

/// An array of blocks that is not read yet.
pub(super) struct Blocks<'a> {
    reader: Reader<'a>,
}

impl<'a> Blocks<'a> {
    /// Calls `read` with each block and its path. Blocks of other types than these, which are all that their place
    /// supports, are noted as invalid and left out.
    pub(super) fn each(
        mut self,
        path: &dyn Display,
        types: &[&str],
        checks: &mut Checks,
        mut read: impl FnMut(&Block<'a>, &Path<'_>, &mut Checks) -> Result<(), ParseError>,
    ) -> Result<(), ParseError> {
        self.reader.array(|reader, index| {
            let path = Path::Index(path, index);
            match Block::read(reader, &path, checks)? {
                Some(block) if block.is_of(types, &path, checks) => read(&block, &path, checks),
                _ => Ok(()),
            }
        })
    }
}

/// The members of a content block that any of the known types has.
#[derive(Default)]
pub(super) struct Block<'a> {
    kind: Option<RawStr<'a>>,
    text: Option<RawStr<'a>>,
    pub(super) thinking: Option<RawStr<'a>>,
    pub(super) id: Option<RawStr<'a>>,
    pub(super) name: Option<RawStr<'a>>,
    pub(super) tool_use_id: Option<RawStr<'a>>,
    pub(super) is_error: bool,
    /// `input`, `content` and `source` as JSON.
    pub(super) input: Option<&'a [u8]>,
    pub(super) content: Option<&'a [u8]>,
    pub(super) source: Option<&'a [u8]>,
}

impl<'a> Block<'a> {
    /// Returns `None` and notes it if the value is not an object with a type.
    fn read(reader: &mut Reader<'a>, path: &Path<'_>, checks: &mut Checks) -> Result<Option<Self>, ParseError> {
        if !checks.is_object(reader, path)? {
            return Ok(None);
        }
        let mut block = Self::default();
        reader.object(|reader, name, _| {
            let member = |name: &'static str| Path::Member(path, name);
            match &*name.decoded() {
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

    pub(super) fn kind(&self) -> Cow<'a, [u8]> {
        self.kind.map(RawStr::decoded).unwrap_or_default()
    }

    /// Whether the block has one of these types. Another type is noted as invalid.
    fn is_of(&self, types: &[&str], path: &Path<'_>, checks: &mut Checks) -> bool {
        let is_known = types.iter().any(|known| self.kind.is_some_and(|kind| kind.is(known)));
        if !is_known {
            let why = || format!("is not supported here; supported are {}", types.join(", "));
            checks.invalid(&Path::Member(path, "type"), why);
        }
        is_known
    }

    pub(super) fn text(&self, path: &Path<'_>, checks: &mut Checks) -> Option<&'a [u8]> {
        required(self.text, "text", path, checks)
    }
}
