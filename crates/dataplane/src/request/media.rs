//! Finds media that an engine would have to fetch from an address of the client's choice.

use json::{Checks, JsonError, Path, Reader, ValueKind, shorten};
use std::fmt::Display;

/// Moves past the value of the member `name` at `path` and notes the first address in it that is not a `data:` URL.
/// Addresses are the strings under members such as `image_url`, `url` and `video`, also in arrays.
pub(super) fn check(
    reader: &mut Reader<'_>,
    checks: &mut Checks,
    path: &dyn Display,
    name: &[u8],
) -> Result<(), JsonError> {
    check_value(reader, checks, path, is_address(name))
}

fn check_value(
    reader: &mut Reader<'_>,
    checks: &mut Checks,
    path: &dyn Display,
    is_address: bool,
) -> Result<(), JsonError> {
    match reader.kind()? {
        ValueKind::String => {
            let text = reader.string()?;
            if is_address && !text.raw().starts_with(b"data:") {
                checks.remote_media(path);
            }
            Ok(())
        }
        ValueKind::Array => {
            reader.array(|reader, index| check_value(reader, checks, &Path::Index(path, index), is_address))
        }
        ValueKind::Object => reader.object(|reader, name, _| {
            let name = name.decoded();
            check(reader, checks, &Path::Member(path, shorten(&name)), &name)
        }),
        ValueKind::Null | ValueKind::Bool | ValueKind::Number => reader.skip(),
    }
}

/// Whether a string under this name is an address. Model servers disagree in the names, and some ignore case.
fn is_address(name: &[u8]) -> bool {
    let ends_with = |end: &[u8]| name.len() >= end.len() && name[name.len() - end.len()..].eq_ignore_ascii_case(end);
    ends_with(b"url") || ends_with(b"uri") || [&b"image"[..], b"audio", b"video"].iter().any(|noun| ends_with(noun))
}
