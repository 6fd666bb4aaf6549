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

/// The measured windows that begin in a step of a chart, added up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredStep {
    /// Empty if all endpoints are added up.
    pub endpoint_name: String,
    pub starts_at: Timestamp,
    pub windows: u64,
    /// Sum over the windows, in millionths.
    pub busy_millionths: u64,
    /// The number of samples of single GPUs.
    pub samples: u64,
    /// Sum over the samples, in millionths.
    pub sampled_millionths: u64,
}

/// Selects and adds up windows.
#[derive(Debug, Clone, Copy)]
pub struct BusyQuery<'a> {
    /// `None` for all.
    pub workspace: Option<&'a WorkspaceId>,
    pub by_endpoint: bool,
    /// Whole steps.
    pub span: Span,
    pub step_millis: i64,
    pub max_rows: usize,
}

/// The measured windows that begin in a span, by step.
pub async fn measured(store: &Store, wanted: BusyQuery<'_>) -> Result<Vec<MeasuredStep>, StoreError> {
    macro_rules! select {
        ($name:literal) => {
            concat!(
                "SELECT ",
                $name,
                " AS name, (w.starts_at - $2) / $4 AS step, CAST(COUNT(*) AS BIGINT) AS windows, \
                 CAST(SUM(w.busy) AS BIGINT) AS busy, CAST(SUM(w.samples) AS BIGINT) AS samples, \
                 CAST(SUM(w.busy * w.samples) AS BIGINT) AS sampled \
                 FROM endpoints p JOIN gpu_busy_windows w ON w.endpoint_id = p.id \
                 WHERE ($1 = '' OR p.workspace_id = $1) AND w.starts_at >= $2 AND w.starts_at < $3 AND w.samples > 0 \
                 GROUP BY 1, 2 ORDER BY 2 LIMIT $5"
            )
        };
    }
    let BusyQuery { workspace, by_endpoint, span, step_millis, max_rows } = wanted;
    let query = sqlx::query(if by_endpoint { select!("p.name") } else { select!("''") })
        .bind(workspace.map_or("", WorkspaceId::as_str))
        .bind(span.from.millis())
        .bind(span.to.millis())
        .bind(step_millis)
        .bind(row::to_number(max_rows as u64));
    let step = |found| {
        Ok(MeasuredStep {
            endpoint_name: row::text(found, "name")?,
            starts_at: span.from.plus_millis(step_millis.saturating_mul(row::number(found, "step")?)),
            windows: row::count(found, "windows")?,
            busy_millionths: row::count(found, "busy")?,
            samples: row::count(found, "samples")?,
            sampled_millionths: row::count(found, "sampled")?,
        })
    };
    store.rows(query).await?.iter().map(step).collect()
}
