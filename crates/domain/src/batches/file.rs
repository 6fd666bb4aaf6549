//! Files: the lines that a batch reads, and the results that it writes.

use crate::ids::{FileId, WorkspaceId};
use crate::named_enum;
use crate::time::Timestamp;
use std::ops::RangeInclusive;

/// How long a client may ask a file to be kept.
pub const EXPIRY_SECS: RangeInclusive<u64> = 3_600..=2_592_000;

named_enum! {
    /// What a file is for.
    pub enum FilePurpose {
        Batch = "batch",
        /// Results of a batch.
        BatchOutput = "batch_output",
    }
}

/// A complete file. Its content is stored in chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFile {
    pub id: FileId,
    pub workspace: WorkspaceId,
    pub purpose: FilePurpose,
    pub filename: String,
    pub bytes: u64,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}
