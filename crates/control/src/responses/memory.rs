//! The memory of stored content that is read.

/// The most copies of the content that exist while it is read: sealed, opened, and split into items.
const COPIES: u64 = 3;

/// Memory for content. It is taken before the content is read.
pub trait ContentMemory: Send {
    /// Makes sure that there is room for this many bytes.
    fn grow_to(&mut self, bytes: u64) -> Result<(), NoContentMemory>;
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
