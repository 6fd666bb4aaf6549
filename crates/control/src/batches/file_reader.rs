//! Reads a file in chunks.

use super::{BatchError, BatchStorage};
use crate::command_error::CommandError;
use domain::FileId;
use store::batches::{StoredContent, files};
use store::content_keys::Scope;

/// Reads the content of a file from its beginning.
pub struct FileReader {
    storage: BatchStorage,
    id: FileId,
    next: u64,
    /// The bytes that were read.
    read: u64,
}

impl FileReader {
    pub fn new(storage: &BatchStorage, id: FileId) -> Self {
        Self { storage: storage.clone(), id, next: 0, read: 0 }
    }

    /// The next part of the content; `None` at the end. A file that is deleted meanwhile is an error, as it would otherwise
    /// look like a shorter one.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, BatchError> {
        let found = files::part(&self.storage.store, &self.id, self.next).await?;
        let part = found.ok_or_else(|| BatchError::Missing { noun: "file", id: self.id.to_string() })?;
        let Some(stored) = part.content else {
            if self.read == part.total {
                return Ok(None);
            }
            let cause = format!("{} has {} of {} bytes", self.id, self.read, part.total);
            return Err(CommandError::Internal { cause: cause.into() }.into());
        };
        let stored = if part.is_in_bucket { self.object(stored).await? } else { stored };
        let scope = Scope::FileChunk { file: &self.id, chunk: &self.next.to_string() };
        let content = self.storage.content.open(scope, stored)?;
        self.next += 1;
        self.read += content.len() as u64;
        Ok(Some(content))
    }

    /// The chunk of this row as it is in the bucket.
    async fn object(&self, row: StoredContent) -> Result<StoredContent, BatchError> {
        match self.storage.objects.get(&self.id, self.next).await? {
            Some(bytes) => Ok(StoredContent { bytes, ..row }),
            None => {
                // Unless the file was deleted just now, someone else deletes objects of this bucket.
                let is_left = files::part(&self.storage.store, &self.id, self.next).await?.is_some();
                let missing = BatchError::Missing { noun: "file", id: self.id.to_string() };
                let cause = format!("the object of chunk {} of {} is not in the bucket", self.next, self.id);
                Err(if is_left { CommandError::Internal { cause: cause.into() }.into() } else { missing })
            }
        }
    }
}
