//! Large buffers, whose memory is returned in steps.
//!
//! To return 64 MiB to the system takes about 9 ms, in which the core would serve nothing else. So a task of its own returns
//! one [`STEP`] in each pass of the event loop, and whatever else is ready runs in between.

use bytes::Bytes;
use std::ops::{Deref, DerefMut};
use tokio::runtime::Handle;
use tokio::task::yield_now;

/// Returning it takes about a tenth of a millisecond.
const STEP: usize = 1 << 20;

/// Bytes that may be many.
#[derive(Debug)]
pub struct LargeBuffer {
    bytes: Vec<u8>,
    /// Returns the memory, wherever this is dropped: the runtime of a thread for heavy work runs no tasks.
    runtime: Option<Handle>,
}

impl LargeBuffer {
    pub fn with_capacity(bytes: usize) -> Self {
        Vec::<u8>::with_capacity(bytes).into()
    }

    /// The same memory, which is returned in steps when all parts of it have been dropped.
    pub fn freeze(mut self) -> Bytes {
        if self.bytes.capacity() > STEP { Bytes::from_owner(self) } else { std::mem::take(&mut self.bytes).into() }
    }

    /// The same bytes. If they are many and nothing else has a part of them, their memory is returned in steps.
    pub fn returned_in_steps(bytes: Bytes) -> Bytes {
        if bytes.len() > STEP && bytes.is_unique() { Self::from(Vec::from(bytes)).freeze() } else { bytes }
    }
}

impl From<Vec<u8>> for LargeBuffer {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, runtime: Handle::try_current().ok() }
    }
}

impl Deref for LargeBuffer {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for LargeBuffer {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

impl AsRef<[u8]> for LargeBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for LargeBuffer {
    fn drop(&mut self) {
        if self.bytes.capacity() > STEP
            && let Some(runtime) = &self.runtime
        {
            runtime.spawn(return_in_steps(std::mem::take(&mut self.bytes)));
        }
    }
}

/// What is left when the task is aborted is returned at once.
async fn return_in_steps(mut bytes: Vec<u8>) {
    while return_step(&mut bytes) {
        yield_now().await;
    }
}

/// Returns the end of the memory, and whether there is more.
fn return_step(bytes: &mut Vec<u8>) -> bool {
    bytes.clear();
    bytes.shrink_to(bytes.capacity().saturating_sub(STEP));
    bytes.capacity() > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BytesMut;

    #[test]
    fn memory_is_returned_step_by_step() {
        let mut bytes = vec![1; 3 * STEP + 1];
        let mut left = Vec::new();
        while return_step(&mut bytes) {
            left.push(bytes.capacity());
        }
        assert_eq!(left, [2 * STEP + 1, STEP + 1, 1]);
    }

    #[test]
    fn bytes_stay_until_their_last_part_is_dropped() {
        for length in [0, 10, STEP, 2 * STEP] {
            let mut buffer = LargeBuffer::with_capacity(length);
            buffer.extend((0..length).map(|index| index as u8));
            let whole = buffer.freeze();
            assert_eq!(whole.len(), length);
            let end = whole.slice(length.saturating_sub(3)..);
            drop(whole);
            assert_eq!(end.last().copied(), length.checked_sub(1).map(|last| last as u8));
        }
    }

    #[test]
    fn bytes_stay_the_same_with_and_without_other_owners() {
        for length in [0, STEP, STEP + 1, 3 * STEP] {
            let content: Vec<u8> = (0..length).map(|index| index as u8).collect();
            let other = Bytes::from(content.clone());
            for bytes in [Bytes::from(content.clone()), BytesMut::from(&content[..]).freeze(), other.clone()] {
                assert!(LargeBuffer::returned_in_steps(bytes) == content, "{length}");
            }
        }
    }

    #[tokio::test]
    async fn a_buffer_is_returned_where_it_was_made() {
        let metrics = Handle::current().metrics();
        let whole = LargeBuffer::returned_in_steps(Bytes::from(vec![1_u8; 4 * STEP]));
        // Its runtime runs no tasks.
        let other = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let entered = other.handle().clone();
        let dropped = std::thread::spawn(move || {
            let _entered = entered.enter();
            drop(whole);
        });
        dropped.join().unwrap();
        assert_eq!((metrics.num_alive_tasks(), other.metrics().num_alive_tasks()), (1, 0));
        other.shutdown_background();
    }

    #[tokio::test]
    async fn a_buffer_that_is_dropped_leaves_its_memory_to_a_task() {
        let metrics = Handle::current().metrics();
        drop(LargeBuffer::from(vec![1; STEP]));
        assert_eq!(metrics.num_alive_tasks(), 0);
        drop(LargeBuffer::from(vec![1; 4 * STEP]));
        assert_eq!(metrics.num_alive_tasks(), 1);
        while metrics.num_alive_tasks() > 0 {
            yield_now().await;
        }
    }
}
