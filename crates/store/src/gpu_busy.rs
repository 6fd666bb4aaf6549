//! Rows of how busy the GPUs of endpoints were, by windows of five minutes.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::gpu_time::{GpuBusy, WINDOW_MILLIS};
use domain::{EndpointId, Span, Timestamp};
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
