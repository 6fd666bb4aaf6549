//! The cookie of a browser in which a user has signed in before. It stays when the session ends and gives no access:
//! wrong passwords from elsewhere do not lock out such a browser.

use crate::edge::session_cookie;
use crate::surface_context::SurfaceContext;
use control::known_origins;
use control::sessions::{ActiveSession, Origin};
use domain::Timestamp;
use domain::session::BrowserToken;
use http::{HeaderMap, HeaderValue};

const NAME: &str = "forebay_browser";
const NAME_ON_HTTPS: &str = "__Host-forebay_browser";

/// The token that a browser sends.
pub(crate) fn read(headers: &HeaderMap, secure: bool) -> Option<BrowserToken> {
    session_cookie::value(headers, name(secure)).and_then(BrowserToken::parse)
}

/// Records a sign-in. Returns the `Set-Cookie` value; `None` if it could not be recorded, which ends no sign-in.
pub(crate) async fn remember(
    context: &SurfaceContext,
    signed: &ActiveSession,
    origin: &Origin,
    now: Timestamp,
) -> Option<HeaderValue> {
    match known_origins::remember(&context.store, &signed.user.id, origin, now).await {
        Ok(token) => {
            let (secure, max_age_secs) = (context.is_https(), known_origins::BROWSER_MAX_AGE_SECS);
            Some(session_cookie::assemble(name(secure), token.reveal(), max_age_secs, secure))
        }
        Err(error) => {
            tracing::warn!(%error, "cannot record from where a user has signed in");
            None
        }
    }
}

const fn name(secure: bool) -> &'static str {
    if secure { NAME_ON_HTTPS } else { NAME }
}
