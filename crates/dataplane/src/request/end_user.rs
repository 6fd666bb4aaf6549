//! The members of a request with which a client names the person behind it.

use bytes::Bytes;
use domain::end_user::MAX_SAFETY_IDENTIFIER;
use json::{InvalidParam, JsonError, Reader, ValueKind, without_bom};
use std::ops::Range;

const SAFETY_IDENTIFIER: &str = "safety_identifier";
const USER: &str = "user";

/// Read for keys that name their end users only. What is not valid here is reported when the request is parsed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct EndUserMembers {
    safety_identifier: Option<String>,
    user: Option<String>,
    /// Anthropic's `metadata.user_id`.
    user_id: Option<String>,
    /// The values of these members, as places in the body without a byte order mark.
    pub values: Vec<Range<usize>>,
}

impl EndUserMembers {
    pub fn find(body: Bytes) -> Self {
        let body = without_bom(body);
        let mut found = Self::default();
        let mut reader = Reader::new(&body);
        // A body that cannot be read has no name.
        let read = reader.object(|reader, name, _| {
            let member = match name {
                name if name.is(SAFETY_IDENTIFIER) => &mut found.safety_identifier,
                name if name.is(USER) => &mut found.user,
                name if name.is("metadata") && reader.kind()? == ValueKind::Object => {
                    return reader.object(|reader, name, _| match name.is("user_id") {
                        true => read_value(reader, &mut found.user_id, &mut found.values),
                        false => reader.skip(),
                    });
                }
                _ => return reader.skip(),
            };
            read_value(reader, member, &mut found.values)
        });
        if read.is_ok() { found } else { Self::default() }
    }

    /// The name of the end user; `None` if no member has one.
    pub fn name(&self) -> Result<Option<&str>, InvalidParam> {
        let named = |member: &'_ Option<String>| member.as_ref().is_some_and(|name| !name.is_empty());
        let is_long = |name: &String| name.chars().nth(MAX_SAFETY_IDENTIFIER).is_some();
        if self.safety_identifier.as_ref().is_some_and(is_long) {
            let why = format!("has more than {MAX_SAFETY_IDENTIFIER} characters");
            return Err(InvalidParam { param: SAFETY_IDENTIFIER.into(), why });
        }
        let members = [&self.safety_identifier, &self.user, &self.user_id];
        Ok(members.into_iter().find(|member| named(member)).and_then(Option::as_deref))
    }
}

/// Reads the value of a member, and notes its place.
fn read_value(
    reader: &mut Reader<'_>,
    member: &mut Option<String>,
    values: &mut Vec<Range<usize>>,
) -> Result<(), JsonError> {
    reader.kind()?;
    let start = reader.position();
    *member = text(reader)?;
    values.push(start..reader.position());
    Ok(())
}

/// Reads a text; `None` for any other value.
fn text(reader: &mut Reader<'_>) -> Result<Option<String>, JsonError> {
    if reader.kind()? != ValueKind::String {
        return reader.skip().map(|()| None);
    }
    Ok(String::from_utf8(reader.string()?.decoded().into_owned()).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_member_names_the_end_user() {
        for (body, expected) in [
            (r#"{"user":"ada","safety_identifier":"s-1","metadata":{"user_id":"m"}}"#, Some("s-1")),
            (r#"{"user":"ada","metadata":{"user_id":"m"}}"#, Some("ada")),
            (r#"{"metadata":{"other":[1],"user_id":"m\u0041"},"user":null}"#, Some("mA")),
            (r#"{"safety_identifier":"","user":"ada"}"#, Some("ada")),
            (r#"{"user":7,"metadata":"m"}"#, None),
            (r#"{"messages":[{"user":"in a message"}]}"#, None),
            ("\u{feff}{\"user\":\"ada\"}", Some("ada")),
            (r#"{"user":"ada""#, None),
            ("[]", None),
        ] {
            let found = EndUserMembers::find(Bytes::copy_from_slice(body.as_bytes()));
            assert_eq!(found.name().unwrap(), expected, "{body}");
        }
    }

    #[test]
    fn values_are_found_where_they_are_without_a_byte_order_mark() {
        let text = r#"{"user": "ada", "metadata": {"n": 1, "user_id": "m"}, "safety_identifier":"s"}"#;
        let body = Bytes::from(format!("\u{feff}{text}"));
        let found = EndUserMembers::find(body.clone());
        let shown: Vec<_> = found.values.iter().map(|place| without_bom(body.clone()).slice(place.clone())).collect();
        assert_eq!(shown, [&b"\"ada\""[..], b"\"m\"", b"\"s\""]);
    }

    #[test]
    fn a_safety_identifier_has_at_most_64_characters() {
        let name = |length| {
            let body = format!(r#"{{"safety_identifier":"{}"}}"#, "é".repeat(length));
            EndUserMembers::find(body.into()).name().map(|name| name.map(str::len)).map_err(|error| error.param)
        };
        assert_eq!((name(64), name(65)), (Ok(Some(128)), Err(SAFETY_IDENTIFIER.into())));
    }
}
