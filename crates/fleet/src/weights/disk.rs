//! Work with files, on threads that may wait for the disk.

use std::future::pending;
use std::panic::resume_unwind;
use tokio::task::{JoinError, spawn_blocking};

/// Does work with files: a slow disk must not hold up the loops of this node, which share few threads. The work goes on to
/// its end even if its caller is gone. If it panics, so does the caller.
pub(crate) async fn with_files<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await.map_err(JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => resume_unwind(panic),
        // The runtime is shutting down, and this task with it.
        Err(Err(_cancelled)) => pending().await,
    }
}
