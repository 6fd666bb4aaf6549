//! Files, and batches of calls that run when there is room.

mod batch;
mod file;
mod retry;

pub use batch::{
    Batch, BatchEndpoint, BatchProblem, BatchStatus, COMPLETION_WINDOW, COMPLETION_WINDOW_MILLIS, LineCounts,
    LineOutcome, LineUsage, MAX_METADATA_KEY, MAX_METADATA_PAIRS, MAX_METADATA_VALUE, MAX_PROBLEMS, OutputExpiry,
};
pub use file::{EXPIRY_SECS, FilePurpose, StoredFile};
pub use retry::{AfterAttempt, AttemptResponse, after_attempt};
