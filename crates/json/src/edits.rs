//! Edits of a text that is otherwise forwarded unchanged.

use bytes::{Bytes, BytesMut};
use std::borrow::Cow;
use std::ops::Range;

/// Replacements of ranges of one text. The ranges must not overlap.
#[derive(Debug, Default)]
pub struct Edits<'a> {
    list: Vec<(Range<usize>, Cow<'a, [u8]>)>,
}

impl<'a> Edits<'a> {
    pub fn replace(&mut self, span: Range<usize>, with: impl Into<Cow<'a, [u8]>>) {
        self.list.push((span, with.into()));
    }

    pub fn insert(&mut self, at: usize, text: impl Into<Cow<'a, [u8]>>) {
        self.replace(at..at, text);
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The length after the edits of a text with `length` bytes.
    pub fn length(&self, length: usize) -> usize {
        let added: usize = self.list.iter().map(|(_, with)| with.len()).sum();
        let removed: usize = self.list.iter().map(|(span, _)| span.len()).sum();
        length + added - removed
    }

    /// Appends the edited text to `out`.
    pub fn write_to(mut self, text: &[u8], out: &mut BytesMut) {
        self.sort();
        let mut done = 0;
        for (span, with) in &self.list {
            out.extend_from_slice(&text[done..span.start]);
            out.extend_from_slice(with);
            done = span.end;
        }
        out.extend_from_slice(&text[done..]);
    }

    pub fn apply(self, text: &Bytes) -> Bytes {
        if self.is_empty() {
            return text.clone();
        }
        let mut out = BytesMut::with_capacity(self.length(text.len()));
        self.write_to(text, &mut out);
        out.freeze()
    }

    /// The edited text in pieces that share memory with `text`.
    pub fn pieces(mut self, text: &Bytes) -> Vec<Bytes> {
        self.sort();
        let mut pieces = Vec::with_capacity(self.list.len() * 2 + 1);
        let mut done = 0;
        for (span, with) in self.list {
            pieces.push(text.slice(done..span.start));
            pieces.push(Bytes::copy_from_slice(&with));
            done = span.end;
        }
        pieces.push(text.slice(done..));
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }

    fn sort(&mut self) {
        self.list.sort_by_key(|(span, _)| (span.start, span.end));
        debug_assert!(self.list.windows(2).all(|pair| pair[0].0.end <= pair[1].0.start), "edits overlap");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_apply_in_order_of_position_in_all_forms() {
        let text = Bytes::from_static(b"abcdef");
        let edits = || {
            let mut edits = Edits::default();
            edits.replace(4..5, &b"XYZ"[..]);
            edits.insert(0, &b"<"[..]);
            edits.replace(1..3, &b""[..]);
            edits
        };
        assert_eq!(edits().apply(&text), "<adXYZf");
        assert_eq!(edits().pieces(&text).concat(), b"<adXYZf");
        assert_eq!(edits().length(text.len()), "<adXYZf".len());
        assert_eq!(Edits::default().apply(&text), text);
    }
}
