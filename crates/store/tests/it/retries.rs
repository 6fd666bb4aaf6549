//! Stores that are too busy to respond in time.

use store::StoreError;

/// As all callers do: again while a very busy machine has no connection or no lock free in time, and nothing was written.
pub(crate) async fn when_available<T, F>(attempt: impl Fn() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    loop {
        match attempt().await {
            Err(StoreError::Unavailable(_)) => {}
            outcome => return outcome,
        }
    }
}
