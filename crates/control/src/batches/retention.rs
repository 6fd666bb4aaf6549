//! Deletes files that have expired, and what is left of batches that have ended.

use super::BatchStorage;
use crate::retention::leads;
use domain::Timestamp;
use domain::batches::COMPLETION_WINDOW_MILLIS;
use std::time::Duration;
use store::{StoreError, batches, files};

/// Pause between two transactions, so that other writers get their turn.
const PAUSE: Duration = Duration::from_millis(20);
/// Transactions of one round; the next round continues.
const MAX_STEPS: usize = 2_000;
const BATCHES: u32 = 100;

/// One round of the loop: deletes what is too old if this node leads.
pub async fn clear_if_leading(storage: &BatchStorage, node: &str, now: Timestamp) -> Result<(), StoreError> {
    let store = &storage.store;
    if !leads(store, node).await? {
        return Ok(());
    }
    for _ in 0..MAX_STEPS {
        let is_left = files::clear(store, now).await? | batches::clear_ended(store).await?;
        if !is_left {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    let kept = i64::try_from(storage.bounds.retention.as_millis()).unwrap_or(i64::MAX);
    let before = now.plus_millis(-kept.saturating_add(COMPLETION_WINDOW_MILLIS));
    batches::remove_old(store, before, BATCHES).await.map(drop)
}
