//! Randomness from the system: ids, keys and passwords start here.

use domain::key::NewKey;
use std::sync::atomic::{AtomicU64, Ordering};

const PASSWORD_LEN: usize = 24;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// For the random part of an id.
pub(crate) fn for_id() -> u128 {
    u128::from_le_bytes(bytes())
}

/// For the random part of ids that sort in the order they were made, also within a millisecond of one process.
pub(crate) fn in_order() -> u128 {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed) & 0xffff;
    (u128::from(number) << 64) | (for_id() & u128::from(u64::MAX))
}

pub(crate) fn new_key() -> NewKey {
    NewKey::from_entropy(&bytes())
}

/// Two bytes to a character keep the distribution even to one part in a thousand.
pub(crate) fn password() -> String {
    let entropy: [u8; PASSWORD_LEN * 2] = bytes();
    let draw = |pair: &[u8]| BASE62[usize::from(u16::from_le_bytes([pair[0], pair[1]])) % BASE62.len()];
    entropy.chunks_exact(2).map(|pair| char::from(draw(pair))).collect()
}

fn bytes<const COUNT: usize>() -> [u8; COUNT] {
    let mut bytes = [0; COUNT];
    getrandom::fill(&mut bytes).expect("the system's random source never fails once the system is up");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_long_plain_and_new_each_time() {
        let password = password();
        assert_eq!(password.len(), PASSWORD_LEN);
        assert!(password.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert_ne!(password, super::password());
    }
}
