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
    storage.objects.sweep();
    if !leads(store, node).await? {
        return Ok(());
    }
    let mut from_bucket = storage.objects.are_written();
    for _ in 0..MAX_STEPS {
        let is_left = clear_files(storage, &mut from_bucket, now).await? | batches::clear_ended(store).await?;
        if !is_left {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    let kept = i64::try_from(storage.bounds.retention.as_millis()).unwrap_or(i64::MAX);
    let before = now.plus_millis(-kept.saturating_add(COMPLETION_WINDOW_MILLIS));
    batches::remove_old(store, before, BATCHES).await.map(drop)
}

/// Removes chunks of a file that has ended. Returns whether there may be more to do. While the bucket is away, it is left alone
/// until the next round: rows remain until their objects are deleted.
async fn clear_files(storage: &BatchStorage, from_bucket: &mut bool, now: Timestamp) -> Result<bool, StoreError> {
    let store = &storage.store;
    let Some(deletion) = files::next_deletion(store, *from_bucket, now).await? else { return Ok(false) };
    if deletion.is_in_bucket
        && let Err(error) = storage.objects.delete(&deletion.id, &deletion.chunks).await
    {
        tracing::warn!("objects of {} cannot be deleted yet: {error}", deletion.id);
        *from_bucket = false;
        files::postpone(store, &deletion.id, now).await?;
        return Ok(true);
    }
    files::remove(store, &deletion).await?;
    Ok(true)
}
