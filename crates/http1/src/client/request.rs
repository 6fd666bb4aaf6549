//! A request, encoded and ready to be written.

use bytes::{Bytes, BytesMut};
use std::io::IoSlice;

/// Most pieces of a request in one vectored write.
pub(super) const MAX_SLICES: usize = 16;

/// An encoded request. `start` holds the head and a small body; pieces of a large body follow without being copied.
#[derive(Debug)]
pub struct Request {
    pub start: BytesMut,
    pub rest: Vec<Bytes>,
}

/// The part of a request that is not written yet.
pub(super) struct Unsent<'a> {
    request: &'a Request,
    piece: usize,
    offset: usize,
}

impl<'a> Unsent<'a> {
    pub(super) fn all(request: &'a Request) -> Self {
        Self { request, piece: 0, offset: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.piece > self.request.rest.len()
    }

    pub(super) fn is_one_piece(&self) -> bool {
        self.piece == self.request.rest.len()
    }

    pub(super) fn first(&self) -> &'a [u8] {
        &self.piece(self.piece)[self.offset..]
    }

    /// Fills slices with at most `room` bytes; returns how many slices.
    pub(super) fn fill(&self, slices: &mut [IoSlice<'a>; MAX_SLICES], mut room: usize) -> usize {
        let rest = self.request.rest[self.piece..].iter().map(|piece| &piece[..]);
        let unsent = std::iter::once(self.first()).chain(rest);
        let mut count = 0;
        for (slice, piece) in slices.iter_mut().zip(unsent) {
            if room == 0 {
                break;
            }
            let piece = &piece[..piece.len().min(room)];
            *slice = IoSlice::new(piece);
            room -= piece.len();
            count += 1;
        }
        count
    }

    pub(super) fn advance(&mut self, mut written: usize) {
        while !self.is_empty() {
            let left = self.first().len();
            if written < left {
                self.offset += written;
                return;
            }
            written -= left;
            (self.piece, self.offset) = (self.piece + 1, 0);
        }
    }

    fn piece(&self, index: usize) -> &'a [u8] {
        match index.checked_sub(1) {
            None => &self.request.start,
            Some(index) => &self.request.rest[index],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_writes_add_up_to_the_whole_request() {
        let request = Request { start: "head".into(), rest: vec!["one".into(), "two".into(), "three".into()] };
        for step in 1..20 {
            let (mut unsent, mut written) = (Unsent::all(&request), Vec::new());
            while !unsent.is_empty() {
                let mut slices = [IoSlice::new(&[]); MAX_SLICES];
                let count = unsent.fill(&mut slices, step);
                let taken: Vec<u8> = slices[..count].iter().flat_map(|slice| slice.iter().copied()).collect();
                assert!(taken.len() <= step);
                assert!(unsent.first().starts_with(&taken) || !unsent.is_one_piece());
                unsent.advance(taken.len());
                written.extend(taken);
            }
            assert_eq!(written, b"headonetwothree", "by {step}");
        }
    }
}
