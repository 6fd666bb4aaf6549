//! Names the tier of flex calls in their responses. Engines do not know it.

use super::{BadUpstreamResponse, note_once};
use bytes::Bytes;
use json::Reader;
use json::edits::Edits;

pub(super) const FLEX: &[u8] = br#""flex""#;
/// The member before others.
pub(super) const FLEX_MEMBER: &[u8] = br#""service_tier":"flex","#;

/// Sets the tier in a response that is not streamed, an object with other members.
pub(crate) fn set_flex(response: &Bytes) -> Result<Bytes, BadUpstreamResponse> {
    let mut reader = Reader::new(response);
    let mut edits = Edits::default();
    let mut has_tier = false;
    reader.kind()?;
    let open = reader.position();
    reader.object(|reader, name, _| {
        if name.raw() != b"service_tier" {
            return Ok(reader.skip()?);
        }
        note_once(&mut has_tier)?;
        edits.replace(reader.span()?, FLEX);
        Ok::<(), BadUpstreamResponse>(())
    })?;
    if !has_tier {
        edits.insert(open + 1, FLEX_MEMBER);
    }
    Ok(edits.apply(response))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tier_is_added_or_replaced() {
        for (response, expected) in [
            (r#"{"id":"x"}"#, r#"{"service_tier":"flex","id":"x"}"#),
            (r#" {"id":"x","service_tier":null}"#, r#" {"id":"x","service_tier":"flex"}"#),
            (r#"{"service_tier":"auto","id":"x"}"#, r#"{"service_tier":"flex","id":"x"}"#),
        ] {
            assert_eq!(set_flex(&Bytes::from_static(response.as_bytes())).unwrap(), expected);
        }
    }
}
