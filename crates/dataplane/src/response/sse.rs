//! Splits a stream of bytes into server-sent events.

use bytes::{Buf, Bytes, BytesMut};
use std::borrow::Cow;

/// The maximum size of one event.
const MAX_EVENT_BYTES: usize = 8 << 20;

/// Finds complete events in a stream of bytes.
///
/// An event ends at a blank line. Events that are complete within one read are returned without copying; only the start
/// of an event that continues in the next read is copied to `pending`. Example: the reads `data: a\n\ndata: b` and
/// `\n\ndata: c\n\n` give the event `data: a` as a slice of the first read, then `data: b` from `pending`, then `data: c`
/// as a slice again.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    /// The start of an event that is not complete yet.
    pending: BytesMut,
    /// Bytes after `pending` that were not searched yet.
    fresh: Bytes,
    /// The length of the part of `pending` that has no blank line.
    searched: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event has more than {MAX_EVENT_BYTES} bytes")]
pub(super) struct EventTooLargeError;

impl Splitter {
    pub(super) fn push(&mut self, bytes: Bytes) {
        debug_assert!(self.fresh.is_empty(), "all events are taken before more bytes are pushed");
        self.fresh = bytes;
    }

    /// The next complete event, with its blank line.
    pub(super) fn next_event(&mut self) -> Result<Option<Bytes>, EventTooLargeError> {
        if self.pending.is_empty() {
            if let Some(end) = event_end(&self.fresh, 0) {
                return Ok(Some(self.fresh.split_to(end)));
            }
            self.pending.extend_from_slice(&self.fresh);
            self.fresh.clear();
        } else if !self.fresh.is_empty() {
            self.pending.extend_from_slice(&self.fresh);
            self.fresh.clear();
            if let Some(end) = event_end(&self.pending, self.searched) {
                let event = self.pending.split_to(end).freeze();
                self.fresh = self.pending.split().freeze();
                self.searched = 0;
                return Ok(Some(event));
            }
        }
        if self.pending.len() > MAX_EVENT_BYTES {
            return Err(EventTooLargeError);
        }
        // A blank line may begin within the last three bytes.
        self.searched = self.pending.len().saturating_sub(3);
        Ok(None)
    }

    /// The rest of the bytes, at the end of the stream.
    pub(super) fn rest(&mut self) -> Bytes {
        let mut rest = self.pending.split();
        rest.extend_from_slice(&self.fresh);
        self.fresh.advance(self.fresh.len());
        rest.freeze()
    }
}

/// The end of the first blank line at or after `from`.
fn event_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(newline) = memchr::memchr(b'\n', &bytes[at..]) {
        at += newline + 1;
        match bytes.get(at) {
            Some(b'\n') => return Some(at + 1),
            Some(b'\r') if bytes.get(at + 1) == Some(&b'\n') => return Some(at + 2),
            _ => {}
        }
    }
    None
}

/// The content of an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event<'a> {
    Data(Cow<'a, [u8]>),
    Comment,
    /// An event without data, which some clients cannot handle.
    Empty,
}

/// Reads the lines of an event. Several lines of data are joined with spaces, which JSON allows between tokens.
pub(super) fn read_event(event: &[u8]) -> Event<'_> {
    let mut data: Option<Cow<'_, [u8]>> = None;
    let mut comment = false;
    let mut rest = event;
    while !rest.is_empty() {
        // A lone carriage return ends a line, too. Forwarded within one, it would break the line at the client.
        let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = &rest[rest.len().min(end + 1)..];
        if let Some(value) = line.strip_prefix(b"data:") {
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match &mut data {
                None => data = Some(Cow::Borrowed(value)),
                // Appended in place: an event of many short lines would otherwise be copied once per line.
                Some(before) => {
                    let joined = before.to_mut();
                    joined.push(b' ');
                    joined.extend_from_slice(value);
                }
            }
        } else {
            comment |= line.starts_with(b":");
        }
    }
    match data {
        Some(data) if !data.trim_ascii().is_empty() => Event::Data(data),
        _ if comment => Event::Comment,
        _ => Event::Empty,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events(pieces: &[&[u8]]) -> (Vec<Bytes>, Bytes) {
        let mut splitter = Splitter::default();
        let mut events = Vec::new();
        for piece in pieces {
            splitter.push(Bytes::copy_from_slice(piece));
            while let Some(event) = splitter.next_event().unwrap() {
                events.push(event);
            }
        }
        (events, splitter.rest())
    }

    #[test]
    fn events_end_at_blank_lines_of_either_kind() {
        let (found, rest) = events(&[b"data: a\n\n: ping\r\n\r\ndata: b\n\r\ndata: c"]);
        assert_eq!(found, ["data: a\n\n", ": ping\r\n\r\n", "data: b\n\r\n"]);
        assert_eq!(rest, "data: c");
    }

    #[test]
    fn lines_are_read_per_the_standard() {
        let data = |text: &'static str| Event::Data(Cow::Borrowed(text.as_bytes()));
        assert_eq!(read_event(b"data: {}\n\n"), data("{}"));
        assert_eq!(read_event(b"data:{}\r\n\r\n"), data("{}"));
        assert_eq!(read_event(b"id: 7\nevent: x\ndata: {\ndata: }\n\n"), data("{ }"));
        assert_eq!(read_event(b"data: {\rdata: }\n\n"), data("{ }"));
        assert_eq!(read_event(b"data: {\r}\n\n"), data("{"), "the second line has no name");
        assert_eq!(read_event(b": ping\n\n"), Event::Comment);
        assert_eq!(read_event(b"event: ping\n\n"), Event::Empty);
        assert_eq!(read_event(b"retry: 3000\n\n"), Event::Empty);
        assert_eq!(read_event(b"data:\n\n"), Event::Empty);
    }

    #[test]
    fn an_event_of_very_many_lines_is_joined_once() {
        let lines = MAX_EVENT_BYTES / 8;
        let event = "data: 1\n".repeat(lines);
        let Event::Data(data) = read_event(event.as_bytes()) else { panic!("the event has data") };
        assert_eq!(data.len(), 2 * lines - 1);
    }

    proptest! {
        #[test]
        fn a_stream_gives_the_same_events_however_it_is_split(
            lines in prop::collection::vec(
                prop_oneof!["data: [a-zé🙂]{0,9}", ": [a-z]{0,3}", Just(String::new())], 0..20),
            crlf in any::<bool>(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let text = lines.join(if crlf { "\r\n" } else { "\n" }).into_bytes();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            prop_assert_eq!(events(&pieces), events(&[&text]));
        }
    }
}
