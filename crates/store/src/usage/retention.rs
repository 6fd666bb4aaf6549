//! Deletes old rows in batches, so that other transactions do not wait for long.

use super::event;
use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::series::Resolution;
use domain::{RequestId, Timestamp};
use sqlx::AssertSqlSafe;

/// Rows that one transaction removes.
pub const BATCH: u64 = 1_000;
/// The names of marks.
const EVENTS: &str = "usage_events";
const CLASSES: &str = "usage_classes";
/// The primary key starts with the workspace, so the recursive query finds all workspaces with one index lookup each.
const OLD_CALLS: &str = "started_at < $1 AND workspace_id IN (WITH RECURSIVE found (id) AS (\
     SELECT MIN(workspace_id) FROM usage_calls UNION ALL \
     SELECT (SELECT MIN(workspace_id) FROM usage_calls WHERE workspace_id > found.id) FROM found WHERE id IS NOT NULL) \
     SELECT id FROM found WHERE id IS NOT NULL)";

/// A kind of rows with a limited lifetime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    Series(Resolution),
    Codes(Resolution),
    Gauges(Resolution),
    PrefillQueues(Resolution),
    UsageEvents,
    /// Dimensions of usage events, after all their events.
    UsageDimensions,
    RejectedCalls,
    GpuBusySamples,
    GpuBusyWindows,
    ReplicaHours,
    EngineHours,
    EngineCounters,
    /// Requests between nodes that are no longer waited for.
    NodeRequests,
    /// What engines can do that were not asked for long, such as those of deleted endpoints.
    EngineCapabilities,
}

/// The key of the rows of a kind, and the condition for old ones. `$1` is the time, `$2` the resolution if there is one.
struct Table {
    name: &'static str,
    key: &'static str,
    is_old: &'static str,
    resolution: Option<Resolution>,
}

impl RowKind {
    const fn table(self) -> Table {
        const SERIES_KEY: &str = "workspace_id, resolution, level, starts_at, model, actor";
        const CODES_KEY: &str = "workspace_id, resolution, level, starts_at, model, actor, code";
        const GAUGES_KEY: &str = "workspace_id, resolution, name, starts_at, model";
        const QUEUES_KEY: &str = "workspace_id, resolution, starts_at, model, replica";
        const BY_RESOLUTION: &str = "starts_at < $1 AND resolution = $2";
        let (name, key, is_old, resolution) = match self {
            Self::Series(resolution) => ("series", SERIES_KEY, BY_RESOLUTION, Some(resolution)),
            Self::Codes(resolution) => ("series_codes", CODES_KEY, BY_RESOLUTION, Some(resolution)),
            Self::Gauges(resolution) => ("gauges", GAUGES_KEY, BY_RESOLUTION, Some(resolution)),
            Self::PrefillQueues(resolution) => ("prefill_queues", QUEUES_KEY, BY_RESOLUTION, Some(resolution)),
            Self::UsageEvents => ("usage_calls", "workspace_id, started_at, request_id", OLD_CALLS, None),
            Self::UsageDimensions => ("usage_kinds", "id", "period < $1", None),
            // Request ids sort by the time of the request.
            Self::RejectedCalls => ("refused_calls", "request_id", "request_id < $1", None),
            Self::GpuBusySamples => {
                ("gpu_busy_samples", "endpoint_id, starts_at, replica_id, gpu_uuid", "starts_at < $1", None)
            }
            Self::GpuBusyWindows => ("gpu_busy_windows", "endpoint_id, starts_at", "starts_at < $1", None),
            Self::ReplicaHours => ("replica_hours", "replica, hour", "hour < $1", None),
            Self::EngineHours => ("engine_hours", "replica, hour", "hour < $1", None),
            Self::EngineCounters => ("engine_counters", "replica, source", "read_at < $1", None),
            Self::NodeRequests => ("node_requests", "id", "requested_at < $1", None),
            Self::EngineCapabilities => ("engine_capabilities", "engine", "probed_at < $1", None),
        };
        Table { name, key, is_old, resolution }
    }
}

/// Deletes one batch of rows older than `before`, and returns their number; fewer than [`BATCH`] if none are left.
pub async fn clear(store: &Store, kind: RowKind, before: Timestamp) -> Result<u64, StoreError> {
    let Table { name, key, is_old, resolution } = kind.table();
    let mut tx = store.begin().await?;
    if kind == RowKind::UsageEvents {
        mark(&mut tx, before).await?;
    }
    let text = format!("DELETE FROM {name} WHERE ({key}) IN (SELECT {key} FROM {name} WHERE {is_old} LIMIT {BATCH})");
    let mut delete = sqlx::query(AssertSqlSafe(text));
    delete = match kind {
        RowKind::RejectedCalls => delete.bind(RequestId::new(before, 0).to_string()),
        RowKind::UsageDimensions => delete.bind(event::period_of(before)),
        _ => delete.bind(before.millis()),
    };
    if let Some(resolution) = resolution {
        delete = delete.bind(resolution.millis());
    }
    let cleared = tx.execute(delete).await?;
    tx.commit().await?;
    Ok(cleared)
}

/// Events older than this may be deleted, so they no longer add up to the stored sums.
pub async fn events_cleared_before(store: &Store) -> Result<Option<Timestamp>, StoreError> {
    read_mark(store, EVENTS).await
}

/// Events older than this may be of an unrecorded class, so they do not add up to the stored sums of classes. Only stores that had
/// such sums before migration 34 have this mark.
pub async fn classes_unknown_before(store: &Store) -> Result<Option<Timestamp>, StoreError> {
    read_mark(store, CLASSES).await
}

async fn read_mark(store: &Store, name: &str) -> Result<Option<Timestamp>, StoreError> {
    let query = sqlx::query("SELECT cleared_before FROM retention_marks WHERE name = $1").bind(name);
    store.row(query).await?.map(|found| row::moment(&found, "cleared_before")).transpose()
}

/// Records how far events are deleted. The mark never goes back.
async fn mark(tx: &mut Tx, before: Timestamp) -> Result<(), StoreError> {
    let upsert = sqlx::query(
        "INSERT INTO retention_marks (name, cleared_before) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET \
         cleared_before = CASE WHEN excluded.cleared_before > retention_marks.cleared_before \
         THEN excluded.cleared_before ELSE retention_marks.cleared_before END",
    );
    tx.execute(upsert.bind(EVENTS).bind(before.millis())).await.map(drop)
}
