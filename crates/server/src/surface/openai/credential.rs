//! Who asks: one header, one parser, one answer to whatever is wrong with it.

use super::error::Refused;
use dataplane::keys::{KeyDirectory, Unidentified};
use domain::{Caller, KeyText, Timestamp};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use std::sync::Arc;

pub(super) async fn identify(keys: &KeyDirectory, headers: &HeaderMap, now: Timestamp) -> Result<Arc<Caller>, Refused> {
    let key = read(headers).map_err(|cause| Refused::Unauthenticated { cause })?;
    keys.identify(&key, now).await.map_err(|error| match error {
        Unidentified::BadKey(cause) => Refused::Unauthenticated { cause },
        Unidentified::StoreUnavailable(cause) => Refused::StoreUnavailable { cause },
    })
}

/// Exactly one `Authorization: Bearer <key>`; the scheme in any case, spaces around the key.
fn read(headers: &HeaderMap) -> Result<KeyText<'_>, &'static str> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (all.next(), all.next()) else {
        return Err("not one Authorization header");
    };
    let text = value.to_str().map_err(|_| "Authorization is not text")?.trim();
    let (scheme, key) = text.split_once(' ').ok_or("Authorization has no scheme and key")?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err("the scheme is not Bearer");
    }
    KeyText::parse(key.trim()).ok_or("malformed key")
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn with(values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn one_bearer_header_opens_the_door_and_nothing_else() {
        let key = format!("sk-abcdefghijkl-{}", "a".repeat(32));
        for good in [format!("Bearer {key}"), format!("bearer   {key}  "), format!("BEARER {key}")] {
            assert!(read(&with(&[&good])).is_ok(), "{good}");
        }
        let bearer = format!("Bearer {key}");
        for bad in [&["Bearer"][..], &["Bearer "], &[&key], &["Basic eDp5"], &[&bearer, &bearer], &["Bearer x"], &[]] {
            assert!(read(&with(bad)).is_err(), "{bad:?}");
        }
    }
}
