//! Chunks of files in a bucket, if there is one: an object each, named after its file and its number.
//!
//! One object per chunk, not per file, because then each is one small request that can be repeated: nothing is left behind by
//! an upload that stops, and no node keeps the state of a multipart upload.

use super::file_writer::CHUNK_BYTES;
use crate::command_error::CommandError;
use bucket::{Bucket, BucketError};
use domain::FileId;
use store::batches::StoredContent;

/// The most bytes of a chunk: sealing adds a few.
const MAX_OBJECT_BYTES: usize = CHUNK_BYTES + 1024;

/// Where chunks are stored.
#[derive(Debug, Clone)]
pub(super) enum ChunkObjects {
    /// In the rows of the store.
    Nowhere,
    InBucket(Bucket),
}

impl ChunkObjects {
    pub(super) const fn are_written(&self) -> bool {
        matches!(self, Self::InBucket(_))
    }

    /// The row of a chunk, and the object if it becomes one.
    pub(super) fn split(&self, chunk: StoredContent) -> (StoredContent, Option<Vec<u8>>) {
        match self {
            Self::Nowhere => (chunk, None),
            Self::InBucket(_) => (StoredContent { key: chunk.key, bytes: Vec::new() }, Some(chunk.bytes)),
        }
    }

    pub(super) async fn put(&self, file: &FileId, chunk: u64, content: Vec<u8>) -> Result<(), CommandError> {
        let put = self.bucket()?.put(&name(file, chunk), content.into()).await;
        put.map_err(|cause| CommandError::FilesUnavailable { cause: Some(cause) })
    }

    /// `None` if there is no such object.
    pub(super) async fn get(&self, file: &FileId, chunk: u64) -> Result<Option<Vec<u8>>, CommandError> {
        match self.bucket()?.get(&name(file, chunk), MAX_OBJECT_BYTES).await {
            Ok(content) => Ok(Some(content.into())),
            Err(BucketError::Missing) => Ok(None),
            Err(cause) => Err(CommandError::FilesUnavailable { cause: Some(cause) }),
        }
    }

    pub(super) async fn delete(&self, file: &FileId, chunks: &[u64]) -> Result<(), BucketError> {
        if let Self::InBucket(bucket) = self {
            for chunk in chunks {
                bucket.delete(&name(file, *chunk)).await?;
            }
        }
        Ok(())
    }

    pub(super) fn sweep(&self) {
        if let Self::InBucket(bucket) = self {
            bucket.sweep();
        }
    }

    fn bucket(&self) -> Result<&Bucket, CommandError> {
        match self {
            Self::Nowhere => Err(CommandError::FilesUnavailable { cause: None }),
            Self::InBucket(bucket) => Ok(bucket),
        }
    }
}

fn name(file: &FileId, chunk: u64) -> String {
    format!("{file}/{chunk}")
}
