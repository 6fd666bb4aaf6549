//! Prompt tokens in flight at the replicas of endpoints and of models, sampled periodically, per minute, hour and day.
//!
//! Every node adds what it has in flight. If nodes share a replica, only the leader's readings count as samples, so that the
//! mean is that of all nodes together; the maximum is the highest reading of one node.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use crate::values::{chunks, insert_text};
use domain::series::Resolution;
use domain::{Span, Timestamp, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

/// What one node has in flight at a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueReading {
    /// The workspace of an endpoint; `None` for a model of the catalogue.
    pub workspace: Option<WorkspaceId>,
    pub model: String,
    pub replica: String,
    pub at: Timestamp,
    pub tokens: u64,
    /// Whether it counts as a sample: on one node only, if several call the replica.
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

/// The key of a row. The order of the fields is the order in which every transaction writes its rows, so that two nodes
/// cannot deadlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RowKey<'a> {
    resolution: i64,
    workspace: &'a str,
    model: &'a str,
    replica: &'a str,
    starts_at: i64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    total: u64,
    highest: u64,
    samples: u64,
}

/// Adds readings to their minutes, hours and days.
pub async fn add(tx: &mut Tx, readings: &[QueueReading]) -> Result<(), StoreError> {
    const COLUMNS: &str = "workspace_id, resolution, starts_at, model, replica, total, highest, samples";
    let rows: Vec<(RowKey<'_>, Sums)> = gather(readings).into_iter().collect();
    for chunk in chunks(&rows) {
        let text = insert_text(tx.engine(), "prefill_queues", COLUMNS, chunk.len());
        let text = format!(
            "{text} ON CONFLICT (workspace_id, resolution, starts_at, model, replica) DO UPDATE SET \
             total = prefill_queues.total + excluded.total, samples = prefill_queues.samples + excluded.samples, \
             highest = CASE WHEN excluded.highest > prefill_queues.highest THEN excluded.highest \
             ELSE prefill_queues.highest END"
        );
        let mut upsert = sqlx::query(AssertSqlSafe(text));
        for (key, sums) in chunk {
            upsert = upsert.bind(key.workspace).bind(key.resolution).bind(key.starts_at).bind(key.model);
            upsert = upsert.bind(key.replica);
            for sum in [sums.total, sums.highest, sums.samples] {
                upsert = upsert.bind(row::to_number(sum));
            }
        }
        tx.execute(upsert).await?;
    }
    Ok(())
}

/// Adds up the readings of each row, since a statement cannot write a row twice.
fn gather(readings: &[QueueReading]) -> BTreeMap<RowKey<'_>, Sums> {
    let mut rows: BTreeMap<RowKey<'_>, Sums> = BTreeMap::new();
    for resolution in Resolution::ALL {
        for reading in readings {
            let key = RowKey {
                resolution: resolution.millis(),
                workspace: owner(reading.workspace.as_ref()),
                model: &reading.model,
                replica: &reading.replica,
                starts_at: resolution.start_of(reading.at).millis(),
            };
            let sums = rows.entry(key).or_default();
            sums.total = sums.total.saturating_add(reading.tokens);
            sums.highest = sums.highest.max(reading.tokens);
            sums.samples += u64::from(reading.is_sample);
        }
    }
    rows
}

/// The column `workspace_id`, which is empty for models of the catalogue.
fn owner(workspace: Option<&WorkspaceId>) -> &str {
    workspace.map_or("", WorkspaceId::as_str)
}

/// Rows of a workspace's endpoints, or of the models of the catalogue if it is `None`; all of them, or only one `model`. One
/// row more than `most` is read, so that the caller can detect that there are too many.
pub async fn read(
    store: &Store,
    workspace: Option<&WorkspaceId>,
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
        .bind(owner(workspace))
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
