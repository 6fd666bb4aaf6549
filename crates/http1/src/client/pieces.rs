//! A body in pieces, because one buffer would have to be copied while it grows.
//!
//! Copying 16 MiB takes several milliseconds, in which the core would serve nothing else, and returning 64 MiB takes as long.
//! So what does not fit into [`PIECE_BYTES`] begins another piece, pieces are joined on another thread, and a task returns
//! those that are not needed, one in each pass of the event loop.

use crate::LargeBuffer;
use bytes::Bytes;
use std::mem;
use std::thread;
use tokio::runtime::Handle;
use tokio::task::yield_now;

/// To copy or to free it takes about a tenth of a millisecond.
const PIECE_BYTES: usize = 1 << 20;

/// A body that was read completely.
#[derive(Debug)]
pub enum Collected {
    Whole(Bytes),
    /// More than a mebibyte. Boxed, because nearly all bodies are smaller.
    Pieces(Box<Pieces>),
}

impl Collected {
    /// The body as a whole. Copies one that is in pieces, which is work for another thread.
    pub fn join(self) -> Bytes {
        match self {
            Self::Whole(whole) => whole,
            Self::Pieces(pieces) => pieces.join(),
        }
    }
}

/// A body in pieces.
#[derive(Debug)]
pub struct Pieces {
    full: Vec<Vec<u8>>,
    full_bytes: usize,
    last: Vec<u8>,
}

impl Pieces {
    /// Both may be small, and all there is.
    pub(super) fn starting_with(first: &[u8], second: &[u8]) -> Self {
        let mut last = Vec::with_capacity(2 * (first.len() + second.len()));
        last.extend_from_slice(first);
        last.extend_from_slice(second);
        Self { full: Vec::new(), full_bytes: 0, last }
    }

    pub(super) fn len(&self) -> usize {
        self.full_bytes + self.last.len()
    }

    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        loop {
            let room = PIECE_BYTES.saturating_sub(self.last.len());
            if bytes.len() <= room {
                return self.extend_last(bytes);
            }
            let (fitting, rest) = bytes.split_at(room);
            self.extend_last(fitting);
            self.full_bytes += self.last.len();
            self.full.push(mem::replace(&mut self.last, Vec::with_capacity(PIECE_BYTES)));
            bytes = rest;
        }
    }

    /// All of it has been added.
    pub(super) fn finish(mut self) -> Collected {
        if self.full.is_empty() {
            return Collected::Whole(mem::take(&mut self.last).into());
        }
        Collected::Pieces(Box::new(self))
    }

    /// Copies all of it, and frees each piece once it is copied.
    pub(super) fn join(mut self) -> Bytes {
        let mut whole = LargeBuffer::with_capacity(self.len());
        for piece in mem::take(&mut self.full) {
            whole.extend_from_slice(&piece);
            // A thread that serves calls may share the core.
            thread::yield_now();
        }
        whole.extend_from_slice(&self.last);
        whole.freeze()
    }

    /// Adds what fits into the piece.
    fn extend_last(&mut self, bytes: &[u8]) {
        let needed = self.last.len() + bytes.len();
        if needed > self.last.capacity() {
            self.last.reserve_exact((2 * needed).min(PIECE_BYTES) - self.last.len());
        }
        self.last.extend_from_slice(bytes);
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        if !self.full.is_empty()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(free_one_by_one(mem::take(&mut self.full)));
        }
    }
}

/// What is left when the task is aborted is freed at once.
async fn free_one_by_one(mut pieces: Vec<Vec<u8>>) {
    while pieces.pop().is_some() {
        yield_now().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(length: usize) -> Vec<u8> {
        (0..length).map(|index| (index % 251) as u8).collect()
    }

    /// The content, as it is collected if it arrives in portions of this size.
    fn collected(content: &[u8], portion: usize) -> Pieces {
        let mut portions = content.chunks(portion);
        let mut pieces = Pieces::starting_with(portions.next().unwrap_or(&[]), portions.next().unwrap_or(&[]));
        portions.for_each(|portion| pieces.push(portion));
        pieces
    }

    #[tokio::test]
    async fn joined_pieces_are_what_was_added() {
        let lengths =
            [0, 1, 5_000, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES, 3 * PIECE_BYTES + 7];
        for length in lengths {
            let content = content(length);
            for portion in [4 << 10, 65_000, 3 << 19, 5 << 20] {
                let pieces = collected(&content, portion);
                assert_eq!(pieces.len(), length);
                assert!(pieces.finish().join() == content, "{length} bytes in portions of {portion}");
            }
        }
    }

    #[tokio::test]
    async fn only_a_large_body_is_in_pieces_and_none_is_too_large() {
        for length in [100, PIECE_BYTES] {
            assert!(matches!(collected(&content(length), 10_000).finish(), Collected::Whole(_)), "{length}");
        }
        let Collected::Pieces(pieces) = collected(&content(3 * PIECE_BYTES + 1), 10_000).finish() else {
            panic!("one piece");
        };
        assert_eq!(pieces.full.len(), 3);
        assert!(pieces.full.iter().chain([&pieces.last]).all(|piece| piece.capacity() == PIECE_BYTES));
    }

    #[tokio::test]
    async fn pieces_that_are_dropped_are_freed_by_a_task() {
        let metrics = Handle::current().metrics();
        drop(collected(&content(PIECE_BYTES), 10_000));
        assert_eq!(metrics.num_alive_tasks(), 0);
        drop(collected(&content(3 * PIECE_BYTES), 10_000));
        assert_eq!(metrics.num_alive_tasks(), 1);
        while metrics.num_alive_tasks() > 0 {
            yield_now().await;
        }
    }

    #[test]
    fn pieces_are_dropped_and_joined_without_a_runtime() {
        let content = content(2 * PIECE_BYTES + 1);
        drop(collected(&content, 10_000));
        assert!(collected(&content, 10_000).join() == content);
    }
}
