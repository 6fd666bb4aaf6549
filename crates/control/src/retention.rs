//! Clears away what is kept for a while only. One node does it: the one that leads the control plane.

use domain::series::Resolution;
use domain::{Retention, Timestamp};
use std::time::Duration;
use store::retention::{BATCH, Kind, clear};
use store::{Store, StoreError, leader};

const LOOK_EVERY: Duration = Duration::from_secs(600);
/// Others may write between two batches.
const PAUSE: Duration = Duration::from_millis(50);
/// Batches of one kind in one round; the next round goes on.
const MAX_BATCHES: usize = 1_000;
/// Samples are needed until their window is over everywhere.
const KEEP_SAMPLES_MILLIS: i64 = 24 * 3_600_000;

/// Clears away now and then, for ever.
pub async fn keep(store: Store, node: String, retention: Retention, now: fn() -> Timestamp) {
    loop {
        match leads(&store, &node).await {
            Ok(true) => {
                if let Err(error) = clear_all(&store, &retention, now()).await {
                    tracing::warn!(%error, "what is too old could not be cleared away");
                }
            }
            Ok(false) => {}
            Err(error) => tracing::debug!(%error, "who leads cannot be read"),
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Whether this node leads; being wrong for a moment does no harm here.
pub(crate) async fn leads(store: &Store, node: &str) -> Result<bool, StoreError> {
    Ok(leader::read(store).await?.holder == node)
}

/// Everything that is too old, as far as one round goes; how many rows that were.
pub async fn clear_all(store: &Store, retention: &Retention, now: Timestamp) -> Result<u64, StoreError> {
    let (mut cleared, mut calls_wait) = (0, false);
    for (kind, before) in plan(retention, now) {
        // What they have in common goes after them.
        if kind == Kind::UsageKinds && calls_wait {
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
                calls_wait |= kind == Kind::UsageEvents;
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
    Ok(cleared)
}

/// What goes, and from before which moment.
fn plan(retention: &Retention, now: Timestamp) -> Vec<(Kind, Timestamp)> {
    let mut plan = Vec::new();
    for resolution in Resolution::ALL {
        let before = retention.kept_from(resolution, now);
        plan.extend(
            [Kind::Series(resolution), Kind::Codes(resolution), Kind::Gauges(resolution)].map(|kind| (kind, before)),
        );
    }
    let requests = retention.requests_kept_from(now);
    let hours = retention.kept_from(Resolution::Hour, now);
    let days = retention.kept_from(Resolution::Day, now);
    plan.extend([
        (Kind::UsageEvents, requests),
        (Kind::UsageKinds, requests),
        (Kind::RefusedCalls, requests),
        (Kind::GpuBusySamples, now.plus_millis(-KEEP_SAMPLES_MILLIS)),
        (Kind::GpuBusyWindows, days),
        (Kind::ReplicaHours, days),
        (Kind::EngineHours, days),
        (Kind::EngineCounters, hours),
    ]);
    plan
}
