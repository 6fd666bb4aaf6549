//! Where a body on an HTTP/1.1 connection ends, be it that of a client's request or of a replica's answer.

use bytes::{Buf, Bytes, BytesMut};

/// The longest line of a chunk's size, with whatever extensions it has.
const MAX_SIZE_LINE: usize = 1024;
/// All that may follow the last chunk.
const MAX_TRAILERS: usize = 16 << 10;

/// How a body is delimited, and how much of it is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    Length(u64),
    Chunked(Chunk),
    UntilClose,
}

/// Where in a chunked body the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chunk {
    Size,
    Data(u64),
    DataEnd,
    Trailers(usize),
    Over,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    Data(Bytes),
    /// What is there says nothing yet.
    More,
    End,
}

/// Bytes that are no chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body is not chunked as it says")]
pub struct BadChunk;

impl Framing {
    pub const CHUNKED: Self = Self::Chunked(Chunk::Size);

    pub fn is_over(self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(Chunk::Over))
    }

    /// Takes the next piece of the body off what has arrived.
    pub fn next(&mut self, input: &mut BytesMut) -> Result<Step, BadChunk> {
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
    fn next(&mut self, input: &mut BytesMut) -> Result<Step, BadChunk> {
        loop {
            match self {
                Self::Size => match line(input, MAX_SIZE_LINE)? {
                    None => return Ok(Step::More),
                    Some(line) => {
                        *self = match size(&line)? {
                            0 => Self::Trailers(0),
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
                    Some(_) => return Err(BadChunk),
                },
                Self::Trailers(seen) => match line(input, MAX_TRAILERS)? {
                    None => return Ok(Step::More),
                    Some(line) if line.is_empty() => *self = Self::Over,
                    Some(line) if !is_header(&line) => return Err(BadChunk),
                    Some(line) => {
                        *seen += line.len();
                        if *seen > MAX_TRAILERS {
                            return Err(BadChunk);
                        }
                    }
                },
                Self::Over => return Ok(Step::End),
            }
        }
    }
}

/// As much of `left` as has arrived.
fn take(input: &mut BytesMut, left: &mut u64) -> Step {
    if input.is_empty() {
        return Step::More;
    }
    let count = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
    *left -= count as u64;
    Step::Data(input.split_to(count).freeze())
}

/// A line without its end, once all of it is there. Where lines ended with less than both bytes, somebody on the way could
/// see other lines than we do.
fn line(input: &mut BytesMut, longest: usize) -> Result<Option<BytesMut>, BadChunk> {
    let Some(end) = memchr::memchr(b'\n', input) else {
        return if input.len() > longest { Err(BadChunk) } else { Ok(None) };
    };
    let mut line = input.split_to(end);
    input.advance(1);
    let Some((b'\r', text)) = line.split_last() else { return Err(BadChunk) };
    let length = text.len();
    if length > longest || text.contains(&b'\r') {
        return Err(BadChunk);
    }
    line.truncate(length);
    Ok(Some(line))
}

/// Hexadecimal digits and perhaps blanks; extensions behind a semicolon say nothing to us.
fn size(line: &[u8]) -> Result<u64, BadChunk> {
    let before = line.split(|byte| *byte == b';').next().unwrap_or_default();
    let digits = before.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (digits, blanks) = before.split_at(digits);
    if !blanks.iter().all(|byte| matches!(byte, b' ' | b'\t')) {
        return Err(BadChunk);
    }
    let text = std::str::from_utf8(digits).map_err(|_| BadChunk)?;
    u64::from_str_radix(text, 16).map_err(|_| BadChunk)
}

/// A header that nobody reads is one all the same.
fn is_header(line: &[u8]) -> bool {
    let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    name.len() < line.len() && !name.is_empty() && name.iter().all(is_token)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body that comes out when the bytes arrive in pieces of one size.
    fn decode(mut framing: Framing, bytes: &[u8], piece: usize) -> Result<(Vec<u8>, bool), BadChunk> {
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
    fn what_is_no_chunk_is_refused() {
        for bad in [
            &b"x\r\n"[..],
            b"5\r\nhelloX\r\n",
            b"-1\r\n",
            b"+1\r\na\r\n",
            b"\r\n",
            b"10000000000000000\r\n",
            b"1\na\r\n0\r\n\r\n",
        ] {
            assert_eq!(decode(Framing::CHUNKED, bad, 64), Err(BadChunk), "{bad:?}");
        }
        let endless = vec![b'1'; MAX_SIZE_LINE + 2];
        assert_eq!(decode(Framing::CHUNKED, &endless, 100), Err(BadChunk));
    }

    #[test]
    fn a_length_ends_where_it_says() {
        assert_eq!(decode(Framing::Length(5), b"hello, and more", 2), Ok((b"hello".to_vec(), true)));
        assert_eq!(decode(Framing::Length(0), b"x", 1), Ok((Vec::new(), true)));
        assert_eq!(decode(Framing::UntilClose, b"all of it", 4), Ok((b"all of it".to_vec(), false)));
    }
}
