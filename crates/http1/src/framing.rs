//! Finds where a body on an HTTP/1.1 connection ends (RFC 9112, sections 6 and 7).
//!
//! [`Framing`] is a state machine that takes pieces of a body off a buffer, in whatever portions the bytes arrive. For
//! the chunked body `5\r\nhello\r\n0\r\n\r\n` it goes through `Size → Data(5) → DataEnd → Size → Trailers → Over` and
//! returns `Data("hello")`, then `End`. It returns `More` whenever the buffer ends inside a line.

use bytes::{Buf, Bytes, BytesMut};

/// Longest line with the size of a chunk, including extensions.
const MAX_SIZE_LINE: usize = 1024;
/// Most trailers after the last chunk, and most bytes of them.
const MAX_TRAILERS: u32 = 100;
const MAX_TRAILER_BYTES: usize = 8 << 10;

/// How a body is delimited, and how much of it is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    Length(u64),
    Chunked(Chunk),
    UntilClose,
}

/// Position of the next byte in a chunked body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chunk {
    Size,
    Data(u64),
    DataEnd,
    /// Trailers so far, and their bytes.
    Trailers(u32, u32),
    Over,
}

/// Result of [`Framing::next`].
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    Data(Bytes),
    /// More bytes have to arrive first.
    More,
    End,
}

/// The bytes are not a chunked body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the chunked body is malformed")]
pub struct ChunkError;

impl Framing {
    pub const CHUNKED: Self = Self::Chunked(Chunk::Size);

    pub fn is_over(self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(Chunk::Over))
    }

    /// Takes the next piece of the body off `input`.
    pub fn next(&mut self, input: &mut BytesMut) -> Result<Step, ChunkError> {
        match self {
            Self::Length(0) => Ok(Step::End),
            Self::Length(left) => Ok(take(input, left)),
            Self::UntilClose if input.is_empty() => Ok(Step::More),
            Self::UntilClose => Ok(Step::Data(input.split().freeze())),
            Self::Chunked(chunk) => chunk.next(input),
        }
    }
}

impl Chunk {
    fn next(&mut self, input: &mut BytesMut) -> Result<Step, ChunkError> {
        loop {
            match self {
                Self::Size => match line(input, MAX_SIZE_LINE)? {
                    None => return Ok(Step::More),
                    Some(line) => {
                        *self = match size(&line)? {
                            0 => Self::Trailers(0, 0),
                            size => Self::Data(size),
                        };
                    }
                },
                Self::Data(left) => {
                    let step = take(input, left);
                    if *left == 0 {
                        *self = Self::DataEnd;
                    }
                    return Ok(step);
                }
                Self::DataEnd => match line(input, 2)? {
                    None => return Ok(Step::More),
                    Some(line) if line.is_empty() => *self = Self::Size,
                    Some(_) => return Err(ChunkError),
                },
                Self::Trailers(count, bytes) => match line(input, MAX_TRAILER_BYTES)? {
                    None => return Ok(Step::More),
                    Some(line) if line.is_empty() => *self = Self::Over,
                    Some(line) if !is_header(&line) => return Err(ChunkError),
                    Some(line) => {
                        *count += 1;
                        *bytes += line.len() as u32;
                        if *count > MAX_TRAILERS || *bytes as usize > MAX_TRAILER_BYTES {
                            return Err(ChunkError);
                        }
                    }
                },
                Self::Over => return Ok(Step::End),
            }
        }
    }
}

/// Takes as much of `left` as has arrived.
fn take(input: &mut BytesMut, left: &mut u64) -> Step {
    if input.is_empty() {
        return Step::More;
    }
    let count = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
    *left -= count as u64;
    Step::Data(input.split_to(count).freeze())
}

/// Takes a line without its `\r\n`, or returns `None` until all of it has arrived. A bare `\n` is an error: a proxy in
/// between might split the lines differently.
fn line(input: &mut BytesMut, longest: usize) -> Result<Option<BytesMut>, ChunkError> {
    let Some(end) = memchr::memchr(b'\n', input) else {
        // One byte more: the `\r` may be here without its `\n`.
        return if input.len() > longest + 1 { Err(ChunkError) } else { Ok(None) };
    };
    let mut line = input.split_to(end);
    input.advance(1);
    let Some((b'\r', text)) = line.split_last() else { return Err(ChunkError) };
    let length = text.len();
    if length > longest || text.contains(&b'\r') {
        return Err(ChunkError);
    }
    line.truncate(length);
    Ok(Some(line))
}

/// Parses a chunk size: hexadecimal digits, optional whitespace, and extensions after a semicolon, which are ignored.
fn size(line: &[u8]) -> Result<u64, ChunkError> {
    let before = line.split(|byte| *byte == b';').next().unwrap_or_default();
    let digits = before.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (digits, blanks) = before.split_at(digits);
    if !blanks.iter().all(|byte| matches!(byte, b' ' | b'\t')) {
        return Err(ChunkError);
    }
    let text = std::str::from_utf8(digits).map_err(|_| ChunkError)?;
    u64::from_str_radix(text, 16).map_err(|_| ChunkError)
}

/// Trailers are discarded, but they must have the form of a header: a name, a colon, and a value without control characters.
fn is_header(line: &[u8]) -> bool {
    let Some(colon) = memchr::memchr(b':', line) else { return false };
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let is_text = |byte: &u8| matches!(byte, b'\t' | b' '..=0x7e | 0x80..);
    !name.is_empty() && name.iter().all(is_token) && value.iter().all(is_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes a body that arrives in pieces of one size; returns it, and whether its end was reached.
    fn decode(mut framing: Framing, bytes: &[u8], piece: usize) -> Result<(Vec<u8>, bool), ChunkError> {
        let (mut input, mut body) = (BytesMut::new(), Vec::new());
        for piece in bytes.chunks(piece) {
            input.extend_from_slice(piece);
            loop {
                match framing.next(&mut input)? {
                    Step::Data(data) => body.extend_from_slice(&data),
                    Step::More => break,
                    Step::End => return Ok((body, true)),
                }
            }
        }
        Ok((body, false))
    }

    #[test]
    fn chunks_are_joined_however_they_arrive() {
        let bytes = b"5 \r\nhello\r\n6;ext=\"1\"\r\n world\r\n0\r\nx-trailer: 1\r\n\r\n";
        for piece in 1..=bytes.len() {
            assert_eq!(decode(Framing::CHUNKED, bytes, piece), Ok((b"hello world".to_vec(), true)), "by {piece}");
        }
        assert_eq!(decode(Framing::CHUNKED, b"5\r\nhel", 2), Ok((b"hel".to_vec(), false)));
    }

    #[test]
    fn malformed_chunks_are_rejected() {
        for bad in [
            &b"x\r\n"[..],
            b"5\r\nhelloX\r\n",
            b"-1\r\n",
            b"+1\r\na\r\n",
            b"\r\n",
            b"10000000000000000\r\n",
            b"1\na\r\n0\r\n\r\n",
            b"0\r\nx: \x0b1\r\n\r\n",
            b"0\r\nx y: 1\r\n\r\n",
        ] {
            assert_eq!(decode(Framing::CHUNKED, bad, 64), Err(ChunkError), "{bad:?}");
        }
        let endless = vec![b'1'; MAX_SIZE_LINE + 2];
        assert_eq!(decode(Framing::CHUNKED, &endless, 100), Err(ChunkError));
        for (length, is_accepted) in [(MAX_SIZE_LINE, true), (MAX_SIZE_LINE + 1, false)] {
            let line = format!("1;{}\r\na\r\n0\r\n\r\n", "x".repeat(length - 2));
            for piece in [1, 7, line.len()] {
                assert_eq!(
                    decode(Framing::CHUNKED, line.as_bytes(), piece).is_ok(),
                    is_accepted,
                    "{length} by {piece}"
                );
            }
        }
    }

    #[test]
    fn trailers_are_bounded_in_count_and_bytes() {
        let with = |trailers: String| decode(Framing::CHUNKED, format!("0\r\n{trailers}\r\n").as_bytes(), 64);
        assert_eq!(with("x: 1\r\n".repeat(100)), Ok((Vec::new(), true)));
        assert_eq!(with("x: 1\r\n".repeat(101)), Err(ChunkError));
        let long = format!("x: {}\r\n", "1".repeat(MAX_TRAILER_BYTES / 2));
        assert_eq!(with(long.clone()), Ok((Vec::new(), true)));
        assert_eq!(with(long.repeat(2)), Err(ChunkError));
    }

    #[test]
    fn a_body_with_a_length_ends_after_it() {
        assert_eq!(decode(Framing::Length(5), b"hello, and more", 2), Ok((b"hello".to_vec(), true)));
        assert_eq!(decode(Framing::Length(0), b"x", 1), Ok((Vec::new(), true)));
        assert_eq!(decode(Framing::UntilClose, b"all of it", 4), Ok((b"all of it".to_vec(), false)));
    }
}
