//! Buffers that a core uses again and again.
//!
//! Fresh memory is dear: the system hands it out page by page. And a connection that waits should hold none.

use bytes::BytesMut;
use std::cell::Cell;

/// What is read at once of a request; nearly all of them are shorter.
const READ: usize = 64 << 10;

thread_local! {
    static INPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static OUTPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// The buffer of the last large body.
    static BODY: Cell<BytesMut> = Cell::new(BytesMut::new());
}

/// Buffers of smaller and of larger bodies are not kept, and neither is a larger buffer of an answer.
const LEAST_BODY: usize = 16 << 10;
const MOST_BODY: usize = 1 << 20;
const MOST_OUTPUT: usize = 128 << 10;

/// Lends an empty buffer to read a request into.
pub(super) fn with_input<T>(read: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut buffer = INPUT.take();
    buffer.clear();
    buffer.reserve(READ);
    let done = read(&mut buffer);
    INPUT.set(buffer);
    done
}

/// An empty buffer for an answer.
pub(super) fn take_output() -> Vec<u8> {
    OUTPUT.take()
}

pub(super) fn keep_output(mut buffer: Vec<u8>) {
    if buffer.capacity() <= MOST_OUTPUT {
        buffer.clear();
        OUTPUT.set(buffer);
    }
}

/// A buffer for a body. It is free again when nobody holds a part of it any more; until then it is left to its users. A
/// small body has its own: it would keep a large one from being free.
pub(super) fn take(bytes: usize) -> BytesMut {
    if bytes < LEAST_BODY {
        return BytesMut::with_capacity(bytes);
    }
    let mut buffer = BODY.take();
    buffer.reserve(bytes);
    buffer
}

/// Keeps hold of a buffer whose bytes were split off.
pub(super) fn keep(rest: BytesMut, split_off: usize) {
    if (LEAST_BODY..=MOST_BODY).contains(&split_off) {
        BODY.set(rest);
    }
}
