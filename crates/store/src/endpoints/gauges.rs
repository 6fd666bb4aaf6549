//! Gauges of endpoints and their engines, sampled periodically: sum, maximum and number of samples per minute, hour and day.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::named_enum;
use domain::series::Resolution;
use domain::{Span, Timestamp, WorkspaceId};
use sqlx::any::AnyRow;

named_enum! {
    /// A gauge of the engines of an endpoint, or of the endpoint.
    #[derive(PartialOrd, Ord)]
    pub enum Gauge {
        KvCache = "kv_cache",
        Waiting = "waiting",
        DesiredReplicas = "desired_replicas",
        ReadyReplicas = "ready_replicas",
    }
}

/// One reading; `value` is in thousandths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GaugeReading {
    pub workspace: WorkspaceId,
    pub model: String,
    pub gauge: Gauge,
    pub at: Timestamp,
    pub value: u64,
}

/// Readings of one span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gauged {
    pub starts_at: Timestamp,
    pub model: String,
    pub total: u64,
    pub highest: u64,
    pub samples: u64,
}

/// Adds readings to their minutes, hours and days.
pub async fn add(tx: &mut Tx, readings: &[GaugeReading]) -> Result<(), StoreError> {
    let mut ordered: Vec<&GaugeReading> = readings.iter().collect();
    // In one order everywhere, so that two nodes cannot deadlock.
    ordered.sort_unstable_by_key(|one| (one.workspace.as_str(), one.gauge, one.model.as_str(), one.at));
    for resolution in Resolution::ALL {
        for reading in &ordered {
            let upsert = sqlx::query(
                "INSERT INTO gauges (workspace_id, resolution, name, starts_at, model, total, highest, samples) \
                 VALUES ($1, $2, $3, $4, $5, $6, $6, 1) \
                 ON CONFLICT (workspace_id, resolution, name, starts_at, model) DO UPDATE SET \
                 total = gauges.total + excluded.total, samples = gauges.samples + 1, \
                 highest = CASE WHEN excluded.highest > gauges.highest THEN excluded.highest ELSE gauges.highest END",
            )
            .bind(reading.workspace.as_str())
            .bind(resolution.millis())
            .bind(reading.gauge.as_str())
            .bind(resolution.start_of(reading.at).millis())
            .bind(reading.model.as_str())
            .bind(row::to_number(reading.value));
            tx.execute(upsert).await?;
        }
    }
    Ok(())
}

pub async fn read(
    store: &Store,
    workspace: &WorkspaceId,
    resolution: Resolution,
    gauge: Gauge,
    span: Span,
) -> Result<Vec<Gauged>, StoreError> {
    let query = sqlx::query(
        "SELECT starts_at, model, total, highest, samples FROM gauges WHERE workspace_id = $1 AND resolution = $2 \
         AND name = $3 AND starts_at >= $4 AND starts_at < $5 ORDER BY starts_at",
    )
    .bind(workspace.as_str())
    .bind(resolution.millis())
    .bind(gauge.as_str())
    .bind(span.from.millis())
    .bind(span.to.millis());
    let gauged = |found: &AnyRow| {
        Ok(Gauged {
            starts_at: row::moment(found, "starts_at")?,
            model: row::text(found, "model")?,
            total: row::count(found, "total")?,
            highest: row::count(found, "highest")?,
            samples: row::count(found, "samples")?,
        })
    };
    store.rows(query).await?.iter().map(gauged).collect()
}
