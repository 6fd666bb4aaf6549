//! Texts that only those can make who know a secret.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use std::fmt::Write as _;

/// The length of a MAC as text.
pub(crate) const HEX_LEN: usize = 64;

/// HMAC-SHA256 in hexadecimal digits.
pub(crate) fn hmac_hex(secret: &str, text: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length");
    mac.update(text.as_bytes());
    let mut hex = String::with_capacity(HEX_LEN);
    for byte in mac.finalize().into_bytes() {
        write!(hex, "{byte:02x}").expect("a String takes every write");
    }
    hex
}
