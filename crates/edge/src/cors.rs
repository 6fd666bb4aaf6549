//! Cross-origin requests (CORS).

use crate::body::Body;
use crate::{Headers, RequestHead};
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Response, StatusCode};

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE, OPTIONS");
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "x-request-id, retry-after, x-ratelimit-limit-requests, x-ratelimit-limit-tokens, \
     x-ratelimit-remaining-requests, x-ratelimit-remaining-tokens, x-ratelimit-reset-requests, \
     x-ratelimit-reset-tokens",
);
const MAX_AGE: HeaderValue = HeaderValue::from_static("86400");

/// Origins whose pages may read responses.
#[derive(Debug, Clone, Default)]
pub struct Cors {
    origins: Vec<String>,
}

impl Cors {
    pub fn new(origins: Vec<String>) -> Self {
        Self { origins }
    }

    /// The origin of the request, if it is allowed.
    pub fn allowed(&self, headers: &Headers) -> Option<HeaderValue> {
        if self.origins.is_empty() {
            return None;
        }
        let origin = headers.get(header::ORIGIN)?;
        let is_allowed = self.origins.iter().any(|known| known == "*" || known.as_bytes() == origin);
        if is_allowed { HeaderValue::from_bytes(origin).ok() } else { None }
    }

    /// Whether this is a preflight request, which browsers send without credentials.
    pub fn is_preflight(head: &RequestHead) -> bool {
        head.method == Method::OPTIONS
            && head.headers.has(header::ORIGIN)
            && head.headers.has(header::ACCESS_CONTROL_REQUEST_METHOD)
    }

    pub fn preflight<R>(request: &Headers) -> Response<Body<R>> {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        // A star would not cover `authorization`, so the requested headers are echoed.
        let requested = request.get(header::ACCESS_CONTROL_REQUEST_HEADERS);
        if let Some(Ok(requested)) = requested.map(HeaderValue::from_bytes) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, requested);
        }
        response
    }

    /// Adds the CORS headers, to error responses too: a page that may not read a 401 sees a network error.
    pub fn add(headers: &mut HeaderMap, origin: HeaderValue) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
    }
}
