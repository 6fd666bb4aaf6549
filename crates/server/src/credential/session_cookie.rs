//! The session cookie: `forebay_session`, or `__Host-forebay_session` where browsers use https. They accept a cookie with
//! that prefix only from this very host and only over https, so no other host of the domain can plant one.

use domain::session::SessionToken;
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue, Method};

const NAME: &str = "forebay_session";
const NAME_ON_HTTPS: &str = "__Host-forebay_session";
const CSRF_HEADER: &str = "x-csrf-token";

/// The session that a browser sends. `None` if there are two different ones: one of them may have been injected.
pub(crate) fn read(headers: &HeaderMap, secure: bool) -> Option<SessionToken> {
    value(headers, name(secure)).and_then(SessionToken::parse)
}

/// The value of a cookie; `None` if there are two different ones.
pub(crate) fn value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut named = pairs.filter(|(found, _)| *found == name).map(|(_, value)| value);
    let first = named.next()?;
    named.all(|other| other == first).then_some(first)
}

const fn name(secure: bool) -> &'static str {
    if secure { NAME_ON_HTTPS } else { NAME }
}

/// Whether a request with a session is protected against cross-site forgery: one that changes something must carry the
/// session's CSRF token in a header, which other sites cannot send.
pub(crate) fn is_csrf_safe(method: &Method, headers: &HeaderMap, token: &SessionToken) -> bool {
    if method == Method::GET || method == Method::HEAD || method == Method::OPTIONS {
        return true;
    }
    let mut all = headers.get_all(CSRF_HEADER).iter();
    let (Some(only), None) = (all.next(), all.next()) else { return false };
    only.to_str().is_ok_and(|text| token.is_csrf(text))
}

/// A `Set-Cookie` value that stores the session for its maximum lifetime.
pub(crate) fn set(token: &SessionToken, max_age_secs: i64, secure: bool) -> HeaderValue {
    write(token.reveal(), max_age_secs, secure)
}

/// A `Set-Cookie` value that deletes the session.
pub(crate) fn clear(secure: bool) -> HeaderValue {
    write("", 0, secure)
}

fn write(value: &str, max_age_secs: i64, secure: bool) -> HeaderValue {
    assemble(name(secure), value, max_age_secs, secure)
}

/// A `Set-Cookie` value for the whole site that scripts cannot read. The value consists of letters and digits.
pub(crate) fn assemble(name: &str, value: &str, max_age_secs: i64, secure: bool) -> HeaderValue {
    let secure = if secure { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={max_age_secs}{secure}");
    HeaderValue::from_str(&text).expect("letters and digits need no escapes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(lines: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(COOKIE, HeaderValue::from_str(line).unwrap());
        }
        read(&headers, false).map(|token| token.reveal().to_owned())
    }

    #[test]
    fn one_session_is_read_among_other_cookies() {
        let (one, other) = ("a".repeat(43), "b".repeat(43));
        let cookie = |value: &str| format!("forebay_session={value}");
        for good in [
            vec![cookie(&one)],
            vec![format!("theme=dark; {}; x=y", cookie(&one))],
            vec!["theme=dark".to_owned(), cookie(&one)],
            vec![format!("{0};{0}", cookie(&one))],
        ] {
            assert_eq!(reads(&good.iter().map(String::as_str).collect::<Vec<_>>()).as_ref(), Some(&one), "{good:?}");
        }
        let injected = format!("{}; {}", cookie(&one), cookie(&other));
        for bad in ["", "forebay_session", "forebay_session=", "xforebay_session=abc", &cookie("short"), &injected] {
            assert_eq!(reads(&[bad]), None, "{bad}");
        }
    }

    #[test]
    fn a_cookie_is_hidden_from_scripts_and_from_plain_http_if_https_is_used() {
        let token = SessionToken::parse(&"a".repeat(43)).unwrap();
        let cookie = set(&token, 60, true);
        let (pair, rest) = cookie.to_str().unwrap().split_once("; ").unwrap();
        assert_eq!(rest, "Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure");
        let headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(pair).unwrap())]);
        assert!(read(&headers, true).is_some());
        let planted = HeaderValue::from_str(pair.trim_start_matches("__Host-")).unwrap();
        assert!(read(&HeaderMap::from_iter([(COOKIE, planted)]), true).is_none(), "another host may have planted it");
        assert_eq!(clear(false).to_str().unwrap(), "forebay_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0");
    }
}
