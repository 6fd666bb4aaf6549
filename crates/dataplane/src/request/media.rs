//! Finds media that an engine would have to fetch from an address of the client's choice.

use json::{Checks, JsonError, Path, Reader, ValueKind, shorten};
use std::fmt::Display;

/// Moves past the value of the member `name` at `path` and notes the first address in it that is not a `data:` URL.
/// Addresses are the strings under members such as `image_url`, `url` and `video`, also in arrays. Returns the bytes of the
/// `data:` URLs.
pub(super) fn check(
    reader: &mut Reader<'_>,
    checks: &mut Checks,
    path: &dyn Display,
    name: &[u8],
) -> Result<u64, JsonError> {
    check_value(reader, checks, path, is_address(name))
}

fn check_value(
    reader: &mut Reader<'_>,
    checks: &mut Checks,
    path: &dyn Display,
    is_address: bool,
) -> Result<u64, JsonError> {
    let mut media = 0;
    match reader.kind()? {
        ValueKind::String => {
            let text = reader.string()?;
            match (is_address, text.raw().starts_with(b"data:")) {
                (true, true) => media = text.raw().len() as u64,
                (true, false) => checks.remote_media(path),
                (false, _) => {}
            }
        }
        ValueKind::Array => reader.array(|reader, index| {
            media += check_value(reader, checks, &Path::Index(path, index), is_address)?;
            Ok::<(), JsonError>(())
        })?,
        ValueKind::Object => reader.object(|reader, name, _| {
            let name = name.decoded();
            media += check(reader, checks, &Path::Member(path, shorten(&name)), &name)?;
            Ok(())
        })?,
        ValueKind::Null | ValueKind::Bool | ValueKind::Number => reader.skip()?,
    }
    Ok(media)
}

/// Whether a string under this name is an address. Model servers disagree in the names, and some ignore case.
fn is_address(name: &[u8]) -> bool {
    let ends_with = |end: &[u8]| name.len() >= end.len() && name[name.len() - end.len()..].eq_ignore_ascii_case(end);
    ends_with(b"url") || ends_with(b"uri") || [&b"image"[..], b"audio", b"video"].iter().any(|noun| ends_with(noun))
}
