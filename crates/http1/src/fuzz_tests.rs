//! Fuzz targets for heads and framing. Each compares the parser with a second, simpler reading of the same bytes.

use crate::framing::{ChunkError, Framing, Step};
use crate::request_head::ReceivedRequest;
use crate::response_head::ResponseHead;
use bytes::BytesMut;
use fuzz::Fuzz;

/// Texts with a meaning in heads and chunked bodies.
pub(crate) const WORDS: &[&str] = &[
    "\r\n",
    "\r\n\r\n",
    "\n",
    "\r",
    " ",
    "\t",
    ":",
    "\r\n ",
    "GET ",
    "POST ",
    "HEAD ",
    "CONNECT ",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    " / ",
    " * ",
    " http://h/ ",
    "HTTP/1.0\r\n",
    "HTTP/1.1\r\n",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 204 No Content\r\n",
    "Host: h\r\n",
    "Content-Length: 5\r\n",
    "Content-Length: 0\r\n",
    "Content-Length: 18446744073709551616\r\n",
    "Content-Length: 5, 5\r\n",
    "Content-Length: +5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked, identity\r\n",
    "Transfer-Encoding : chunked\r\n",
    "Transfer-Encoding: \x0bchunked\r\n",
    "Connection: close\r\n",
    "Connection: keep-alive\r\n",
    "Expect: 100-continue\r\n",
    "0\r\n\r\n",
    "5\r\nhello\r\n",
    "ffffffffffffffff\r\n",
    "10000000000000000\r\n",
    ";x=\"y\"",
    "trailer: 1\r\n",
];

/// Without the spaces and tabs at both ends. `trim_ascii` would remove control characters, which no value may have.
fn trim_blanks(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// The header lines of a head that ends with an empty line, as RFC 9112 section 5 defines them; `None` if there are others.
fn header_lines(head: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let mut lines = head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.by_ref().find(|line| !line.is_empty())?;
    let mut found = Vec::new();
    for line in lines.take_while(|line| !line.is_empty()) {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
        let (name, value) = (&line[..colon], trim_blanks(&line[colon + 1..]));
        let is_text = |byte: &u8| matches!(byte, b'\t' | b' '..=0x7e | 0x80..);
        if name.is_empty() || !name.iter().all(is_token) || !value.iter().all(is_text) {
            return None;
        }
        found.push((String::from_utf8_lossy(name).to_ascii_lowercase(), value.to_vec()));
    }
    Some(found)
}

fn values<'a>(lines: &'a [(String, Vec<u8>)], name: &str) -> Vec<&'a [u8]> {
    lines.iter().filter(|(known, _)| known == name).map(|(_, value)| &value[..]).collect()
}

/// The framing that RFC 9112 section 6.3 gives a request; `None` if it is ambiguous.
fn request_framing(lines: &[(String, Vec<u8>)], is_http10: bool) -> Option<Framing> {
    let (codings, lengths) = (values(lines, "transfer-encoding"), values(lines, "content-length"));
    match (&codings[..], &lengths[..]) {
        ([], []) => Some(Framing::Length(0)),
        ([], [first, ..]) if lengths.iter().all(|length| length.iter().all(u8::is_ascii_digit)) => {
            let parse = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<u64>().ok();
            let length = parse(first)?;
            lengths.iter().all(|other| parse(other) == Some(length)).then_some(Framing::Length(length))
        }
        ([coding], []) if !is_http10 && coding.eq_ignore_ascii_case(b"chunked") => Some(Framing::CHUNKED),
        _ => None,
    }
}

#[test]
fn request_heads() {
    Fuzz::new("http1-request-head").words(WORDS).executions(30_000).run(|bytes| {
        let Ok(Some((request, used))) = ReceivedRequest::parse(bytes) else { return };
        let length = used - request.body.as_ref().map_or(0, |body| body.len());
        let head = &bytes[..length];
        let lines = header_lines(head).expect("an accepted head has only header lines");
        assert_eq!(Some(request.framing), request_framing(&lines, request.is_http10));
        let hosts = values(&lines, "host").len();
        assert!(hosts == 1 || (hosts == 0 && request.is_http10), "{hosts} Host headers");
        for name in ["host", "content-length", "transfer-encoding", "authorization"] {
            let read: Vec<&[u8]> = request.head.headers.all(name).collect();
            assert_eq!(read, values(&lines, name));
        }
        // No part of a head is a head, and what follows does not change it.
        for cut in fuzz::cuts(head).into_iter().chain([length - 1]).filter(|cut| *cut < length) {
            assert!(matches!(ReceivedRequest::parse(&bytes[..cut]), Ok(None)), "complete after {cut} of {length}");
        }
        let (alone, used_alone) = ReceivedRequest::parse(&bytes[..used]).ok().flatten().expect("it was accepted");
        assert_eq!((alone.framing, alone.body, used_alone), (request.framing, request.body, used));
    });
}

#[test]
fn response_heads() {
    Fuzz::new("http1-response-head").words(WORDS).executions(30_000).run(|bytes| {
        if let Ok(Some((head, length))) = ResponseHead::parse(bytes) {
            assert!(length <= bytes.len());
            for cut in fuzz::cuts(&bytes[..length]).into_iter().chain([length - 1]).filter(|cut| *cut < length) {
                assert!(matches!(ResponseHead::parse(&bytes[..cut]), Ok(None)), "complete after {cut} of {length}");
            }
            assert_eq!(ResponseHead::parse(&bytes[..length]), Ok(Some((head, length))));
        }
        let mut input = BytesMut::from(bytes);
        if let Ok(Some(head)) = ResponseHead::take(&mut input) {
            assert!(!head.status.is_informational() && bytes.ends_with(&input));
        }
    });
}

/// A chunked body: what was decoded, and the length of what follows it, if its end was reached.
type Decoded = Result<(Vec<u8>, Option<usize>), ChunkError>;

fn decode(pieces: &[&[u8]]) -> Decoded {
    let (mut framing, mut input, mut body) = (Framing::CHUNKED, BytesMut::new(), Vec::new());
    for (index, piece) in pieces.iter().enumerate() {
        input.extend_from_slice(piece);
        loop {
            match framing.next(&mut input)? {
                Step::Data(data) => body.extend_from_slice(&data),
                Step::More => break,
                Step::End => {
                    let behind: usize = pieces[index + 1..].iter().map(|piece| piece.len()).sum();
                    return Ok((body, Some(input.len() + behind)));
                }
            }
        }
    }
    Ok((body, None))
}

/// The same by the grammar of RFC 9112 section 7.1, with all bytes at hand.
fn decode_simply(bytes: &[u8]) -> Decoded {
    let mut body = Vec::new();
    let mut rest = bytes;
    loop {
        let Some(line) = take_line(&mut rest, 1024)? else { return Ok((body, None)) };
        let text = String::from_utf8_lossy(line);
        let size = text.split(';').next().unwrap_or_default().trim_end_matches([' ', '\t']);
        if size.is_empty() || !size.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ChunkError);
        }
        let size = u64::from_str_radix(size, 16).map_err(|_| ChunkError)?;
        if size == 0 {
            break;
        }
        let count = usize::try_from(size).unwrap_or(usize::MAX).min(rest.len());
        body.extend_from_slice(&rest[..count]);
        rest = &rest[count..];
        if (count as u64) < size {
            return Ok((body, None));
        }
        match take_line(&mut rest, 2)? {
            Some([]) => {}
            Some(_) => return Err(ChunkError),
            None => return Ok((body, None)),
        }
    }
    let mut trailers = (0, 0);
    loop {
        match take_line(&mut rest, 8 << 10)? {
            None => return Ok((body, None)),
            Some([]) => return Ok((body, Some(rest.len()))),
            Some(line) => {
                trailers = (trailers.0 + 1, trailers.1 + line.len());
                if trailers.0 > 100 || trailers.1 > 8 << 10 {
                    return Err(ChunkError);
                }
                let head = [b"start line\r\n", line, b"\r\n\r\n"].concat();
                header_lines(&head).ok_or(ChunkError)?;
            }
        }
    }
}

/// Takes a line that ends with CRLF and has no other CR or LF; `None` if its end has not arrived.
fn take_line<'a>(rest: &mut &'a [u8], longest: usize) -> Result<Option<&'a [u8]>, ChunkError> {
    let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
        return if rest.len() > longest + 1 { Err(ChunkError) } else { Ok(None) };
    };
    let line = rest[..end].strip_suffix(b"\r").ok_or(ChunkError)?;
    if line.contains(&b'\r') || line.len() > longest {
        return Err(ChunkError);
    }
    *rest = &rest[end + 1..];
    Ok(Some(line))
}

#[test]
fn framing() {
    Fuzz::new("http1-framing").words(WORDS).executions(30_000).run(|bytes| {
        let expected = decode_simply(bytes);
        assert_eq!(decode(&[bytes]), expected);
        assert_eq!(decode(&fuzz::pieces(bytes)), expected, "in pieces");
    });
}
