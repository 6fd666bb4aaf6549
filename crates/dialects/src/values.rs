//! Reads values of client requests.

use json::{Checks, ParseError, Path, RawStr, Reader, ValueKind};

/// The next value as JSON; `None` for null.
pub(super) fn value<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, ParseError> {
    let is_null = reader.kind()? == ValueKind::Null;
    let json = reader.slice()?;
    Ok((!is_null).then_some(json))
}

/// The escaped text of a member, which is noted as missing if it is not there.
pub(super) fn required<'a>(
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
