//! Reads one HTTP/1.1 response from the bytes of a connection, without keeping its body.

use bytes::{Buf, BytesMut};
use http1::framing::{ChunkError, Framing, Step};
use http1::{ResponseHead, ResponseHeadError};
use memchr::memchr;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Head(#[from] ResponseHeadError),
    #[error(transparent)]
    Chunk(#[from] ChunkError),
}

/// Progress in one response.
#[derive(Debug, Clone, Default)]
pub struct ResponseReader {
    /// Received bytes that do not form a complete head or chunk line yet.
    input: BytesMut,
    head: Vec<u8>,
    status: u16,
    /// `None` until the head is complete.
    framing: Option<Framing>,
}

impl ResponseReader {
    /// Starts over with the next response on the same connection; keeps its buffer.
    pub fn reset(&mut self) {
        self.input.clear();
        self.head.clear();
        (self.status, self.framing) = (0, None);
    }

    /// The status once the head is complete, else 0.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The head as received, including its blank line, once it is complete.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    pub fn is_done(&self) -> bool {
        self.framing.is_some_and(Framing::is_over)
    }

    /// Whether the response ends only when the connection does.
    pub fn ends_with_connection(&self) -> bool {
        self.framing == Some(Framing::UntilClose)
    }

    /// Consumes received bytes, passes the body to `payload`, and returns how many bytes belong to this response.
    pub fn feed(&mut self, bytes: &[u8], mut payload: impl FnMut(&[u8])) -> Result<usize, ReadError> {
        if self.is_done() {
            return Ok(0);
        }
        self.input.extend_from_slice(bytes);
        let framing = match &mut self.framing {
            Some(framing) => framing,
            missing => loop {
                let Some((head, length)) = ResponseHead::parse(&self.input)? else { return Ok(bytes.len()) };
                if !head.status.is_informational() {
                    self.head.extend_from_slice(&self.input[..length]);
                    self.input.advance(length);
                    self.status = head.status.as_u16();
                    break missing.insert(head.framing);
                }
                self.input.advance(length);
            },
        };
        while let Step::Data(data) = framing.next(&mut self.input)? {
            payload(&data);
        }
        let behind = if framing.is_over() { self.input.len() } else { 0 };
        Ok(bytes.len() - behind)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds the bytes in pieces of each size: neither the end nor the payload may depend on it.
    fn payload_in_any_pieces(response: &[u8]) -> String {
        let mut payloads = (1..=response.len()).map(|size| {
            let (mut reader, mut payload) = (ResponseReader::default(), Vec::new());
            let mut used = 0;
            for piece in response.chunks(size) {
                used += reader.feed(piece, |part| payload.extend_from_slice(part)).unwrap();
            }
            assert!(reader.is_done() && reader.status() == 200, "pieces of {size}");
            assert_eq!(used, response.len() - "next".len(), "pieces of {size}");
            String::from_utf8(payload).unwrap()
        });
        let first = payloads.next().unwrap();
        assert!(payloads.all(|payload| payload == first));
        first
    }

    #[test]
    fn the_end_of_a_response_is_found_wherever_the_input_is_split() {
        let counted = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhellonext";
        assert_eq!(payload_in_any_pieces(counted), "hello");
        let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;a=1f\r\nhello\r\nA\r\n, streams!\r\n\
            0\r\nx-trailer: 1\r\n\r\nnext";
        assert_eq!(payload_in_any_pieces(chunked), "hello, streams!");
        let interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nnext";
        assert_eq!(payload_in_any_pieces(interim), "");
    }

    #[test]
    fn malformed_responses_are_rejected() {
        let mut reader = ResponseReader::default();
        assert!(matches!(reader.feed(b"SSH-2.0\r\n\r\n", |_| {}), Err(ReadError::Head(_))));
        reader.reset();
        let bad_size = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n";
        assert_eq!(reader.feed(bad_size, |_| {}), Err(ReadError::Chunk(ChunkError)));
    }
}
