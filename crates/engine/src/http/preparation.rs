//! Turns requests into tokens, apart from the threads that serve HTTP.
//!
//! A long prompt takes seconds to parse, render and tokenize, during which streams and `/health` must go on. Long and short
//! ones take turns of their own, so that a short one does not wait for a long one.

use crate::error::RequestError;
use tokio::sync::Semaphore;

/// A request with a larger body is long.
const LONG_BYTES: usize = 256 << 10;
const SHORT_AT_ONCE: usize = 2;
const LONG_AT_ONCE: usize = 1;
/// Requests that are prepared or wait for it, with their bodies in memory.
const MAX_WAITING: usize = 128;

pub(super) struct Preparation {
    short: Semaphore,
    long: Semaphore,
    places: Semaphore,
}

impl Default for Preparation {
    fn default() -> Self {
        Self {
            short: Semaphore::new(SHORT_AT_ONCE),
            long: Semaphore::new(LONG_AT_ONCE),
            places: Semaphore::new(MAX_WAITING),
        }
    }
}

impl Preparation {
    /// Runs `work` on a request of this many bytes when it is its turn.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> Result<T, RequestError> + Send + 'static,
    ) -> Result<T, RequestError> {
        let _place = self.places.try_acquire().map_err(|_| RequestError::Busy { limit: MAX_WAITING })?;
        let turns = if bytes > LONG_BYTES { &self.long } else { &self.short };
        let _turn = turns.acquire().await.map_err(|_| RequestError::Failed)?;
        tokio::task::spawn_blocking(work).await.map_err(|_| RequestError::Failed)?
    }
}
