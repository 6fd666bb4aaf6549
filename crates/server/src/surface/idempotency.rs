//! The idempotency keys of requests.

use sha2::{Digest, Sha256};

pub(super) const HEADER: &str = "Idempotency-Key";
const MAX_LEN: usize = 255;

/// The key among the values of the header, or why it is invalid.
pub(super) fn check<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> Result<Option<&'a str>, &'static str> {
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err("must be sent once");
    }
    let key = std::str::from_utf8(value).ok().filter(|key| key.is_ascii()).ok_or("must be ASCII text")?.trim();
    if (1..=MAX_LEN).contains(&key.len()) { Ok(Some(key)) } else { Err("must have 1 to 255 characters") }
}

/// A digest of a request.
pub(super) fn fingerprint(route: &str, body: &[u8]) -> String {
    let digest = Sha256::new().chain_update(route).chain_update(b"\n").chain_update(body).finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'a>(values: &[&'a str]) -> Result<Option<&'a str>, &'static str> {
        check(values.iter().map(|value| value.as_bytes()))
    }

    #[test]
    fn a_key_is_sent_once_and_has_1_to_255_ascii_characters() {
        let (longest, longer) = ("k".repeat(MAX_LEN), "k".repeat(MAX_LEN + 1));
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[" one\t"]), Ok(Some("one")));
        assert_eq!(read(&[&longest]), Ok(Some(longest.as_str())));
        assert_eq!(read(&[&longer]), Err("must have 1 to 255 characters"));
        assert_eq!(read(&[" "]), Err("must have 1 to 255 characters"));
        assert_eq!(read(&["ü"]), Err("must be ASCII text"));
        assert_eq!(read(&["one", "one"]), Err("must be sent once"));
    }
}
