//! An answer, and what is said beside its own headers.
//!
//! HTTP/1 writes these lines into a head as they are; to keep them in a map of headers on the way would cost more than
//! to make them.

use super::body::Body;
use super::rate_limit_lines;
use domain::RequestId;
use domain::limits::RateLimitStatus;
use http::{HeaderName, HeaderValue, Response};

pub(crate) struct Answered {
    pub response: Response<Body>,
    /// Lines that are the same in many answers, each with its end.
    pub lines: &'static str,
    /// Our name for the request.
    pub id: Option<RequestId>,
    /// What is left of the caller's limits by the minute.
    pub standings: Option<RateLimitStatus>,
}

impl From<Response<Body>> for Answered {
    fn from(response: Response<Body>) -> Self {
        Self { response, lines: "", id: None, standings: None }
    }
}

impl Answered {
    /// Lines of a head, each with its end.
    pub(super) fn write_lines(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.lines.as_bytes());
        if let Some(standings) = &self.standings {
            rate_limit_lines::write(out, standings);
        }
        if let Some(id) = &self.id {
            out.extend_from_slice(b"x-request-id: ");
            out.extend_from_slice(id.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
    }

    /// The same with headers in their map.
    pub(super) fn into_response(mut self) -> Response<Body> {
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
        self.response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Timestamp;
    use domain::limits::LimitStatus;

    #[test]
    fn both_ways_of_saying_it_say_the_same() {
        let standing = LimitStatus { limit: 60, remaining: 59, reset_millis: 61_000 };
        let answered = Answered {
            response: Response::new(Body::empty()),
            lines: "content-type: text/plain\r\n",
            id: Some(RequestId::new(Timestamp::from_millis(1_700_000_000_000), 7)),
            standings: Some(RateLimitStatus { requests: standing, tokens: standing }),
        };
        let mut lines = Vec::new();
        answered.write_lines(&mut lines);
        let mut lines: Vec<_> = str::from_utf8(&lines).unwrap().lines().map(str::to_owned).collect();
        assert_eq!((lines.len(), lines[3].as_str()), (8, "x-ratelimit-reset-requests: 1m1s"));
        let response = answered.into_response();
        let headers = response.headers().iter();
        let mut mapped: Vec<_> = headers.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        lines.sort();
        mapped.sort();
        assert_eq!(mapped, lines);
    }
}
