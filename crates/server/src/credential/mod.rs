//! Authentication under `/v1`: by API key or by session. If there is a header with a key, it alone decides.

mod session;
pub(crate) mod session_cookie;

use crate::surface_context::SurfaceContext;
use control::Author;
use dataplane::keys::{Credential, IdentifyError, KeyDirectory};
use domain::usage::Actor;
use domain::{Caller, KeyText, Permission, Timestamp};
use edge::Headers;
use edge::throttle::{Throttled, Throttles};
use http::Method;
use http::header::{AUTHORIZATION, COOKIE};
use std::net::IpAddr;
use std::sync::Arc;

/// The caller is unknown, or may not act here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CredentialError {
    /// The credential is bad in any way. Clients never learn how; the cause is for the log.
    #[error("Missing or invalid API key; send `Authorization: Bearer <key>`")]
    Unauthenticated { cause: &'static str },
    #[error("the credential cannot be checked right now; try again")]
    StoreUnavailable { cause: String },
    /// The address or the session sends too many requests.
    #[error(transparent)]
    Throttled(#[from] Throttled),
    /// A session that may not act here, or a key without the permission.
    #[error(transparent)]
    Forbidden(Forbidden),
    #[error("internal error")]
    Internal,
}

/// Why a session or a key may not act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Forbidden {
    #[error("the header X-CSRF-Token is missing or does not match the session")]
    CsrfFailed,
    #[error("the session has no current organization; choose one")]
    NoOrganizationContext,
    #[error("the session has no current workspace; send X-Workspace-Id")]
    NoWorkspaceContext,
    #[error("you are not a member of this workspace")]
    NotAMember,
    #[error("the key does not have the permission `{0}`; use another key, or change its permissions in the console")]
    PermissionDenied(Permission),
}

impl CredentialError {
    /// The cause, for the log only.
    pub(crate) fn cause(&self) -> Option<String> {
        match self {
            Self::Unauthenticated { cause } => Some((*cause).into()),
            Self::StoreUnavailable { cause } => Some(cause.clone()),
            Self::Throttled(_) | Self::Forbidden(_) | Self::Internal => None,
        }
    }
}

impl From<IdentifyError> for CredentialError {
    fn from(error: IdentifyError) -> Self {
        match error {
            IdentifyError::BadKey(cause) => Self::Unauthenticated { cause },
            IdentifyError::StoreUnavailable(cause) => Self::StoreUnavailable { cause },
        }
    }
}

/// The header of Anthropic's clients.
const X_API_KEY: &str = "x-api-key";

/// The headers that may carry an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyHeaders {
    Bearer,
    /// `x-api-key` too. If both are there, they must be the same key.
    BearerOrApiKey,
}

/// The caller of a request. `client` is asked for the client's address only if the credential is not in memory, or is valid
/// for some addresses only.
pub(crate) async fn identify(
    keys: &KeyDirectory,
    context: &Arc<SurfaceContext>,
    (method, headers): (&Method, &Headers),
    key_headers: KeyHeaders,
    client: impl Fn() -> IpAddr,
    now: Timestamp,
) -> Result<Arc<Caller>, CredentialError> {
    let has_api_key = key_headers == KeyHeaders::BearerOrApiKey && headers.has(X_API_KEY);
    if !headers.has(AUTHORIZATION) && !has_api_key && headers.has(COOKIE) {
        let map = headers.to_map();
        if let Some(token) = session_cookie::read(&map, context.is_https()) {
            return Box::pin(session::identify(context, method, map, token, client(), now)).await;
        }
    }
    let key = match if has_api_key { read_api_key(headers) } else { read(headers) } {
        Ok(key) => Credential::from(&key),
        Err(cause) => {
            context.throttles.count_credential(client())?;
            return Err(CredentialError::Unauthenticated { cause });
        }
    };
    let caller = match keys.cached(&key, now) {
        Some(caller) => caller,
        None => Box::pin(look_up(keys, &context.throttles, &key, client(), now)).await?,
    };
    match &caller.restrictions {
        Some(restrictions) if !restrictions.allows_address(client()) => {
            context.throttles.count_credential(client())?;
            Err(Box::pin(keys.reject_elsewhere(&key, client())).await.into())
        }
        Some(_) | None => Ok(caller),
    }
}

/// Checks that the caller's key may be used for this. Users in a session may do everything.
pub(crate) fn check_permission(caller: &Caller, permission: Permission) -> Result<(), CredentialError> {
    if caller.has(permission) {
        return Ok(());
    }
    Err(CredentialError::Forbidden(Forbidden::PermissionDenied(permission)))
}

/// The author of changes that the caller makes.
pub(crate) fn author(caller: &Caller, client: IpAddr) -> Author {
    let address = client.to_string();
    match &caller.actor {
        Actor::Key(id) => Author::Key { id: id.clone(), address },
        Actor::User(id) => Author::User { id: id.clone(), address },
    }
}

/// Looks a key up in the store. Credentials that are expected to be valid pass even if their address has sent too many
/// others, because clients may share an address.
async fn look_up(
    keys: &KeyDirectory,
    throttles: &Throttles,
    key: &Credential,
    client: IpAddr,
    now: Timestamp,
) -> Result<Arc<Caller>, CredentialError> {
    let is_expected = keys.is_expected(key);
    if !is_expected {
        throttles.count_credential(client)?;
    }
    let found = keys.look_up(key, client, now).await;
    match (is_expected, matches!(found, Err(IdentifyError::BadKey(_)))) {
        (true, true) => throttles.count_credential(client)?,
        (false, false) => throttles.forgive_credential(client),
        (true, false) | (false, true) => {}
    }
    Ok(found?)
}

/// Exactly one `x-api-key: <key>`, and nothing else in `Authorization` if that is there.
fn read_api_key(headers: &Headers) -> Result<KeyText<'_>, &'static str> {
    let mut all = headers.all(X_API_KEY);
    let (Some(value), None) = (all.next(), all.next()) else {
        return Err("not exactly one x-api-key header");
    };
    let text = std::str::from_utf8(value).map_err(|_| "x-api-key is not text")?.trim();
    if headers.has(AUTHORIZATION) && bearer(headers)? != text {
        return Err("x-api-key and Authorization differ");
    }
    KeyText::parse(text).ok_or("malformed key")
}

/// Exactly one `Authorization: Bearer <key>`; the scheme in any case, spaces around the key.
fn read(headers: &Headers) -> Result<KeyText<'_>, &'static str> {
    KeyText::parse(bearer(headers)?).ok_or("malformed key")
}

fn bearer(headers: &Headers) -> Result<&str, &'static str> {
    let mut all = headers.all(AUTHORIZATION);
    let (Some(value), None) = (all.next(), all.next()) else {
        return Err("not exactly one Authorization header");
    };
    let text = std::str::from_utf8(value).map_err(|_| "Authorization is not text")?;
    let (scheme, key) = text.trim().split_once(' ').ok_or("Authorization without scheme and key")?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err("scheme other than Bearer");
    }
    Ok(key.trim())
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
    fn exactly_one_bearer_header_is_accepted() {
        let key = format!("sk-abcdefghijkl-{}", "a".repeat(32));
        for good in [format!("Bearer {key}"), format!("bearer   {key}  "), format!("BEARER {key}")] {
            assert!(read(&with(&[&good])).is_ok(), "{good}");
        }
        let bearer = format!("Bearer {key}");
        for bad in [&["Bearer"][..], &["Bearer "], &[&key], &["Basic eDp5"], &[&bearer, &bearer], &["Bearer x"], &[]] {
            assert!(read(&with(bad)).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_api_key_header_must_agree_with_the_authorization() {
        let key = format!("sk-abcdefghijkl-{}", "a".repeat(32));
        let other = format!("sk-abcdefghijkl-{}", "b".repeat(32));
        let read = |api_keys: &[&str], bearer: Option<&str>| {
            let mut headers = HeaderMap::new();
            for value in api_keys {
                headers.append(X_API_KEY, HeaderValue::from_str(value).unwrap());
            }
            if let Some(key) = bearer {
                headers.append(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {key}")).unwrap());
            }
            read_api_key(&Headers::from(&headers)).is_ok()
        };
        assert!(read(&[&key], None) && read(&[&key], Some(&key)) && read(&[&format!(" {key} ")], None));
        assert!(!read(&[&key], Some(&other)) && !read(&[&key], Some("x")) && !read(&[&key, &key], None));
        assert!(!read(&["x"], None) && !read(&[""], None));
    }
}
