//! Buffers that all connections of a thread share.
//!
//! Fresh memory is expensive, because the kernel maps it page by page. An idle connection should hold no buffer at all.

use bytes::BytesMut;
use std::cell::Cell;

/// Bytes per read of a request; nearly all requests are shorter.
const READ_BYTES: usize = 64 << 10;
/// Buffers of smaller and of larger bodies are not kept.
const MIN_BODY: usize = 16 << 10;
const MAX_BODY: usize = 1 << 20;
/// Larger output buffers are not kept.
const MAX_OUTPUT: usize = 128 << 10;

thread_local! {
    static INPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static OUTPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// Buffer of the last large body.
    static BODY: Cell<BytesMut> = Cell::new(BytesMut::new());
}

/// Lends an empty buffer for reading a request.
pub(super) fn with_input<T>(read: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut buffer = INPUT.take();
    buffer.clear();
    buffer.reserve(READ_BYTES);
    let done = read(&mut buffer);
    INPUT.set(buffer);
    done
}

/// Takes an empty buffer for a response.
pub(super) fn take_output() -> Vec<u8> {
    OUTPUT.take()
}

pub(super) fn keep_output(mut buffer: Vec<u8>) {
    if buffer.capacity() <= MAX_OUTPUT {
        buffer.clear();
        OUTPUT.set(buffer);
    }
}

/// Takes a buffer for a body. Its memory can be reused once all parts of it were dropped. A small body gets memory of its
/// own, since it would keep a large buffer alive.
pub(super) fn take_body(bytes: usize) -> BytesMut {
    if bytes < MIN_BODY {
        return BytesMut::with_capacity(bytes);
    }
    let mut buffer = BODY.take();
    buffer.reserve(bytes);
    buffer
}

/// Keeps a body buffer of which `split_off` bytes were handed out.
pub(super) fn keep_body(rest: BytesMut, split_off: usize) {
    if (MIN_BODY..=MAX_BODY).contains(&split_off) {
        BODY.set(rest);
    }
}
