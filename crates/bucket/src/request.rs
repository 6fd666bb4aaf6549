//! Writes a signed request.

use crate::BucketConfig;
use crate::signature::{self, Unsigned};
use bytes::{BufMut, Bytes, BytesMut};
use domain::Timestamp;
use http1::client::Request;
use outbound::Address;

/// What is done with an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Put,
    Delete,
}

impl Method {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// A request for the object `name`, whose characters need no escapes.
pub(crate) fn encode(
    config: &BucketConfig,
    address: &Address,
    now: Timestamp,
    method: Method,
    name: &str,
    body: &Bytes,
) -> Request {
    let BucketConfig { location, credentials } = config;
    let path = format!("{}{name}", location.path);
    let moment = signature::moment(now);
    let payload = signature::hash(body);
    let mut headers = vec![
        ("host", address.authority.as_str()),
        ("x-amz-content-sha256", payload.as_str()),
        ("x-amz-date", moment.as_str()),
    ];
    if let Some(token) = &credentials.session_token {
        headers.push(("x-amz-security-token", token.as_str()));
    }
    let unsigned = Unsigned { method: method.as_str(), path: &path, query: "", headers: &headers, payload: &payload };
    let authorization = signature::authorization(&unsigned, credentials, &location.region, &moment);
    let mut start = BytesMut::with_capacity(1 << 10);
    start.put_slice(format!("{} {path} HTTP/1.1\r\n", method.as_str()).as_bytes());
    for (name, value) in headers.into_iter().chain([("authorization", authorization.as_str())]) {
        start.put_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    if method == Method::Put {
        start.put_slice(format!("content-length: {}\r\n", body.len()).as_bytes());
    }
    start.put_slice(b"\r\n");
    let rest = if body.is_empty() { Vec::new() } else { vec![body.clone()] };
    Request { start, rest }
}
