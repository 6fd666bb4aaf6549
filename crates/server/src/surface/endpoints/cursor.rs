//! Cursors of lists: the creation time and id of the last row of a page, such as `1767225600000.ep_01k…`.
//!
//! They are opaque to clients, but not secret: every list is limited to the caller's workspace anyway.

use domain::Timestamp;
use domain::endpoint::{FieldError, FieldErrorCode};

fn encode(at: Timestamp, id: &str) -> String {
    format!("{}.{id}", at.millis())
}

/// Cuts rows to the page and returns the cursor of the next one. There is a next one if `rows` has more than `limit`.
pub(super) fn next<T>(rows: &mut Vec<T>, limit: u32, key: impl Fn(&T) -> (Timestamp, &str)) -> Option<String> {
    let has_more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let (at, id) = rows.last().filter(|_| has_more).map(key)?;
    Some(encode(at, id))
}

pub(super) fn decode<T, E>(text: &str, parse_id: impl Fn(&str) -> Result<T, E>) -> Result<(Timestamp, T), FieldError> {
    let decoded = || {
        let (millis, id) = text.split_once('.')?;
        Some((Timestamp::from_millis(millis.parse().ok()?), parse_id(id).ok()?))
    };
    decoded().ok_or_else(|| FieldError::new("cursor", FieldErrorCode::InvalidCursor, "is not a cursor of this list"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{EndpointId, EventId};

    #[test]
    fn a_cursor_is_valid_for_its_own_list_only() {
        let now = Timestamp::from_millis(1_700_000_000_000);
        let id = EndpointId::new(now, 1);
        let cursor = encode(now, id.as_str());
        assert_eq!(decode(&cursor, EndpointId::parse).unwrap(), (now, id));
        assert!(decode(&cursor, EventId::parse).is_err());
        for bad in ["", "x", ".", "AAAA", &cursor[..20], &format!("{cursor}A"), &format!("x{cursor}")] {
            assert_eq!(decode(bad, EndpointId::parse).unwrap_err().code, FieldErrorCode::InvalidCursor, "{bad}");
        }
    }
}
