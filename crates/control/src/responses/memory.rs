//! The memory of stored content that is read, and the work on it.

use super::internal;
use crate::command_error::CommandError;
use std::pin::Pin;
use tokio::sync::oneshot;

/// The most copies of the content that exist while it is read: sealed, opened, and split into items.
const COPIES: u64 = 3;

/// Memory for content, which is taken before the content is read, and a thread to work on it.
pub trait ContentMemory: Send + Sync {
    /// Makes sure that there is room for this many bytes.
    fn grow_to(&mut self, bytes: u64) -> Result<(), NoContentMemory>;

    /// Does work that takes a core for as long as the content is large.
    fn work<'a>(
        &'a self,
        content_bytes: u64,
        work: Box<dyn FnOnce() + Send>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
}

/// There is no memory for content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoContentMemory {
    #[error("the memory of the process is used up")]
    Process,
    #[error("the organization has its share of the memory")]
    Organization,
}

/// Takes memory to read content of this size.
pub(super) fn reserve(memory: &mut dyn ContentMemory, content_bytes: u64) -> Result<(), NoContentMemory> {
    memory.grow_to(COPIES * content_bytes)
}

/// Works on content of this size.
pub(super) async fn work<T: Send + 'static>(
    memory: &dyn ContentMemory,
    content_bytes: u64,
    work: impl FnOnce() -> Result<T, CommandError> + Send + 'static,
) -> Result<T, CommandError> {
    let (sender, result) = oneshot::channel();
    memory.work(content_bytes, Box::new(move || drop(sender.send(work())))).await;
    result.await.map_err(internal)?
}
