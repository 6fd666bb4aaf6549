//! Files and batches: commands, and the steps of the work that nodes do on batches.
//!
//! - `file_writer`, `file_reader`: content in chunks, sealed where it is stored.
//! - `objects`: chunks in a bucket instead of the store.
//! - `commands`: creates, finds and cancels batches.
//! - `claim`: makes one node at a time work on a batch.
//! - `validate`: reads the input of a batch and makes its lines, which `line_parser` checks.
//! - `write_results`: ends lines together with their usage events.
//! - `finalize`: writes the results into files.
//! - `retention`: deletes what has expired.

mod claim;
mod commands;
mod content;
mod error;
mod file_reader;
mod file_writer;
mod finalize;
mod line_parser;
mod lines;
mod messages;
mod objects;
mod retention;
mod validate;
mod write_results;

pub use claim::Claim;
pub use commands::{BatchPage, FilePage, NewBatch, cancel};
pub use error::BatchError;
pub use file_reader::FileReader;
pub use file_writer::{FileWriter, WrittenFile};
pub use line_parser::FindModality;
pub use lines::RunnableLine;
pub use messages::{MessageRequest, check_custom_id};
pub use retention::clear_if_leading;
pub use validate::ValidInput;
pub use write_results::{DeferredLine, FinishedLine, LineWriter};

use background::LowPriorityThreads;
use bucket::Bucket;
use content::Content;
use objects::ChunkObjects;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use store::stored_bytes::MaxBytes;
use store::{ContentKeys, Store, StoreError, files};
use tokio::sync::{Notify, Semaphore};

/// The bounds of files and batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchBounds {
    pub file_bytes: u64,
    pub file_lines: u64,
    /// All files, results included.
    pub max_bytes: MaxBytes,
    /// How long files are kept unless their owner says less.
    pub retention: Duration,
    pub open_batches: u64,
    pub queued_lines: u64,
    /// A line of an input file.
    pub line_bytes: u64,
}

/// The files and batches of all workspaces. Cheap to clone.
#[derive(Debug, Clone)]
pub struct BatchStorage {
    store: Store,
    content: Content,
    objects: ChunkObjects,
    bounds: BatchBounds,
    /// Wakes the runner of this node.
    nudge: Arc<Notify>,
    /// Reads lines, so that calls do not wait for that.
    threads: LowPriorityThreads,
    /// Message batches are stored one at a time: each may have 50,000 lines, and writes them in one transaction.
    storing: Arc<Semaphore>,
    /// The bytes of all files when they were last counted.
    total: Arc<AtomicU64>,
}

impl BatchStorage {
    /// Files are written to the bucket if there is one, else to the store.
    pub fn new(store: Store, keys: Option<ContentKeys>, bounds: BatchBounds, bucket: Option<Bucket>) -> Self {
        Self {
            store,
            content: Content::new(keys),
            objects: bucket.map_or(ChunkObjects::Nowhere, ChunkObjects::InBucket),
            bounds,
            nudge: Arc::default(),
            threads: LowPriorityThreads::new(1),
            storing: Arc::new(Semaphore::new(1)),
            total: Arc::default(),
        }
    }

    /// The bytes of all files, when they were last counted.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Counts what is stored, on all nodes.
    pub async fn count_total(&self) -> Result<(), StoreError> {
        self.total.store(files::total_bytes(&self.store).await?, Ordering::Relaxed);
        Ok(())
    }

    pub fn bounds(&self) -> &BatchBounds {
        &self.bounds
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Notified when this node has created or cancelled a batch.
    pub fn nudge(&self) -> Arc<Notify> {
        Arc::clone(&self.nudge)
    }
}
