//! Rows of how busy the GPUs of endpoints were, by windows of five minutes.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::gpu_time::{GpuBusy, WINDOW_MILLIS};
use domain::{EndpointId, Span, Timestamp, WorkspaceId};
use std::collections::BTreeMap;

/// Writes one window again; `sampled` says whether anything was measured, which the cost view does not ask.
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

/// The windows of an endpoint that overlap a span, by their first moment.
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

/// A window of an endpoint, with what Observability wants to know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    pub endpoint_name: String,
    pub starts_at: Timestamp,
    pub busy: GpuBusy,
    /// Samples of single GPUs; none when nothing was measured.
    pub samples: u64,
}

/// The windows of a workspace's endpoints that begin in a span.
pub async fn of_workspace(store: &Store, workspace: &WorkspaceId, span: Span) -> Result<Vec<Window>, StoreError> {
    let query = sqlx::query(
        "SELECT p.name, w.starts_at, w.busy, w.samples FROM endpoints p JOIN gpu_busy_windows w ON w.endpoint_id = p.id \
         WHERE p.workspace_id = $1 AND w.starts_at >= $2 AND w.starts_at < $3 ORDER BY w.starts_at",
    )
    .bind(workspace.as_str())
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
