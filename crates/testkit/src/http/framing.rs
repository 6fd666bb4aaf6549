//! Finds the end of an HTTP/1.1 answer in the bytes that arrive, at little cost and without keeping them.
//!
//! The load generator feeds it every read; it understands what gateways send and refuses the rest.

use memchr::{memchr, memmem};

/// Heads longer than this are refused.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("the answer's head is longer than {MAX_HEAD_BYTES} bytes")]
    HeadTooLong,
    #[error("the answer starts with `{0}`")]
    StatusLine(String),
    #[error("the size of a chunk is not a number")]
    ChunkSize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Head,
    /// Bytes left of a body with a length.
    Length(u64),
    /// In the line with a chunk's size; the number so far, and whether an extension began.
    ChunkSize(u64, bool),
    ChunkData(u64),
    /// The line end after a chunk's data: bytes left of it.
    ChunkEnd(u8),
    /// Lines after the last chunk: bytes of the current line so far.
    Trailer(usize),
    UntilClose,
    Done,
}

/// Where we are in one answer.
#[derive(Debug, Clone)]
pub struct Framing {
    place: Place,
    head: Vec<u8>,
    status: u16,
}

impl Default for Framing {
    fn default() -> Self {
        Self { place: Place::Head, head: Vec::with_capacity(512), status: 0 }
    }
}

impl Framing {
    /// Ready for the next answer on the same connection; keeps its buffer.
    pub fn reset(&mut self) {
        self.place = Place::Head;
        self.head.clear();
        self.status = 0;
    }

    /// The status, once the head is complete; else 0.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The head as received, with its blank line, once complete.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    pub fn is_done(&self) -> bool {
        self.place == Place::Done
    }

    /// Whether the answer has no end but that of the connection.
    pub fn ends_with_connection(&self) -> bool {
        self.place == Place::UntilClose
    }

    /// Takes the bytes that arrived, hands payload to `payload`, and returns how many bytes belong to this answer.
    pub fn feed(&mut self, bytes: &[u8], mut payload: impl FnMut(&[u8])) -> Result<usize, Malformed> {
        let mut at = 0;
        while at < bytes.len() && self.place != Place::Done {
            at += self.step(&bytes[at..], &mut payload)?;
        }
        Ok(at)
    }

    fn step(&mut self, bytes: &[u8], payload: &mut impl FnMut(&[u8])) -> Result<usize, Malformed> {
        match self.place {
            Place::Head => self.take_head(bytes),
            Place::Length(left) => {
                let taken = take(bytes, left);
                payload(&bytes[..taken]);
                let left = left - taken as u64;
                self.place = if left == 0 { Place::Done } else { Place::Length(left) };
                Ok(taken)
            }
            Place::ChunkSize(size, extended) => self.take_size(bytes[0], size, extended),
            Place::ChunkData(left) => {
                let taken = take(bytes, left);
                payload(&bytes[..taken]);
                let left = left - taken as u64;
                self.place = if left == 0 { Place::ChunkEnd(2) } else { Place::ChunkData(left) };
                Ok(taken)
            }
            Place::ChunkEnd(left) => {
                self.place = if left == 1 { Place::ChunkSize(0, false) } else { Place::ChunkEnd(left - 1) };
                Ok(1)
            }
            Place::Trailer(length) => {
                self.place = match bytes[0] {
                    b'\n' if length == 0 => Place::Done,
                    b'\n' => Place::Trailer(0),
                    b'\r' => Place::Trailer(length),
                    _ => Place::Trailer(length + 1),
                };
                Ok(1)
            }
            Place::UntilClose => {
                payload(bytes);
                Ok(bytes.len())
            }
            Place::Done => Ok(0),
        }
    }

    fn take_size(&mut self, byte: u8, size: u64, extended: bool) -> Result<usize, Malformed> {
        self.place = match (byte, (byte as char).to_digit(16)) {
            (b'\n', _) if size == 0 => Place::Trailer(0),
            (b'\n', _) => Place::ChunkData(size),
            (b'\r', _) => Place::ChunkSize(size, true),
            (b';' | b' ', _) => Place::ChunkSize(size, true),
            (_, _) if extended => Place::ChunkSize(size, true),
            (_, Some(digit)) if size < 1 << 56 => Place::ChunkSize(size * 16 + u64::from(digit), false),
            (_, _) => return Err(Malformed::ChunkSize),
        };
        Ok(1)
    }

    fn take_head(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        let before = self.head.len();
        let from = before.saturating_sub(3);
        self.head.extend_from_slice(bytes);
        let Some(end) = memmem::find(&self.head[from..], b"\r\n\r\n") else {
            let too_long = self.head.len() > MAX_HEAD_BYTES;
            return if too_long { Err(Malformed::HeadTooLong) } else { Ok(bytes.len()) };
        };
        self.head.truncate(from + end + 4);
        let taken = self.head.len() - before;
        self.status = self.read_status()?;
        if (100..200).contains(&self.status) {
            self.reset();
        } else {
            self.place = self.body_framing();
        }
        Ok(taken)
    }

    fn read_status(&self) -> Result<u16, Malformed> {
        let line = &self.head[..memchr(b'\r', &self.head).unwrap_or(self.head.len())];
        let digits = line.strip_prefix(b"HTTP/1.1 ").or_else(|| line.strip_prefix(b"HTTP/1.0 "));
        digits
            .and_then(|rest| rest.get(..3))
            .and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok())
            .ok_or_else(|| Malformed::StatusLine(String::from_utf8_lossy(line).into_owned()))
    }

    fn body_framing(&self) -> Place {
        if self.status == 204 || self.status == 304 {
            return Place::Done;
        }
        if header(&self.head, "transfer-encoding").is_some_and(|value| value.ends_with("chunked")) {
            return Place::ChunkSize(0, false);
        }
        match header(&self.head, "content-length").and_then(|value| value.parse().ok()) {
            Some(0) => Place::Done,
            Some(length) => Place::Length(length),
            None => Place::UntilClose,
        }
    }
}

/// The value of a header in a raw head.
pub fn header<'a>(head: &'a [u8], name: &str) -> Option<&'a str> {
    head.split(|byte| *byte == b'\n').skip(1).find_map(|line| {
        let colon = memchr(b':', line)?;
        let value = std::str::from_utf8(&line[colon + 1..]).ok()?;
        line[..colon].eq_ignore_ascii_case(name.as_bytes()).then_some(value.trim())
    })
}

fn take(bytes: &[u8], left: u64) -> usize {
    usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds the bytes in pieces of each size: the end and the payload must not depend on it.
    fn payload_in_any_pieces(answer: &[u8]) -> String {
        let mut payloads = (1..=answer.len()).map(|size| {
            let (mut framing, mut payload) = (Framing::default(), Vec::new());
            let mut used = 0;
            for piece in answer.chunks(size) {
                used += framing.feed(piece, |part| payload.extend_from_slice(part)).unwrap();
            }
            assert!(framing.is_done() && framing.status() == 200, "pieces of {size}");
            assert_eq!(used, answer.len() - "next".len(), "pieces of {size}");
            String::from_utf8(payload).unwrap()
        });
        let first = payloads.next().unwrap();
        assert!(payloads.all(|payload| payload == first));
        first
    }

    #[test]
    fn the_end_of_an_answer_is_found_however_it_arrives() {
        let counted = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhellonext";
        assert_eq!(payload_in_any_pieces(counted), "hello");
        let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;a=1f\r\nhello\r\nA\r\n, streams!\r\n\
            0\r\nx-trailer: 1\r\n\r\nnext";
        assert_eq!(payload_in_any_pieces(chunked), "hello, streams!");
        let interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nnext";
        assert_eq!(payload_in_any_pieces(interim), "");
    }

    #[test]
    fn nonsense_is_refused() {
        let mut framing = Framing::default();
        assert!(matches!(framing.feed(b"SSH-2.0\r\n\r\n", |_| {}), Err(Malformed::StatusLine(_))));
        framing.reset();
        let bad_size = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n";
        assert_eq!(framing.feed(bad_size, |_| {}), Err(Malformed::ChunkSize));
    }
}
