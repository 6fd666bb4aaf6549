//! Parses the head of a request.
//!
//! Ambiguous heads are rejected: a proxy in front might have read them differently (request smuggling).

use crate::framing::Framing;
use crate::headers::{HeaderLine, Headers, RequestHead, content_length};
use bytes::Bytes;
use http::{Method, StatusCode, Uri};
use httparse::Status;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Longest head, in bytes.
pub(crate) const MAX_REQUEST_HEAD: usize = 64 << 10;
/// Most headers in a head.
const MAX_REQUEST_HEADERS: usize = 100;

/// A request whose head has arrived completely.
pub(crate) struct ReceivedRequest {
    pub(crate) head: RequestHead,
    pub(crate) is_http10: bool,
    pub(crate) framing: Framing,
    /// The body, if all of it has arrived.
    pub(crate) body: Option<Bytes>,
    /// The client may send another request on this connection.
    pub(crate) keep_alive: bool,
    /// The client waits for `100 Continue` before it sends the body.
    pub(crate) expects_continue: bool,
}

/// Why a head was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RequestHeadError {
    #[error("the head is malformed or ambiguous")]
    Malformed,
    #[error("the head is too large")]
    TooLarge,
    #[error("the HTTP version is not supported")]
    UnsupportedVersion,
    #[error("the head did not arrive in time")]
    TooSlow,
    /// The budget for incomplete heads is used up.
    #[error("too many incomplete heads")]
    NoRoom,
}

impl RequestHeadError {
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Malformed => StatusCode::BAD_REQUEST,
            Self::TooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::UnsupportedVersion => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::NoRoom => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl ReceivedRequest {
    /// Whether the head may end in `last`, the newest part of `all`. Saves parsing the head again for every byte.
    pub(crate) fn may_end(all: &[u8], last: &[u8]) -> bool {
        memchr::memchr(b'\n', last).is_some() || all.len() > MAX_REQUEST_HEAD
    }

    /// Parses a request and returns it with the number of bytes it takes; `None` until the whole head has arrived.
    pub(crate) fn parse(arrived: &[u8]) -> Result<Option<(Self, usize)>, RequestHeadError> {
        if has_blank_start(arrived) {
            return Err(RequestHeadError::Malformed);
        }
        let mut slots = [const { MaybeUninit::uninit() }; MAX_REQUEST_HEADERS];
        let mut request = httparse::Request::new(&mut []);
        let parsed = request.parse_with_uninit_headers(arrived, &mut slots).map_err(|error| match error {
            httparse::Error::TooManyHeaders => RequestHeadError::TooLarge,
            httparse::Error::Version => RequestHeadError::UnsupportedVersion,
            _ => RequestHeadError::Malformed,
        })?;
        let length = match parsed {
            Status::Complete(length) if length <= MAX_REQUEST_HEAD => length,
            Status::Partial if arrived.len() <= MAX_REQUEST_HEAD => return Ok(None),
            Status::Complete(_) | Status::Partial => return Err(RequestHeadError::TooLarge),
        };
        if has_bare_line_feed(&arrived[..length]) {
            return Err(RequestHeadError::Malformed);
        }
        let connection = ConnectionHeaders::of(&request)?;
        let framing = connection.framing()?;
        let body = match framing {
            Framing::Length(body) => usize::try_from(body).ok().filter(|body| *body <= arrived.len() - length),
            Framing::Chunked(_) | Framing::UntilClose => None,
        };
        let end = length + body.unwrap_or(0);
        // Head and body share one copy of the bytes.
        let copy = Bytes::copy_from_slice(&arrived[..end]);
        let range_of = |slice: &[u8]| {
            let start = slice.as_ptr().addr() - arrived.as_ptr().addr();
            start as u32..(start + slice.len()) as u32
        };
        let request = Self {
            head: head(&request, &copy, range_of)?,
            is_http10: connection.is_http10,
            framing,
            body: body.map(|_| copy.slice(length..)),
            keep_alive: connection.keep_alive && !connection.closes && request.method != Some("CONNECT"),
            expects_continue: connection.expects_continue,
        };
        Ok(Some((request, end)))
    }
}

/// Whether more than one empty line, or a bare line feed, precedes the request line (RFC 9112, section 2.2). The parser
/// would skip any number of them.
fn has_blank_start(arrived: &[u8]) -> bool {
    match arrived.strip_prefix(b"\r\n") {
        Some(rest) => matches!(rest.first(), Some(b'\r' | b'\n')),
        None => arrived.first() == Some(&b'\n'),
    }
}

/// Whether a line ends without a carriage return. The parser accepts that; a proxy in front may not, and would see other
/// headers. Without a branch per byte, so that it compiles to vector instructions.
fn has_bare_line_feed(head: &[u8]) -> bool {
    let pairs = head.iter().zip(head.iter().skip(1));
    pairs.fold(false, |found, (before, byte)| found | ((*byte == b'\n') & (*before != b'\r')))
}

/// Builds the head; `range_of` returns the position of a part of the request in `copy`.
fn head(
    request: &httparse::Request<'_, '_>,
    copy: &Bytes,
    range_of: impl Fn(&[u8]) -> Range<u32>,
) -> Result<RequestHead, RequestHeadError> {
    let target = range_of(request.path.unwrap_or_default().as_bytes());
    let target = copy.slice(target.start as usize..target.end as usize);
    let lines = request.headers.iter();
    let lines =
        lines.map(|header| HeaderLine { name: range_of(header.name.as_bytes()), value: range_of(header.value) });
    Ok(RequestHead {
        method: method(request.method.unwrap_or_default())?,
        uri: Uri::from_maybe_shared(target).map_err(|_| RequestHeadError::Malformed)?,
        headers: Headers::new(copy.clone(), lines.collect()),
    })
}

/// `POST` first: nearly all requests use it.
fn method(text: &str) -> Result<Method, RequestHeadError> {
    if text == "POST" {
        Ok(Method::POST)
    } else {
        Method::from_bytes(text.as_bytes()).map_err(|_| RequestHeadError::Malformed)
    }
}

/// Headers that concern the connection and the end of the body.
#[derive(Default)]
struct ConnectionHeaders {
    is_http10: bool,
    keep_alive: bool,
    /// `Connection: close` was present, or a `Connection` that cannot be read; both win over `keep-alive`.
    closes: bool,
    expects_continue: bool,
    has_host: bool,
    is_chunked: bool,
    length: Option<u64>,
}

impl ConnectionHeaders {
    fn of(request: &httparse::Request<'_, '_>) -> Result<Self, RequestHeadError> {
        let is_http10 = request.version == Some(0);
        let mut found = Self { is_http10, keep_alive: !is_http10, ..Self::default() };
        for header in request.headers.iter() {
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            // The length is compared first, since most headers are none of these.
            match header.name.len() {
                4 if is("host") && std::mem::replace(&mut found.has_host, true) => {
                    return Err(RequestHeadError::Malformed);
                }
                6 if is("expect") => {
                    found.expects_continue = !is_http10 && header.value.eq_ignore_ascii_case(b"100-continue");
                }
                10 if is("connection") => found.read_connection(header.value),
                14 if is("content-length") => {
                    let length = content_length(header.value).ok_or(RequestHeadError::Malformed)?;
                    if found.length.replace(length).is_some_and(|before| before != length) {
                        return Err(RequestHeadError::Malformed);
                    }
                }
                17 if is("transfer-encoding") => {
                    if found.is_chunked || !header.value.eq_ignore_ascii_case(b"chunked") {
                        return Err(RequestHeadError::Malformed);
                    }
                    found.is_chunked = true;
                }
                _ => {}
            }
        }
        if found.has_host || is_http10 { Ok(found) } else { Err(RequestHeadError::Malformed) }
    }

    /// Options are tokens, which are ASCII (RFC 9110, section 7.6.1). With any other byte it is unknown what the client
    /// meant, and closing is safe.
    fn read_connection(&mut self, value: &[u8]) {
        self.closes |= !value.is_ascii();
        for word in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            if word.eq_ignore_ascii_case(b"close") {
                self.closes = true;
            } else if word.eq_ignore_ascii_case(b"keep-alive") {
                self.keep_alive = true;
            }
        }
    }

    fn framing(&self) -> Result<Framing, RequestHeadError> {
        match (self.is_chunked, self.length) {
            (false, length) => Ok(Framing::Length(length.unwrap_or(0))),
            (true, None) if !self.is_http10 => Ok(Framing::CHUNKED),
            (true, _) => Err(RequestHeadError::Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: impl AsRef<[u8]>) -> Result<Option<ReceivedRequest>, RequestHeadError> {
        ReceivedRequest::parse(text.as_ref()).map(|parsed| parsed.map(|(request, _)| request))
    }

    fn with(headers: &str) -> Result<ReceivedRequest, RequestHeadError> {
        parse(format!("POST /v1/x?y=1 HTTP/1.1\r\nHost: h\r\n{headers}\r\n")).map(Option::unwrap)
    }

    #[test]
    fn a_head_is_parsed_once_it_is_complete() {
        let text = "POST /v1/x?y=1 HTTP/1.1\r\nHost: h\r\nX-Two: a\r\nx-two: b\r\nContent-Length: 3\r\n\r\nabcGET";
        let end = text.find("abc").unwrap();
        for cut in 0..end {
            assert!(parse(&text[..cut]).unwrap().is_none(), "{cut}");
        }
        let (request, used) = ReceivedRequest::parse(text.as_bytes()).unwrap().unwrap();
        assert_eq!((&request.head.method, request.head.uri.to_string()), (&Method::POST, "/v1/x?y=1".to_owned()));
        assert_eq!(request.head.headers.texts("x-two").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((request.framing, request.keep_alive), (Framing::Length(3), true));
        assert_eq!((request.body.as_deref(), &text[used..]), (Some(&b"abc"[..]), "GET"));
        let (request, used) = ReceivedRequest::parse(&text.as_bytes()[..end + 2]).unwrap().unwrap();
        assert_eq!((request.body, used), (None, end), "the body is incomplete");
    }

    #[test]
    fn keep_alive_follows_the_version_and_the_connection_header() {
        for (version, connection, keep_alive) in [
            ("1.1", "", true),
            ("1.1", "connection: Upgrade, Close\r\n", false),
            ("1.1", "connection: close, keep-alive\r\n", false),
            ("1.0", "", false),
            ("1.0", "connection: Keep-Alive\r\n", true),
            ("1.0", "connection: keep-alive, \u{e9}\r\n", false),
            ("1.1", "connection: \u{e9}\r\n", false),
        ] {
            let head = parse(format!("GET / HTTP/{version}\r\nHost: h\r\n{connection}\r\n")).unwrap().unwrap();
            assert_eq!(head.keep_alive, keep_alive, "{version} {connection}");
        }
    }

    #[test]
    fn a_body_has_one_length_or_is_chunked() {
        assert_eq!(with("content-length: 5\r\ncontent-length: 5\r\n").unwrap().framing, Framing::Length(5));
        assert_eq!(with("transfer-encoding: Chunked\r\n").unwrap().framing, Framing::CHUNKED);
        assert_eq!(with("").unwrap().framing, Framing::Length(0));
        assert!(with("expect: 100-Continue\r\ncontent-length: 5\r\n").unwrap().expects_continue);
        let old = parse("POST / HTTP/1.0\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n");
        assert!(!old.unwrap().unwrap().expects_continue, "HTTP/1.0 has no 100 Continue");
    }

    #[test]
    fn ambiguous_heads_are_rejected() {
        for bad in [
            "content-length: 5\r\ncontent-length: 6\r\n",
            "content-length: 5, 5\r\n",
            "content-length: +5\r\n",
            "content-length: 0x5\r\n",
            "content-length: \r\n",
            "content-length: 99999999999999999999\r\n",
            "content-length: 5\r\ntransfer-encoding: chunked\r\n",
            "transfer-encoding: gzip, chunked\r\n",
            "transfer-encoding: identity\r\n",
            "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n",
            "transfer-encoding : chunked\r\n",
            "content-length: 5\r\n folded: 1\r\n",
            "no colon\r\n",
            "x\u{0}y: 1\r\n",
            "x: a\u{0}b\r\n",
        ] {
            assert!(with(bad).is_err(), "{bad:?}");
        }
        let old = parse("POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n");
        assert_eq!(old.err(), Some(RequestHeadError::Malformed), "HTTP/1.0 has no chunks");
        for bad in
            ["GARBAGE\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n", "GET /\u{1} HTTP/1.1\r\n\r\n", "G\u{e9}T / HTTP/1.1\r\n\r\n"]
        {
            assert_eq!(parse(bad).err(), Some(RequestHeadError::Malformed), "{bad:?}");
        }
        assert_eq!(parse("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").err(), Some(RequestHeadError::UnsupportedVersion));
    }

    #[test]
    fn a_line_ends_with_both_characters() {
        for bad in [
            "GET / HTTP/1.1\nHost: h\n\n",
            "GET / HTTP/1.1\nHost: h\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\nx: 1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nx: 1 \n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\n\n",
            "\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
        ] {
            assert_eq!(parse(bad).err(), Some(RequestHeadError::Malformed), "{bad:?}");
        }
    }

    #[test]
    fn at_most_one_empty_line_precedes_a_request() {
        let request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
        for cut in 0..request.len() {
            assert!(parse(format!("\r\n{}", &request[..cut])).unwrap().is_none(), "{cut}");
        }
        assert!(parse(format!("\r\n{request}")).unwrap().is_some());
        for bad in ["\r\n\r\n", "\r\n\n", "\n\r\n"] {
            assert_eq!(parse(format!("{bad}{request}")).err(), Some(RequestHeadError::Malformed), "{bad:?}");
        }
        assert!(parse("\r").unwrap().is_none(), "its end may follow");
    }

    #[test]
    fn http_1_1_needs_exactly_one_host() {
        assert_eq!(parse("GET / HTTP/1.1\r\n\r\n").err(), Some(RequestHeadError::Malformed));
        assert_eq!(with("host: other\r\n").err(), Some(RequestHeadError::Malformed));
        assert!(parse("GET / HTTP/1.0\r\n\r\n").is_ok_and(|request| request.is_some()));
        assert_eq!(parse("GET / HTTP/1.0\r\nhost: h\r\nhost: h\r\n\r\n").err(), Some(RequestHeadError::Malformed));
    }

    #[test]
    fn the_size_of_a_head_is_limited() {
        let padding = "a".repeat(MAX_REQUEST_HEAD);
        assert_eq!(parse(format!("GET / HTTP/1.1\r\nx: {padding}")).err(), Some(RequestHeadError::TooLarge));
        assert_eq!(parse(format!("GET / HTTP/1.1\r\nx: {padding}\r\n\r\n")).err(), Some(RequestHeadError::TooLarge));
        let many = "x: 1\r\n".repeat(MAX_REQUEST_HEADERS + 1);
        assert_eq!(parse(format!("GET / HTTP/1.1\r\n{many}\r\n")).err(), Some(RequestHeadError::TooLarge));
    }
}
