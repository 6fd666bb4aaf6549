//! Who asks under `/v1`: a key or a session. An `Authorization` header, good or bad, decides alone.
//!
//! Every surface under `/v1` asks here, and dresses the refusal in its own envelope.

mod session;

use crate::edge::session_cookie;
use crate::people::People;
use dataplane::keys::{KeyDirectory, Unidentified};
use domain::{Caller, KeyText, Timestamp};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use http::request::Parts;
use std::sync::Arc;

/// Why nobody is known to ask, or may not.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Whatever is wrong with the credential; the cause is for our log.
    Unauthenticated {
        cause: &'static str,
    },
    StoreUnavailable {
        cause: String,
    },
    /// A session that may not act here.
    Forbidden(Forbidden),
    Internal,
}

/// Why a session may not act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forbidden {
    CsrfFailed,
    NoOrganizationContext,
    NoWorkspaceContext,
    NotAMember,
}

impl Forbidden {
    pub(crate) const fn message(self) -> &'static str {
        match self {
            Self::CsrfFailed => "the header X-CSRF-Token is missing, or not the token of this session",
            Self::NoOrganizationContext => "the session is in no organization; choose one",
            Self::NoWorkspaceContext => "the session is in no workspace; name one in X-Workspace-Id",
            Self::NotAMember => "you are not a member of this workspace",
        }
    }
}

pub(crate) async fn identify(
    keys: &KeyDirectory,
    people: &Arc<People>,
    head: &Parts,
    now: Timestamp,
) -> Result<Arc<Caller>, Refused> {
    let headers = &head.headers;
    if !headers.contains_key(AUTHORIZATION)
        && let Some(token) = session_cookie::read(headers)
    {
        return Box::pin(session::identify(people, head, token, now)).await;
    }
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
    let text = value.to_str().map_err(|_| "Authorization is not text")?;
    // As nearly everybody writes it.
    if let Some(key) = text.strip_prefix("Bearer ").and_then(KeyText::parse) {
        return Ok(key);
    }
    let (scheme, key) = text.trim().split_once(' ').ok_or("Authorization has no scheme and key")?;
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
