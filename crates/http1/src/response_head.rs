//! Parses the head of a response.

use crate::framing::Framing;
use crate::headers::content_length;
use bytes::{Buf, BytesMut};
use http::StatusCode;
use httparse::Status;
use std::borrow::Cow;
use std::mem::MaybeUninit;

/// Longest head in bytes, and most headers in it.
const MAX_HEAD: usize = 64 << 10;
pub(crate) const MAX_HEADERS: usize = 128;

/// The parts of a response head that a client acts on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    pub status: StatusCode,
    /// The media type without its parameters.
    pub media_type: Cow<'static, str>,
    /// The body has a `Content-Encoding` other than `identity`.
    pub is_encoded: bool,
    pub retry_after_secs: Option<u64>,
    pub framing: Framing,
    /// The connection can be used for another request.
    pub keep_alive: bool,
}

/// The bytes are not a response that this client understands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("malformed HTTP response: {0}")]
pub struct ResponseHeadError(&'static str);

impl ResponseHead {
    pub fn is_event_stream(&self) -> bool {
        self.media_type.eq_ignore_ascii_case("text/event-stream")
    }

    /// Takes a head off `input`; `None` until all of it has arrived. Interim (1xx) responses are skipped.
    pub fn take(input: &mut BytesMut) -> Result<Option<Self>, ResponseHeadError> {
        Self::take_with(input, |_| {})
    }

    /// Like [`Self::take`]; `each` sees every header.
    pub(crate) fn take_with(
        input: &mut BytesMut,
        mut each: impl FnMut(&httparse::Header<'_>),
    ) -> Result<Option<Self>, ResponseHeadError> {
        loop {
            let Some((head, length)) = Self::parse_with(input, &mut each)? else { return Ok(None) };
            input.advance(length);
            if !head.status.is_informational() {
                return Ok(Some(head));
            }
            if head.status == StatusCode::SWITCHING_PROTOCOLS {
                return Err(ResponseHeadError("unexpected protocol switch"));
            }
        }
    }

    /// Parses a head, interim or final, and returns it with its length; `None` until all of it has arrived.
    pub fn parse(input: &[u8]) -> Result<Option<(Self, usize)>, ResponseHeadError> {
        Self::parse_with(input, &mut |_| {})
    }

    fn parse_with(
        input: &[u8],
        each: &mut impl FnMut(&httparse::Header<'_>),
    ) -> Result<Option<(Self, usize)>, ResponseHeadError> {
        let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut []);
        let parser = httparse::ParserConfig::default();
        let length = match parser.parse_response_with_uninit_headers(&mut response, input, &mut headers) {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) if input.len() > MAX_HEAD => return Err(ResponseHeadError("the head is too long")),
            Ok(Status::Partial) => return Ok(None),
            Err(_) => return Err(ResponseHeadError("the head cannot be parsed")),
        };
        let status = response
            .code
            .and_then(|code| StatusCode::from_u16(code).ok())
            .ok_or(ResponseHeadError("invalid status"))?;
        let mut head = Self {
            status,
            media_type: Cow::Borrowed(""),
            is_encoded: false,
            retry_after_secs: None,
            framing: Framing::UntilClose,
            keep_alive: response.version == Some(1),
        };
        let mut body_length = None;
        let mut is_chunked = false;
        for header in response.headers.iter() {
            head.read_header(header, &mut body_length, &mut is_chunked)?;
            if !status.is_informational() {
                each(header);
            }
        }
        head.framing = match body_length {
            _ if status == StatusCode::NO_CONTENT || status == StatusCode::NOT_MODIFIED => Framing::Length(0),
            _ if is_chunked => Framing::CHUNKED,
            Some(length) => Framing::Length(length),
            None => Framing::UntilClose,
        };
        // With both, or with chunks in HTTP/1.0, another reader may see the body end elsewhere: what follows on this
        // connection cannot be trusted (RFC 9112, section 6.1).
        let is_ambiguous = is_chunked && (body_length.is_some() || response.version == Some(0));
        head.keep_alive &= head.framing != Framing::UntilClose && !is_ambiguous;
        Ok(Some((head, length)))
    }

    fn read_header(
        &mut self,
        header: &httparse::Header<'_>,
        length: &mut Option<u64>,
        is_chunked: &mut bool,
    ) -> Result<(), ResponseHeadError> {
        let text = || std::str::from_utf8(header.value).unwrap_or("").trim();
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        // The length is compared first, since most headers are none of these.
        match header.name.len() {
            10 if is("connection") => {
                for word in text().split(',').map(str::trim) {
                    if word.eq_ignore_ascii_case("close") {
                        self.keep_alive = false;
                    } else if word.eq_ignore_ascii_case("keep-alive") {
                        self.keep_alive = true;
                    }
                }
            }
            11 if is("retry-after") => self.retry_after_secs = text().parse().ok(),
            12 if is("content-type") => {
                self.media_type = match text().split(';').next().unwrap_or("").trim() {
                    "application/json" => Cow::Borrowed("application/json"),
                    "text/event-stream" => Cow::Borrowed("text/event-stream"),
                    other => Cow::Owned(other.to_owned()),
                };
            }
            14 if is("content-length") => {
                let value = content_length(header.value).ok_or(ResponseHeadError("invalid Content-Length"))?;
                if length.replace(value).is_some_and(|before| before != value) {
                    return Err(ResponseHeadError("conflicting Content-Length headers"));
                }
            }
            16 if is("content-encoding") => self.is_encoded = !text().eq_ignore_ascii_case("identity"),
            17 if is("transfer-encoding") => {
                if *is_chunked || !text().eq_ignore_ascii_case("chunked") {
                    return Err(ResponseHeadError("unsupported Transfer-Encoding"));
                }
                *is_chunked = true;
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<ResponseHead>, ResponseHeadError> {
        ResponseHead::take(&mut BytesMut::from(text))
    }

    #[test]
    fn relevant_headers_are_parsed_and_the_others_skipped() {
        let head = read(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Busy\r\nServer: x\r\nContent-Type: Application/JSON; charset=utf-8\r\n\
             Retry-After: 7\r\nContent-Length: 12\r\nConnection: close\r\n\r\n",
        );
        let head = head.unwrap().unwrap();
        assert_eq!((head.status.as_u16(), &*head.media_type), (503, "Application/JSON"));
        assert_eq!((head.retry_after_secs, head.framing, head.keep_alive), (Some(7), Framing::Length(12), false));
        let head = read("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n");
        let head = head.unwrap().unwrap();
        assert!(head.is_event_stream() && head.keep_alive && head.framing == Framing::CHUNKED);
    }

    #[test]
    fn a_body_without_a_length_ends_with_the_connection() {
        let head = read("HTTP/1.1 200 OK\r\n\r\n").unwrap().unwrap();
        assert_eq!((head.framing, head.keep_alive), (Framing::UntilClose, false));
        let old = read("HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\n").unwrap().unwrap();
        assert!(!old.keep_alive);
        assert_eq!(read("HTTP/1.1 200 OK\r\ncontent-len"), Ok(None));
    }

    #[test]
    fn a_connection_is_not_reused_after_a_response_with_a_length_and_chunks() {
        let (length, chunks) = ("content-length: 5\r\n", "transfer-encoding: chunked\r\n");
        for headers in [[length, chunks], [chunks, length]] {
            let text = format!("HTTP/1.1 200 OK\r\nconnection: keep-alive\r\n{}\r\n", headers.concat());
            let head = read(&text).unwrap().unwrap();
            assert_eq!((head.framing, head.keep_alive), (Framing::CHUNKED, false), "{text}");
        }
        let old = read(&format!("HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n{chunks}\r\n")).unwrap().unwrap();
        assert_eq!((old.framing, old.keep_alive), (Framing::CHUNKED, false), "HTTP/1.0 has no chunks");
    }

    #[test]
    fn malformed_responses_are_rejected() {
        for bad in [
            "hello\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: +5\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: \r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
            "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert!(read(&format!("HTTP/1.1 200 OK\r\nx: {}", "a".repeat(MAX_HEAD))).is_err());
    }
}
