//! The response of the edge timeout, which ends a call that was held open for too long.
//!
//! It has no error envelope: proxies on the way send the same page, and clients treat a body that is not JSON as a
//! transport failure.

use crate::body::Body;
use http::{HeaderValue, Response, StatusCode, header};

const PAGE: &str = "<html><body><h1>504 Gateway Time-out</h1></body></html>";

pub fn response<R>() -> Response<Body<R>> {
    let mut response = Response::new(Body::from(PAGE));
    *response.status_mut() = StatusCode::GATEWAY_TIMEOUT;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
    response
}
