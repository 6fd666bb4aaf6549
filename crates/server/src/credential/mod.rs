//! Who asks under `/v1`: a key or a session. An `Authorization` header, good or bad, decides alone.
//!
//! Every surface under `/v1` asks here, and dresses the refusal in its own envelope.

mod session;

use crate::edge::{Head, Headers, session_cookie};
use crate::people::People;
use dataplane::keys::{KeyDirectory, Unidentified};
use domain::{Caller, KeyText, Timestamp};
use http::header::{AUTHORIZATION, COOKIE};
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
    head: &Head,
    now: Timestamp,
) -> Result<Arc<Caller>, Refused> {
    let headers = &head.headers;
    if !headers.has(AUTHORIZATION) && headers.has(COOKIE) {
        let map = headers.to_map();
        if let Some(token) = session_cookie::read(&map) {
            return Box::pin(session::identify(people, &head.method, map, token, now)).await;
        }
    }
    let key = read(headers).map_err(|cause| Refused::Unauthenticated { cause })?;
    keys.identify(&key, now).await.map_err(|error| match error {
        Unidentified::BadKey(cause) => Refused::Unauthenticated { cause },
        Unidentified::StoreUnavailable(cause) => Refused::StoreUnavailable { cause },
    })
}

/// Exactly one `Authorization: Bearer <key>`; the scheme in any case, spaces around the key.
fn read(headers: &Headers) -> Result<KeyText<'_>, &'static str> {
    let mut all = headers.all(AUTHORIZATION);
    let (Some(value), None) = (all.next(), all.next()) else {
        return Err("not one Authorization header");
    };
    let text = std::str::from_utf8(value).map_err(|_| "Authorization is not text")?;
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
    use http::{HeaderMap, HeaderValue};

    fn with(values: &[&str]) -> Headers {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        Headers::from(&headers)
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
