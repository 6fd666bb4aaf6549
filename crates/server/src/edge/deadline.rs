//! The edge timeout: what ends a call that was held open in vain.
//!
//! It is no error of a surface and has no envelope: proxies on the way answer just so, and clients treat a body that is
//! not JSON as a failure of transport.

use super::body::Body;
use http::{HeaderValue, Response, StatusCode, header};

const PAGE: &str = "<html><body><h1>504 Gateway Time-out</h1></body></html>";

pub(crate) fn answer() -> Response<Body> {
    let mut response = Response::new(Body::from(PAGE));
    *response.status_mut() = StatusCode::GATEWAY_TIMEOUT;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
    response
}
