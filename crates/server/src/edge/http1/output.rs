//! What goes out on a connection.

use super::spare;
use crate::edge::Answered;
use bytes::Bytes;
use http::header;
use http::{HeaderMap, StatusCode};
use std::cell::RefCell;
use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::io::AsyncWrite;

/// So much is gathered before it is written.
const ENOUGH: usize = 64 << 10;
/// A piece of this size is not copied.
const LARGE: usize = 16 << 10;

/// Where the body of an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Here, or there is none: so it is with some statuses, and whatever is asked with HEAD.
    Over,
    /// After so many bytes.
    Length(u64),
    Chunked,
    Close,
}

impl Ending {
    pub(super) const fn is_over(self) -> bool {
        matches!(self, Self::Over | Self::Length(0))
    }
}

/// Bytes that wait to be written.
#[derive(Default)]
pub(super) struct Output {
    flat: Vec<u8>,
    written: usize,
    /// Comes behind them.
    large: Option<Bytes>,
}

impl Output {
    /// Whether more may be added before something is written.
    pub(super) fn has_room(&self) -> bool {
        self.large.is_none() && self.flat.len() < ENOUGH
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.start();
        self.flat.extend_from_slice(bytes);
    }

    /// A piece of a body, which must not be longer than was said.
    pub(super) fn add_piece(&mut self, piece: Bytes, ending: &mut Ending) -> io::Result<()> {
        if let Ending::Length(left) = ending {
            let longer = || io::Error::other("an answer is longer than it said");
            *left = left.checked_sub(piece.len() as u64).ok_or_else(longer)?;
        }
        if *ending == Ending::Chunked {
            self.add_chunk(&piece);
        } else if piece.len() >= LARGE {
            self.large = Some(piece);
        } else {
            self.add(&piece);
        }
        Ok(())
    }

    /// An empty one would end the body.
    fn add_chunk(&mut self, piece: &[u8]) {
        if !piece.is_empty() {
            self.start();
            add_hexadecimal(&mut self.flat, piece.len());
            self.flat.extend_from_slice(b"\r\n");
            self.flat.extend_from_slice(piece);
            self.flat.extend_from_slice(b"\r\n");
        }
    }

    /// The end of a body, which must not be shorter than was said.
    pub(super) fn end(&mut self, ending: &mut Ending) -> io::Result<()> {
        match std::mem::replace(ending, Ending::Over) {
            Ending::Chunked => self.add(b"0\r\n\r\n"),
            Ending::Length(1..) => return Err(io::Error::other("an answer is shorter than it said")),
            Ending::Over | Ending::Length(0) | Ending::Close => {}
        }
        Ok(())
    }

    /// The head of an answer.
    pub(super) fn add_head(&mut self, answered: &Answered, ending: Ending, connection: Option<&str>) {
        self.start();
        let out = &mut self.flat;
        let status = answered.response.status();
        if status == StatusCode::OK {
            out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        } else {
            let reason = status.canonical_reason().unwrap_or("");
            write!(out, "HTTP/1.1 {} {reason}\r\n", status.as_str()).expect("a Vec takes any bytes");
        }
        add_headers(out, answered.response.headers(), ending);
        answered.write_lines(out);
        match ending {
            Ending::Length(length) => {
                out.extend_from_slice(b"content-length: ");
                out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
                out.extend_from_slice(b"\r\n");
            }
            Ending::Chunked => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
            Ending::Over | Ending::Close => {}
        }
        if let Some(connection) = connection {
            out.extend_from_slice(b"connection: ");
            out.extend_from_slice(connection.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        add_date(out);
        out.extend_from_slice(b"\r\n");
    }

    /// Writes all of it.
    pub(super) fn poll_flush<S: AsyncWrite + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut S,
    ) -> Poll<io::Result<()>> {
        while self.written < self.flat.len() {
            self.written += ready!(poll_write(cx, stream, &self.flat[self.written..]))?;
        }
        if !self.flat.is_empty() {
            spare::keep_output(std::mem::take(&mut self.flat));
            self.written = 0;
        }
        while let Some(large) = &mut self.large {
            let written = ready!(poll_write(cx, stream, large))?;
            let _ = large.split_to(written);
            self.large.take_if(|large| large.is_empty());
        }
        Pin::new(stream).poll_flush(cx)
    }

    fn start(&mut self) {
        if self.flat.capacity() == 0 {
            self.flat = spare::take_output();
        }
    }
}

/// All but what is said by us: where the body ends, and the connection.
fn add_headers(out: &mut Vec<u8>, headers: &HeaderMap, ending: Ending) {
    for (name, value) in headers {
        if *name == header::CONTENT_LENGTH && ending != Ending::Over {
            continue;
        }
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
}

/// Without leading zeros; `write!` would take longer than all else that is done for an event here.
fn add_hexadecimal(out: &mut Vec<u8>, number: usize) {
    let digits = (usize::BITS - number.leading_zeros()).div_ceil(4);
    out.extend((0..digits).rev().map(|digit| b"0123456789abcdef"[number >> (4 * digit) & 0xf]));
}

fn poll_write<S: AsyncWrite + Unpin>(cx: &mut Context<'_>, stream: &mut S, bytes: &[u8]) -> Poll<io::Result<usize>> {
    match ready!(Pin::new(stream).poll_write(cx, bytes)) {
        Ok(0) => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
        written => Poll::Ready(written),
    }
}

/// The header with the date, worked out once a second.
fn add_date(out: &mut Vec<u8>) {
    thread_local! {
        static LINE: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
    }
    let now = SystemTime::now();
    let second = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    LINE.with_borrow_mut(|(of, line)| {
        if *of != second || line.is_empty() {
            *line = format!("date: {}\r\n", httpdate::fmt_http_date(now));
            *of = second;
        }
        out.extend_from_slice(line.as_bytes());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_chunks_are_written_as_others_write_them() {
        for number in [1, 9, 10, 15, 16, 17, 255, 256, 4_096, 65_535, 65_536, usize::MAX] {
            let mut out = Vec::new();
            add_hexadecimal(&mut out, number);
            assert_eq!(out, format!("{number:x}").as_bytes());
        }
    }
}
