//! How busy the GPUs of endpoints were, in windows of five minutes.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::gpu_busy::{self, GpuWindow, Sum};
use domain::gpu_time::{GpuBusy, WINDOW_MILLIS};
use domain::{EndpointId, Span, Timestamp, WorkspaceId};
use std::collections::{BTreeMap, BTreeSet};

/// Overwrites one window; `sampled` is whether anything was measured, which the cost view ignores.
pub async fn record(
    tx: &mut Tx,
    endpoint: &EndpointId,
    starts_at: Timestamp,
    busy: GpuBusy,
    sampled: bool,
) -> Result<(), StoreError> {
    let upsert = sqlx::query(
        "INSERT INTO gpu_busy_windows (endpoint_id, starts_at, busy, sampled) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (endpoint_id, starts_at) DO UPDATE SET busy = excluded.busy, sampled = excluded.sampled",
    )
    .bind(endpoint.as_str())
    .bind(starts_at.millis())
    .bind(row::to_number(busy.millionths()))
    .bind(i64::from(sampled));
    tx.execute(upsert).await.map(drop)
}

/// Adds samples of this node's GPUs, and recomputes the windows of their endpoints from all samples.
///
/// Nodes that measure replicas of one endpoint are serialized by a lock on the window, so the second one sees the samples
/// of the first.
pub async fn add_samples(tx: &mut Tx, samples: &[(GpuWindow, Sum)]) -> Result<(), StoreError> {
    let windows: BTreeSet<(&EndpointId, Timestamp)> =
        samples.iter().map(|(place, _)| (&place.endpoint, place.window)).collect();
    for (endpoint, window) in &windows {
        let lock = sqlx::query(
            "INSERT INTO gpu_busy_windows (endpoint_id, starts_at, busy, sampled, samples) VALUES ($1, $2, 0, 0, 0) \
             ON CONFLICT (endpoint_id, starts_at) DO UPDATE SET busy = gpu_busy_windows.busy",
        );
        tx.execute(lock.bind(endpoint.as_str()).bind(window.millis())).await?;
    }
    for (place, sum) in samples {
        let upsert = sqlx::query(
            "INSERT INTO gpu_busy_samples (endpoint_id, starts_at, replica_id, gpu_uuid, busy, samples) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (endpoint_id, starts_at, replica_id, gpu_uuid) DO UPDATE SET \
             busy = gpu_busy_samples.busy + excluded.busy, samples = gpu_busy_samples.samples + excluded.samples",
        )
        .bind(place.endpoint.as_str())
        .bind(place.window.millis())
        .bind(place.replica.as_str())
        .bind(place.gpu.as_str())
        .bind(row::to_number(sum.busy))
        .bind(row::to_number(sum.samples));
        tx.execute(upsert).await?;
    }
    for (endpoint, window) in windows {
        roll_up(tx, endpoint, window).await?;
    }
    Ok(())
}

async fn roll_up(tx: &mut Tx, endpoint: &EndpointId, window: Timestamp) -> Result<(), StoreError> {
    let query = sqlx::query("SELECT busy, samples FROM gpu_busy_samples WHERE endpoint_id = $1 AND starts_at = $2");
    let found = tx.rows(query.bind(endpoint.as_str()).bind(window.millis())).await?;
    let sum = |found| Ok(Sum { busy: row::count(found, "busy")?, samples: row::count(found, "samples")? });
    let sums = found.iter().map(sum).collect::<Result<Vec<Sum>, StoreError>>()?;
    let held = sqlx::query(
        "SELECT CAST(COALESCE(SUM(gpu_count), 0) AS BIGINT) AS gpus FROM replica_holds WHERE endpoint_id = $1 \
         AND started_at < $3 AND (ended_at IS NULL OR ended_at > $2)",
    );
    let held = held.bind(endpoint.as_str()).bind(window.millis()).bind(window.millis() + WINDOW_MILLIS);
    let held = tx.row(held).await?.map_or(Ok(0), |found| row::small(&found, "gpus"))?;
    let busy = gpu_busy::of_window(sums.iter().copied(), held as usize);
    let update = sqlx::query(
        "UPDATE gpu_busy_windows SET busy = $3, sampled = 1, samples = $4 WHERE endpoint_id = $1 AND starts_at = $2",
    )
    .bind(endpoint.as_str())
    .bind(window.millis())
    .bind(row::to_number(busy.millionths()))
    .bind(row::to_number(sums.iter().map(|sum| sum.samples).sum()));
    tx.execute(update).await.map(drop)
}

/// The windows of an endpoint that overlap a span, by their start.
pub async fn list(
    store: &Store,
    endpoint: &EndpointId,
    span: Span,
) -> Result<BTreeMap<Timestamp, GpuBusy>, StoreError> {
    let query = sqlx::query(
        "SELECT starts_at, busy FROM gpu_busy_windows WHERE endpoint_id = $1 AND starts_at > $2 AND starts_at < $3",
    )
    .bind(endpoint.as_str())
    .bind(span.from.millis() - WINDOW_MILLIS)
    .bind(span.to.millis());
    let found = store.rows(query).await?;
    let window = |found| Ok((row::moment(found, "starts_at")?, GpuBusy::from_millionths(row::count(found, "busy")?)));
    found.iter().map(window).collect()
}

/// A window of an endpoint, for dashboards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    pub endpoint_name: String,
    pub starts_at: Timestamp,
    pub busy: GpuBusy,
    /// The number of samples of single GPUs; 0 if nothing was measured.
    pub samples: u64,
}

/// The windows of endpoints that begin in a span: of a workspace, or of all.
pub async fn windows(store: &Store, workspace: Option<&WorkspaceId>, span: Span) -> Result<Vec<Window>, StoreError> {
    let query = sqlx::query(
        "SELECT p.name, w.starts_at, w.busy, w.samples FROM endpoints p JOIN gpu_busy_windows w ON w.endpoint_id = p.id \
         WHERE ($1 = '' OR p.workspace_id = $1) AND w.starts_at >= $2 AND w.starts_at < $3 ORDER BY w.starts_at",
    )
    .bind(workspace.map_or("", WorkspaceId::as_str))
    .bind(span.from.millis())
    .bind(span.to.millis());
    let window = |found| {
        Ok(Window {
            endpoint_name: row::text(found, "name")?,
            starts_at: row::moment(found, "starts_at")?,
            busy: GpuBusy::from_millionths(row::count(found, "busy")?),
            samples: row::count(found, "samples")?,
        })
    };
    store.rows(query).await?.iter().map(window).collect()
}
