//! Reads a file in chunks.

use super::{BatchError, BatchStorage};
use domain::FileId;
use store::batches::files;
use store::content_keys::Scope;

/// Reads the content of a file from its beginning.
pub struct FileReader {
    storage: BatchStorage,
    id: FileId,
    next: u64,
}

impl FileReader {
    pub fn new(storage: &BatchStorage, id: FileId) -> Self {
        Self { storage: storage.clone(), id, next: 0 }
    }

    /// The next part of the content; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, BatchError> {
        let Some(stored) = files::chunk(&self.storage.store, &self.id, self.next).await? else { return Ok(None) };
        let scope = Scope::FileChunk { file: &self.id, chunk: &self.next.to_string() };
        self.next += 1;
        Ok(Some(self.storage.content.open(scope, stored)?))
    }
}
