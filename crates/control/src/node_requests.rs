//! Waits for the response of another node. Nodes do not call each other: requests and responses pass through the store.

use std::time::{Duration, Instant};
use store::StoreError;

/// Time for the other node, which looks for requests every second.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(8);
const POLL_PERIOD: Duration = Duration::from_millis(200);

/// Reads the response until there is one; `None` if there is none in time.
pub(crate) async fn wait<T, F>(read: impl Fn() -> F) -> Result<Option<T>, StoreError>
where
    F: Future<Output = Result<Option<T>, StoreError>>,
{
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let response = read().await?;
        if response.is_some() || Instant::now() >= deadline {
            return Ok(response);
        }
        tokio::time::sleep(POLL_PERIOD).await;
    }
}
