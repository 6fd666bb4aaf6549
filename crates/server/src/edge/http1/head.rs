//! The head of a request.
//!
//! What could be read in two ways is refused: a proxy before us might have read it in the other.

use crate::edge::headers::{Head, Headers, Line};
use bytes::Bytes;
use dataplane::framing::Framing;
use http::{Method, StatusCode, Uri};
use httparse::Status;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The longest head, and the most headers in it. Surfaces have bounds of their own below these.
const MAX_HEAD: usize = 64 << 10;
const MAX_HEADERS: usize = 100;

/// A request, perhaps but for its body.
pub(super) struct Arrived {
    pub head: Head,
    /// Of HTTP/1.0.
    pub is_old: bool,
    pub framing: Framing,
    /// If all of it is here.
    pub body: Option<Bytes>,
    /// The client can send another request behind this one.
    pub keep_alive: bool,
    /// It sends its body only when it is told to go on.
    pub expects_continue: bool,
}

/// A head that is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BadHead {
    Malformed,
    TooLarge,
    OtherVersion,
}

impl BadHead {
    pub(super) const fn status(self) -> StatusCode {
        match self {
            Self::Malformed => StatusCode::BAD_REQUEST,
            Self::TooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::OtherVersion => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
        }
    }
}

impl Arrived {
    /// Whether the end of a head can be in the last part of all that has arrived. A head is not read again for every byte.
    pub(super) fn may_end(all: &[u8], last: &[u8]) -> bool {
        memchr::memchr(b'\n', last).is_some() || all.len() > MAX_HEAD
    }

    /// Reads a request off what has arrived, and tells how much that was; `None` until all of the head is there.
    pub(super) fn read(arrived: &[u8]) -> Result<Option<(Self, usize)>, BadHead> {
        let mut slots = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut []);
        let parsed = request.parse_with_uninit_headers(arrived, &mut slots).map_err(|error| match error {
            httparse::Error::TooManyHeaders => BadHead::TooLarge,
            httparse::Error::Version => BadHead::OtherVersion,
            _ => BadHead::Malformed,
        })?;
        let length = match parsed {
            Status::Complete(length) if length <= MAX_HEAD => length,
            Status::Partial if arrived.len() <= MAX_HEAD => return Ok(None),
            Status::Complete(_) | Status::Partial => return Err(BadHead::TooLarge),
        };
        let noted = Noted::of(&request)?;
        let framing = noted.framing()?;
        let body = match framing {
            Framing::Length(body) => usize::try_from(body).ok().filter(|body| *body <= arrived.len() - length),
            Framing::Chunked(_) | Framing::UntilClose => None,
        };
        let end = length + body.unwrap_or(0);
        // One copy of all; head and body are parts of it.
        let copy = Bytes::copy_from_slice(&arrived[..end]);
        let place = |slice: &[u8]| {
            let start = slice.as_ptr().addr() - arrived.as_ptr().addr();
            start as u32..(start + slice.len()) as u32
        };
        let request = Self {
            head: head(&request, &copy, place)?,
            is_old: noted.is_old,
            framing,
            body: body.map(|_| copy.slice(length..)),
            keep_alive: noted.keep_alive && !noted.closes,
            expects_continue: noted.expects_continue,
        };
        Ok(Some((request, end)))
    }
}

/// `place` tells where in `copy` something stands.
fn head(
    request: &httparse::Request<'_, '_>,
    copy: &Bytes,
    place: impl Fn(&[u8]) -> Range<u32>,
) -> Result<Head, BadHead> {
    let target = place(request.path.unwrap_or_default().as_bytes());
    let target = copy.slice(target.start as usize..target.end as usize);
    let lines = request.headers.iter();
    let lines = lines.map(|header| Line { name: place(header.name.as_bytes()), value: place(header.value) });
    Ok(Head {
        method: method(request.method.unwrap_or_default())?,
        uri: Uri::from_maybe_shared(target).map_err(|_| BadHead::Malformed)?,
        headers: Headers::new(copy.clone(), lines.collect()),
    })
}

/// Nearly all calls are of this kind.
fn method(text: &str) -> Result<Method, BadHead> {
    if text == "POST" { Ok(Method::POST) } else { Method::from_bytes(text.as_bytes()).map_err(|_| BadHead::Malformed) }
}

/// What headers say about the connection.
#[derive(Default)]
struct Noted {
    is_old: bool,
    keep_alive: bool,
    /// Whatever else is said.
    closes: bool,
    expects_continue: bool,
    is_chunked: bool,
    length: Option<u64>,
}

impl Noted {
    fn of(request: &httparse::Request<'_, '_>) -> Result<Self, BadHead> {
        let is_old = request.version == Some(0);
        let mut noted = Self { is_old, keep_alive: !is_old, ..Self::default() };
        for header in request.headers.iter() {
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            // Names are told apart by their lengths first, since most headers are none of these.
            match header.name.len() {
                6 if is("expect") => {
                    noted.expects_continue = !is_old && header.value.eq_ignore_ascii_case(b"100-continue");
                }
                10 if is("connection") => noted.note_connection(header.value),
                14 if is("content-length") => {
                    let length = length(header.value)?;
                    if noted.length.replace(length).is_some_and(|before| before != length) {
                        return Err(BadHead::Malformed);
                    }
                }
                17 if is("transfer-encoding") => {
                    if noted.is_chunked || !header.value.eq_ignore_ascii_case(b"chunked") {
                        return Err(BadHead::Malformed);
                    }
                    noted.is_chunked = true;
                }
                _ => {}
            }
        }
        Ok(noted)
    }

    fn note_connection(&mut self, value: &[u8]) {
        for word in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            if word.eq_ignore_ascii_case(b"close") {
                self.closes = true;
            } else if word.eq_ignore_ascii_case(b"keep-alive") {
                self.keep_alive = true;
            }
        }
    }

    fn framing(&self) -> Result<Framing, BadHead> {
        match (self.is_chunked, self.length) {
            (false, length) => Ok(Framing::Length(length.unwrap_or(0))),
            (true, None) if !self.is_old => Ok(Framing::CHUNKED),
            (true, _) => Err(BadHead::Malformed),
        }
    }
}

/// Digits and nothing else.
fn length(text: &[u8]) -> Result<u64, BadHead> {
    if !text.iter().all(u8::is_ascii_digit) {
        return Err(BadHead::Malformed);
    }
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(BadHead::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(text: impl AsRef<[u8]>) -> Result<Option<Arrived>, BadHead> {
        Arrived::read(text.as_ref()).map(|read| read.map(|(head, _)| head))
    }

    fn with(headers: &str) -> Result<Arrived, BadHead> {
        take(format!("POST /v1/x?y=1 HTTP/1.1\r\nHost: h\r\n{headers}\r\n")).map(Option::unwrap)
    }

    #[test]
    fn a_head_is_taken_once_all_of_it_is_there() {
        let text = "POST /v1/x?y=1 HTTP/1.1\r\nHost: h\r\nX-Two: a\r\nx-two: b\r\nContent-Length: 3\r\n\r\nabcGET";
        let end = text.find("abc").unwrap();
        for cut in 0..end {
            assert!(take(&text[..cut]).unwrap().is_none(), "{cut}");
        }
        let (request, used) = Arrived::read(text.as_bytes()).unwrap().unwrap();
        assert_eq!((&request.head.method, request.head.uri.to_string()), (&Method::POST, "/v1/x?y=1".to_owned()));
        assert_eq!(request.head.headers.texts("x-two").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((request.framing, request.keep_alive), (Framing::Length(3), true));
        assert_eq!((request.body.as_deref(), &text[used..]), (Some(&b"abc"[..]), "GET"));
        let (request, used) = Arrived::read(&text.as_bytes()[..end + 2]).unwrap().unwrap();
        assert_eq!((request.body, used), (None, end), "not all of its body is here");
    }

    #[test]
    fn a_connection_ends_or_goes_on_as_both_sides_say() {
        for (version, connection, keep_alive) in [
            ("1.1", "", true),
            ("1.1", "connection: Upgrade, Close\r\n", false),
            ("1.1", "connection: close, keep-alive\r\n", false),
            ("1.0", "", false),
            ("1.0", "connection: Keep-Alive\r\n", true),
        ] {
            let head = take(format!("GET / HTTP/{version}\r\n{connection}\r\n")).unwrap().unwrap();
            assert_eq!(head.keep_alive, keep_alive, "{version} {connection}");
        }
    }

    #[test]
    fn a_body_has_one_length_or_chunks() {
        assert_eq!(with("content-length: 5\r\ncontent-length: 5\r\n").unwrap().framing, Framing::Length(5));
        assert_eq!(with("transfer-encoding: Chunked\r\n").unwrap().framing, Framing::CHUNKED);
        assert_eq!(with("").unwrap().framing, Framing::Length(0));
        assert!(with("expect: 100-Continue\r\ncontent-length: 5\r\n").unwrap().expects_continue);
        let old = take("POST / HTTP/1.0\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n");
        assert!(!old.unwrap().unwrap().expects_continue, "nobody was told to go on then");
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
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
        let old = take("POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n");
        assert_eq!(old.err(), Some(BadHead::Malformed), "there were no chunks then");
        for bad in [
            "NONSENSE\r\n\r\n",
            "GET  / HTTP/1.1\r\n\r\n",
            "GET /\u{1} HTTP/1.1\r\n\r\n",
            "G\u{e9}T / HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(take(bad).err(), Some(BadHead::Malformed), "{bad:?}");
        }
        assert_eq!(take("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").err(), Some(BadHead::OtherVersion));
    }

    #[test]
    fn a_head_has_bounds() {
        let padding = "a".repeat(MAX_HEAD);
        assert_eq!(take(format!("GET / HTTP/1.1\r\nx: {padding}")).err(), Some(BadHead::TooLarge));
        assert_eq!(take(format!("GET / HTTP/1.1\r\nx: {padding}\r\n\r\n")).err(), Some(BadHead::TooLarge));
        let many = "x: 1\r\n".repeat(MAX_HEADERS + 1);
        assert_eq!(take(format!("GET / HTTP/1.1\r\n{many}\r\n")).err(), Some(BadHead::TooLarge));
    }
}
