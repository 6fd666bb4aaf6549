//! The console's files, and its one page for every address of the console.
//!
//! Paths under `/api` and `/v1` belong to other surfaces, which have their own 404.

mod choose;
mod files;

use crate::surface::Body;
use choose::{Encoding, SiteRoute, choose};
use files::File;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};

/// Scripts only from this origin, never inline. The component library writes style elements, so those are allowed, but
/// style attributes are not. Nothing is loaded from elsewhere, and the console cannot be framed.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; style-src-attr 'none'; \
    img-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// Names of files below `assets/` hold a hash of their content.
const FOREVER: &str = "public, max-age=31536000, immutable";
const REVALIDATE: &str = "no-cache";
const NOT_BUILT: &str = include_str!("not_built.html");

/// The console's response; `None` if the request is not for the console.
pub(crate) fn respond(method: &Method, path: &str, headers: &HeaderMap) -> Option<Response<Body>> {
    let accept = text(headers, header::ACCEPT);
    match choose(method, path, accept, |name| files::find(name).is_some()) {
        SiteRoute::Other => None,
        SiteRoute::File(name) => Some(send(name, StatusCode::OK, headers)),
        SiteRoute::Page(status) => Some(send("index.html", status, headers)),
    }
}

fn send(name: &str, status: StatusCode, headers: &HeaderMap) -> Response<Body> {
    let encoding = Encoding::of(text(headers, header::ACCEPT_ENCODING).unwrap_or(""));
    let compressed =
        encoding.and_then(|encoding| Some((encoding, files::find(&format!("{name}.{}", encoding.suffix()))?)));
    let (file, encoding) = match compressed {
        Some((encoding, file)) => (Some(file), Some(encoding)),
        None => (files::find(name), None),
    };
    let file = file.unwrap_or_else(|| File::fixed(NOT_BUILT));
    let tag = file.tag();
    let is_cached =
        status == StatusCode::OK && text(headers, header::IF_NONE_MATCH).is_some_and(|tags| tags.contains(&tag));
    let mut response = Response::new(if is_cached { Body::empty() } else { Body::from(file.bytes) });
    *response.status_mut() = if is_cached { StatusCode::NOT_MODIFIED } else { status };
    put_headers(response.headers_mut(), name, &tag, encoding.filter(|_| !is_cached));
    response
}

fn put_headers(headers: &mut HeaderMap, name: &str, tag: &str, encoding: Option<Encoding>) {
    let cache = if name.starts_with("assets/") { FOREVER } else { REVALIDATE };
    for (header, value) in [
        (header::CONTENT_TYPE, media_type(name)),
        (header::CACHE_CONTROL, cache),
        (header::VARY, "accept-encoding"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(header, HeaderValue::from_static(value));
    }
    headers.insert(header::ETAG, HeaderValue::from_str(tag).expect("a hash consists of hexadecimal digits"));
    if let Some(encoding) = encoding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding.name()));
    }
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

fn text(headers: &HeaderMap, name: http::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}
