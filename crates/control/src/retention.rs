//! Deletes rows that are older than the configured retention. Only the leader does it.

use domain::series::Resolution;
use domain::{Retention, Timestamp};
use std::time::Duration;
use store::retention::{BATCH, RowKind, clear};
use store::{Store, StoreError, leader};

/// Pause between two batches, so that other writers get their turn.
const BATCH_PAUSE: Duration = Duration::from_millis(50);
/// Batches of one kind in one round; the next round continues.
const MAX_BATCHES: usize = 1_000;
/// Samples are needed until their window has ended on all nodes.
const KEEP_SAMPLES_MILLIS: i64 = 24 * 3_600_000;
/// Longer than a node waits for another one. A request stays behind if its client leaves before the response.
const KEEP_REQUESTS_MILLIS: i64 = 60_000;
/// Engines that still serve are asked again.
const KEEP_CAPABILITIES_MILLIS: i64 = 90 * 24 * 3_600_000;

/// One round of the loop: deletes old rows if this node leads.
pub async fn clear_if_leading(
    store: &Store,
    node: &str,
    retention: &Retention,
    now: Timestamp,
) -> Result<(), StoreError> {
    if leads(store, node).await? {
        clear_all(store, retention, now).await?;
    }
    Ok(())
}

/// Whether this node leads. A stale result is harmless here: deleting old rows is idempotent.
pub(crate) async fn leads(store: &Store, node: &str) -> Result<bool, StoreError> {
    Ok(leader::read(store).await?.holder == node)
}

/// Deletes what is too old, within the bounds of one round, and returns the number of rows.
pub async fn clear_all(store: &Store, retention: &Retention, now: Timestamp) -> Result<u64, StoreError> {
    let (mut cleared, mut events_remain) = (0, false);
    for (kind, before) in plan(retention, now) {
        // Dimensions are deleted only after the events that refer to them.
        if kind == RowKind::UsageDimensions && events_remain {
            continue;
        }
        let mut batches = 0;
        loop {
            let batch = clear(store, kind, before).await?;
            cleared += batch;
            batches += 1;
            if batch < BATCH {
                break;
            }
            if batches == MAX_BATCHES {
                events_remain |= kind == RowKind::UsageEvents;
                break;
            }
            tokio::time::sleep(BATCH_PAUSE).await;
        }
    }
    Ok(cleared)
}

/// Which rows are deleted, and the moment before which they are too old.
fn plan(retention: &Retention, now: Timestamp) -> Vec<(RowKind, Timestamp)> {
    let mut plan = Vec::new();
    for resolution in Resolution::ALL {
        let before = retention.kept_from(resolution, now);
        let (series, codes) = (RowKind::Series(resolution), RowKind::Codes(resolution));
        let (gauges, queues) = (RowKind::Gauges(resolution), RowKind::PrefillQueues(resolution));
        plan.extend([series, codes, gauges, queues].map(|kind| (kind, before)));
    }
    let requests = retention.requests_kept_from(now);
    let hours = retention.kept_from(Resolution::Hour, now);
    let days = retention.kept_from(Resolution::Day, now);
    plan.extend([
        (RowKind::UsageEvents, requests),
        (RowKind::UsageDimensions, requests),
        (RowKind::RejectedCalls, requests),
        (RowKind::GpuBusySamples, now.plus_millis(-KEEP_SAMPLES_MILLIS)),
        (RowKind::GpuBusyWindows, days),
        (RowKind::ReplicaHours, days),
        (RowKind::EngineHours, days),
        (RowKind::EngineCounters, hours),
        (RowKind::NodeRequests, now.plus_millis(-KEEP_REQUESTS_MILLIS)),
        (RowKind::EngineCapabilities, now.plus_millis(-KEEP_CAPABILITIES_MILLIS)),
    ]);
    plan
}
