//! The key that calls to the engine need, if it has one.

use crate::error::RequestError;
use http::{HeaderMap, header};

/// The environment variable with the key. Options show in the list of processes.
const VARIABLE: &str = "FOREBAY_ENGINE_API_KEY";

pub(crate) struct EngineKey(String);

impl EngineKey {
    /// `None` if the variable is not set: everyone may call.
    pub(crate) fn from_environment() -> Option<Self> {
        std::env::var(VARIABLE).ok().filter(|key| !key.is_empty()).map(Self)
    }

    /// Rejects a request without the key.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), RequestError> {
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        given.filter(|given| is_same(given, self.0.as_bytes())).map(drop).ok_or(RequestError::Unauthenticated)
    }
}

/// Compares in a time that does not depend on the first difference.
fn is_same(given: &[u8], key: &[u8]) -> bool {
    given.len() == key.len() && given.iter().zip(key).fold(0, |found, (one, other)| found | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_key_itself_opens_the_engine() {
        let key = EngineKey("secret".to_owned());
        let check = |value: Option<&str>| {
            let headers = value.map(|value| (header::AUTHORIZATION, value.parse().unwrap()));
            key.check(&headers.into_iter().collect()).is_ok()
        };
        assert!(check(Some("Bearer secret")));
        for bad in [None, Some("secret"), Some("Bearer secreu"), Some("Bearer secret2"), Some("Bearer ")] {
            assert!(!check(bad), "{bad:?}");
        }
    }
}
