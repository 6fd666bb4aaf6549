//! Deletes stored responses that are too old, whose workspace stores none any more, or whose workspace was deleted.

use crate::retention::leads;
use domain::{ResponseRetention, Timestamp};
use std::time::Duration;
use store::responses::{self, BATCH, Total};
use store::{Store, StoreError};

/// Workspaces that are read at once.
const PAGE: i64 = 200;
/// Batches in one round; the next round continues.
const MAX_BATCHES: usize = 1_000;
/// Pause between two batches, so that other writers get their turn.
const BATCH_PAUSE: Duration = Duration::from_millis(50);

/// One round of the loop: deletes responses if this node leads.
pub async fn clear_if_leading(store: &Store, node: &str, now: Timestamp) -> Result<(), StoreError> {
    if leads(store, node).await? {
        clear_all(store, now).await?;
    }
    Ok(())
}

/// Deletes what is no longer kept, within the bounds of one round, and returns the number of responses.
pub async fn clear_all(store: &Store, now: Timestamp) -> Result<u64, StoreError> {
    let (mut cleared, mut batches, mut last) = (0, 0, None);
    loop {
        let page = responses::totals(store, last.as_ref(), PAGE).await?;
        let Some(end) = page.last() else { return Ok(cleared) };
        last = Some(end.workspace.clone());
        for Total { workspace, oldest, retention, .. } in page {
            let before = kept_from(retention, now);
            if oldest.is_none_or(|oldest| oldest >= before) {
                continue;
            }
            loop {
                let batch = responses::clear(store, &workspace, before).await?;
                cleared += batch;
                batches += 1;
                if batch < BATCH {
                    break;
                }
                if batches >= MAX_BATCHES {
                    return Ok(cleared);
                }
                tokio::time::sleep(BATCH_PAUSE).await;
            }
        }
    }
}

/// Responses from before this moment are deleted: all of them, if none are to be kept.
fn kept_from(retention: Option<ResponseRetention>, now: Timestamp) -> Timestamp {
    retention.map_or(Timestamp::from_millis(i64::MAX), |retention| retention.kept_from(now))
}
