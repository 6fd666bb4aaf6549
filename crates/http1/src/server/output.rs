//! Encodes responses and writes them to the connection.

use super::buffer_pool;
use crate::bulk::BulkTurns;
use bytes::Bytes;
use http::header;
use http::{HeaderMap, StatusCode};
use std::cell::RefCell;
use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::io::AsyncWrite;

/// Bytes that are gathered before they are written, about eighty events. A client that does not read keeps them in memory.
const WRITE_BYTES: usize = 16 << 10;
/// Pieces of this size and above are not copied.
const LARGE_PIECE: usize = 16 << 10;

/// Where the body of a response ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Here; or there is no body, as with some statuses and with every response to HEAD.
    Over,
    /// After this many bytes.
    Length(u64),
    Chunked,
    /// With the connection.
    Close,
}

impl Ending {
    pub(super) const fn is_over(self) -> bool {
        matches!(self, Self::Over | Self::Length(0))
    }
}

/// Bytes that are waiting to be written.
#[derive(Default)]
pub(super) struct Output {
    flat: Vec<u8>,
    /// How many bytes of `flat` are written.
    written: usize,
    /// Written after `flat`, without copying.
    large: Option<Bytes>,
    /// The turns of `large`.
    turns: BulkTurns,
    /// Bytes written since they were last asked for.
    taken: usize,
}

impl Output {
    /// Whether more can be added before the next write.
    pub(super) fn has_room(&self) -> bool {
        self.large.is_none() && self.flat.len() < WRITE_BYTES
    }

    /// How many bytes the client took since the last call.
    pub(super) fn take_count(&mut self) -> usize {
        std::mem::take(&mut self.taken)
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.start();
        self.flat.extend_from_slice(bytes);
    }

    /// Adds a piece of a body; an error if the body becomes longer than announced.
    pub(super) fn add_piece(&mut self, piece: Bytes, ending: &mut Ending) -> io::Result<()> {
        if let Ending::Length(left) = ending {
            let longer = || io::Error::other("the response body is longer than its content-length");
            *left = left.checked_sub(piece.len() as u64).ok_or_else(longer)?;
        }
        if *ending == Ending::Chunked {
            self.add_chunk(&piece);
        } else if piece.len() >= LARGE_PIECE {
            self.large = Some(piece);
        } else {
            self.add(&piece);
        }
        Ok(())
    }

    /// Empty pieces are skipped: an empty chunk would end the body.
    fn add_chunk(&mut self, piece: &[u8]) {
        if !piece.is_empty() {
            self.start();
            add_hexadecimal(&mut self.flat, piece.len());
            self.flat.extend_from_slice(b"\r\n");
            self.flat.extend_from_slice(piece);
            self.flat.extend_from_slice(b"\r\n");
        }
    }

    /// Ends a body; an error if it is shorter than announced.
    pub(super) fn end(&mut self, ending: &mut Ending) -> io::Result<()> {
        match std::mem::replace(ending, Ending::Over) {
            Ending::Chunked => self.add(b"0\r\n\r\n"),
            Ending::Length(1..) => {
                return Err(io::Error::other("the response body is shorter than its content-length"));
            }
            Ending::Over | Ending::Length(0) | Ending::Close => {}
        }
        Ok(())
    }

    /// Adds the head of a response. `write_lines` adds header lines that are not in the map, each with its line end.
    pub(super) fn add_head(
        &mut self,
        status: StatusCode,
        headers: &HeaderMap,
        write_lines: impl FnOnce(&mut Vec<u8>),
        ending: Ending,
        connection: Option<&str>,
    ) {
        self.start();
        let out = &mut self.flat;
        if status == StatusCode::OK {
            out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        } else {
            let reason = status.canonical_reason().unwrap_or("");
            write!(out, "HTTP/1.1 {} {reason}\r\n", status.as_str()).expect("a Vec takes any bytes");
        }
        add_headers(out, headers, ending);
        write_lines(out);
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

    /// Writes everything.
    pub(super) fn poll_flush<S: AsyncWrite + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut S,
    ) -> Poll<io::Result<()>> {
        while self.written < self.flat.len() {
            let written = ready!(poll_write(cx, stream, &self.flat[self.written..]))?;
            self.written += written;
            self.taken += written;
        }
        if !self.flat.is_empty() {
            buffer_pool::keep_output(std::mem::take(&mut self.flat));
            self.written = 0;
        }
        while let Some(large) = &mut self.large {
            let write = |cx: &mut Context<'_>, room: usize| poll_write(cx, stream, &large[..large.len().min(room)]);
            let written = ready!(self.turns.poll(cx, write))?;
            let _ = large.split_to(written);
            self.taken += written;
            if large.is_empty() {
                self.large = None;
                self.turns = BulkTurns::default();
            }
        }
        Pin::new(stream).poll_flush(cx)
    }

    fn start(&mut self) {
        if self.flat.capacity() == 0 {
            self.flat = buffer_pool::take_output();
        }
    }
}

/// Adds all headers except `content-length`, which follows from the body.
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

/// Adds a number without leading zeros. `write!` would take longer than everything else done here for an event.
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

/// Adds the `date` header, which is formatted once a second.
fn add_date(out: &mut Vec<u8>) {
    thread_local! {
        static LINE: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
    }
    let now = SystemTime::now();
    let second = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    LINE.with_borrow_mut(|(cached, line)| {
        if *cached != second || line.is_empty() {
            *line = format!("date: {}\r\n", httpdate::fmt_http_date(now));
            *cached = second;
        }
        out.extend_from_slice(line.as_bytes());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_numbers_match_those_of_the_standard_library() {
        for number in [1, 9, 10, 15, 16, 17, 255, 256, 4_096, 65_535, 65_536, usize::MAX] {
            let mut out = Vec::new();
            add_hexadecimal(&mut out, number);
            assert_eq!(out, format!("{number:x}").as_bytes());
        }
    }
}
