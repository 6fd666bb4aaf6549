//! A response with the headers that the edge adds.
//!
//! HTTP/1 writes these headers directly into the head; inserting them into a header map first would cost more than
//! formatting them.

use crate::backlog::ResponseBacklog;
use crate::body::{Body, Relayed};
use crate::rate_limit_headers;
use domain::limits::RateLimitStatus;
use domain::{RequestId, Timestamp};
use http::{HeaderName, HeaderValue, Response};
use http1::server::HandlerResponse;

pub struct EdgeResponse<R> {
    pub response: Response<Body<R>>,
    /// Constant header lines, each with its line end.
    pub lines: &'static str,
    pub request_id: Option<RequestId>,
    /// Remaining requests and tokens of the caller's per-minute limits.
    pub rate_limits: Option<RateLimitStatus>,
    /// The time of the response, if it also carries the headers of Anthropic's API.
    pub anthropic_at: Option<Timestamp>,
    /// Memory while the client does not keep up.
    pub backlog: ResponseBacklog,
}

impl<R> From<Response<Body<R>>> for EdgeResponse<R> {
    fn from(response: Response<Body<R>>) -> Self {
        let backlog = ResponseBacklog::default();
        Self { response, lines: "", request_id: None, rate_limits: None, anthropic_at: None, backlog }
    }
}

impl<R: Relayed> HandlerResponse for EdgeResponse<R> {
    type Body = Body<R>;
    type Backlog = ResponseBacklog;

    fn response(&self) -> &Response<Body<R>> {
        &self.response
    }

    fn response_mut(&mut self) -> &mut Response<Body<R>> {
        &mut self.response
    }

    fn into_parts(self) -> (Body<R>, ResponseBacklog) {
        (self.response.into_body(), self.backlog)
    }

    fn write_lines(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.lines.as_bytes());
        if let Some(rate_limits) = &self.rate_limits {
            rate_limit_headers::write(out, rate_limits);
            if let Some(now) = self.anthropic_at {
                rate_limit_headers::write_anthropic(out, rate_limits, now);
            }
        }
        if let Some(id) = &self.request_id {
            out.extend_from_slice(b"x-request-id: ");
            out.extend_from_slice(id.as_bytes());
            out.extend_from_slice(b"\r\n");
            if self.anthropic_at.is_some() {
                out.extend_from_slice(b"request-id: ");
                out.extend_from_slice(id.as_bytes());
                out.extend_from_slice(b"\r\n");
            }
        }
    }
}

impl<R: Relayed> EdgeResponse<R> {
    /// Converts to a response with all headers in the map, for HTTP/2.
    pub(crate) fn into_response(mut self) -> (Response<Body<R>>, ResponseBacklog) {
        let mut lines = Vec::new();
        self.write_lines(&mut lines);
        for line in lines.split(|byte| *byte == b'\n') {
            let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
            let name = HeaderName::from_bytes(&line[..colon]);
            let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
            if let (Ok(name), Ok(value)) = (name, value) {
                self.response.headers_mut().insert(name, value);
            }
        }
        (self.response, self.backlog)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use domain::limits::LimitStatus;
    use http_body_util::Empty;

    #[test]
    fn http1_and_http2_send_the_same_headers() {
        let bucket = LimitStatus { limit: 60, remaining: 59, reset_millis: 61_000 };
        let response = EdgeResponse::<Empty<Bytes>> {
            response: Response::new(Body::empty()),
            lines: "content-type: text/plain\r\n",
            request_id: Some(RequestId::new(Timestamp::from_millis(1_700_000_000_000), 7)),
            rate_limits: Some(RateLimitStatus { requests: bucket, tokens: bucket }),
            anthropic_at: Some(Timestamp::from_millis(1_700_000_000_000)),
            backlog: ResponseBacklog::default(),
        };
        let mut lines = Vec::new();
        response.write_lines(&mut lines);
        let mut lines: Vec<_> = str::from_utf8(&lines).unwrap().lines().map(str::to_owned).collect();
        assert_eq!((lines.len(), lines[3].as_str()), (15, "x-ratelimit-reset-requests: 1m1s"));
        assert_eq!(lines[9], "anthropic-ratelimit-requests-reset: 2023-11-14T22:14:21.000Z");
        let (response, _) = response.into_response();
        let headers = response.headers().iter();
        let mut mapped: Vec<_> = headers.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        lines.sort();
        mapped.sort();
        assert_eq!(mapped, lines);
    }
}
