//! Random ids, keys, passwords and tokens.

use domain::key::NewKey;
use domain::session::{SessionToken, TOKEN_LEN};
use std::sync::atomic::{AtomicU64, Ordering};

const PASSWORD_LEN: usize = 24;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

#[cfg(test)]
thread_local! {
    /// The next number that ids of this thread get instead of random ones, so that a simulation repeats exactly.
    pub(crate) static NUMBERED: std::cell::Cell<Option<u64>> = const { std::cell::Cell::new(None) };
}

/// The random part of an id.
pub(crate) fn for_id() -> u128 {
    #[cfg(test)]
    if let Some(number) = NUMBERED.get() {
        NUMBERED.set(Some(number + 1));
        return number.into();
    }
    u128::from_le_bytes(bytes())
}

/// The random part of an id that sorts by creation within this process, also within one millisecond.
pub(crate) fn in_order() -> u128 {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed) & 0xffff;
    (u128::from(number) << 64) | (for_id() & u128::from(u64::MAX))
}

pub(crate) fn new_key() -> NewKey {
    NewKey::from_entropy(&bytes())
}

pub(crate) fn password() -> String {
    base62::<PASSWORD_LEN>()
}

pub(crate) fn session_token() -> SessionToken {
    SessionToken::parse(&base62::<TOKEN_LEN>()).expect("letters and digits of the required length")
}

/// A token for links: shown once, stored as a hash.
pub(crate) fn token() -> String {
    base62::<TOKEN_LEN>()
}

/// Two random bytes per character keep the modulo bias below one part in a thousand.
fn base62<const LEN: usize>() -> String {
    let draw = |pair: [u8; 2]| BASE62[usize::from(u16::from_le_bytes(pair)) % BASE62.len()];
    (0..LEN).map(|_| char::from(draw(bytes()))).collect()
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
    fn passwords_are_long_alphanumeric_and_random() {
        let password = password();
        assert_eq!(password.len(), PASSWORD_LEN);
        assert!(password.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert_ne!(password, super::password());
    }
}
