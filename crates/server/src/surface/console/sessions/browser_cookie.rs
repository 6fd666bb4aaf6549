//! The cookie of a browser in which a user has signed in before. It stays when the session ends and gives no access:
//! wrong passwords from elsewhere do not lock out such a browser.
//!
//! A sign-in sets the session's cookie only, because some clients expect one. This one comes with the next request for
//! the session.

use crate::credential::session_cookie;
use control::known_origins;
use control::sessions::{ActiveSession, Origin, SessionCommand};
use domain::session::BrowserToken;
use http::{HeaderMap, HeaderValue};

const NAME: &str = "forebay_browser";
const NAME_ON_HTTPS: &str = "__Host-forebay_browser";

/// The token that a browser sends.
pub(crate) fn read(headers: &HeaderMap, secure: bool) -> Option<BrowserToken> {
    session_cookie::value(headers, name(secure)).and_then(BrowserToken::parse)
}

/// Records a sign-in. A failure does not end it.
pub(crate) async fn remember(command: SessionCommand<'_>, signed: &ActiveSession) {
    if let Err(error) = known_origins::remember(command, signed).await {
        tracing::warn!(%error, "cannot record from where a user has signed in");
    }
}

/// The `Set-Cookie` value for the browser of a session; `None` if it has a token.
pub(crate) fn set(signed: &ActiveSession, origin: &Origin, secure: bool) -> Option<HeaderValue> {
    let max_age_secs = known_origins::BROWSER_MAX_AGE_SECS;
    let is_known = origin.browser.is_some();
    (!is_known).then(|| session_cookie::assemble(name(secure), signed.token.browser().reveal(), max_age_secs, secure))
}

const fn name(secure: bool) -> &'static str {
    if secure { NAME_ON_HTTPS } else { NAME }
}
