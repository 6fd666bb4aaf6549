//! Prompt tokens in flight at the replicas of endpoints, sampled periodically, per minute, hour and day.
//!
//! Every node adds what it has in flight. Only the leader's readings count as samples, so that the mean is that of all nodes
//! together; the maximum is the highest reading of one node.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::series::Resolution;
use domain::{Span, Timestamp, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

/// What one node has in flight at a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueReading {
    pub workspace: WorkspaceId,
    pub model: String,
    pub replica: String,
    pub at: Timestamp,
    pub tokens: u64,
    /// Whether it counts as a sample: only on the leader.
    pub is_sample: bool,
}

/// Readings of one replica in one span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedTokens {
    pub starts_at: Timestamp,
    pub model: String,
    pub replica: String,
    pub total: u64,
    pub highest: u64,
    pub samples: u64,
}

/// Adds readings to their minutes, hours and days.
pub async fn add(tx: &mut Tx, readings: &[QueueReading]) -> Result<(), StoreError> {
    let mut ordered: Vec<&QueueReading> = readings.iter().collect();
    // In one order everywhere, so that two nodes cannot deadlock.
    ordered.sort_unstable_by_key(|one| (one.workspace.as_str(), one.model.as_str(), one.replica.as_str(), one.at));
    for resolution in Resolution::ALL {
        for reading in &ordered {
            let upsert = sqlx::query(
                "INSERT INTO prefill_queues (workspace_id, resolution, starts_at, model, replica, total, highest, samples) \
                 VALUES ($1, $2, $3, $4, $5, $6, $6, $7) \
                 ON CONFLICT (workspace_id, resolution, starts_at, model, replica) DO UPDATE SET \
                 total = prefill_queues.total + excluded.total, samples = prefill_queues.samples + excluded.samples, \
                 highest = CASE WHEN excluded.highest > prefill_queues.highest THEN excluded.highest \
                 ELSE prefill_queues.highest END",
            )
            .bind(reading.workspace.as_str())
            .bind(resolution.millis())
            .bind(resolution.start_of(reading.at).millis())
            .bind(reading.model.as_str())
            .bind(reading.replica.as_str())
            .bind(row::to_number(reading.tokens))
            .bind(i64::from(reading.is_sample));
            tx.execute(upsert).await?;
        }
    }
    Ok(())
}

/// Rows of a workspace, or of one of its models. One row more than `most` is read, so that the caller can detect that there
/// are too many.
pub async fn read(
    store: &Store,
    workspace: &WorkspaceId,
    resolution: Resolution,
    span: Span,
    model: Option<&str>,
    most: usize,
) -> Result<Vec<QueuedTokens>, StoreError> {
    let only = if model.is_some() { "AND model = $5 " } else { "" };
    let text = format!(
        "SELECT starts_at, model, replica, total, highest, samples FROM prefill_queues WHERE workspace_id = $1 \
         AND resolution = $2 AND starts_at >= $3 AND starts_at < $4 {only}ORDER BY starts_at LIMIT {}",
        most + 1
    );
    let mut query = sqlx::query(AssertSqlSafe(text))
        .bind(workspace.as_str())
        .bind(resolution.millis())
        .bind(span.from.millis())
        .bind(span.to.millis());
    if let Some(model) = model {
        query = query.bind(model);
    }
    let queued = |found: &AnyRow| {
        Ok(QueuedTokens {
            starts_at: row::moment(found, "starts_at")?,
            model: row::text(found, "model")?,
            replica: row::text(found, "replica")?,
            total: row::count(found, "total")?,
            highest: row::count(found, "highest")?,
            samples: row::count(found, "samples")?,
        })
    };
    store.rows(query).await?.iter().map(queued).collect()
}
