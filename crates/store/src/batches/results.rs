//! The lines of a batch that have ended.

use super::files::StoredContent;
use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::batches::{LineCounts, LineOutcome, LineUsage};
use domain::{BatchId, NanoUsd};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

/// Rows that one transaction deletes.
const ROWS: u32 = 200;
/// A response may have many megabytes, so results are read by their size, too.
const PAGE_BYTES: u64 = 4 << 20;

/// A line that ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedLine {
    pub batch: BatchId,
    pub number: u64,
    pub custom_id: String,
    pub outcome: LineOutcome,
    /// The status of the response; 0 if there is none.
    pub status: u16,
    /// The body of the response.
    pub content: Option<StoredContent>,
    pub usage: LineUsage,
    pub cost: NanoUsd,
}

impl EndedLine {
    pub fn without_response(batch: BatchId, number: u64, custom_id: String, outcome: LineOutcome) -> Self {
        let (usage, cost) = (LineUsage::default(), NanoUsd::ZERO);
        Self { batch, number, custom_id, outcome, status: 0, content: None, usage, cost }
    }
}

/// A line that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineResult {
    pub number: u64,
    pub custom_id: String,
    pub outcome: LineOutcome,
    pub status: u16,
    pub content: Option<StoredContent>,
}

/// What ended lines add to their batch.
#[derive(Default)]
struct Sums {
    counts: LineCounts,
    usage: LineUsage,
    cost: NanoUsd,
    /// The size of the lines, which are deleted, and of their results.
    line_bytes: u64,
    result_bytes: u64,
}

/// Ends lines, and counts them and their usage. Returns for each whether this transaction ended it: a line that another run
/// has ended before keeps that result, and must not leave another usage event.
pub async fn end_lines(tx: &mut Tx, lines: &[EndedLine]) -> Result<Vec<bool>, StoreError> {
    let mut ended = Vec::with_capacity(lines.len());
    let mut sums: BTreeMap<&str, Sums> = BTreeMap::new();
    for line in lines {
        let delete = sqlx::query(
            "DELETE FROM batch_lines WHERE batch_id = $1 AND number = $2 RETURNING CAST(LENGTH(content) AS BIGINT) AS bytes",
        );
        let deleted = tx.row(delete.bind(line.batch.as_str()).bind(row::to_number(line.number))).await?;
        ended.push(deleted.is_some());
        let Some(deleted) = deleted else { continue };
        let content = line.content.as_ref();
        let insert = sqlx::query(
            "INSERT INTO batch_results (batch_id, number, custom_id, outcome, status, content_key, content) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(line.batch.as_str())
        .bind(row::to_number(line.number))
        .bind(line.custom_id.as_str())
        .bind(line.outcome.as_str())
        .bind(i64::from(line.status))
        .bind(content.and_then(|content| content.key.as_deref()))
        .bind(content.map(|content| content.bytes.as_slice()));
        tx.execute(insert).await?;
        let sum = sums.entry(line.batch.as_str()).or_default();
        sum.counts.count(line.outcome);
        sum.usage += line.usage;
        sum.cost += line.cost;
        sum.line_bytes += row::count(&deleted, "bytes")?;
        sum.result_bytes += content.map_or(0, |content| content.bytes.len() as u64);
    }
    // In the order of the ids, so that two transactions cannot deadlock. A node of an earlier release stores lines without their
    // bytes.
    for (batch, Sums { counts, usage, cost, line_bytes, result_bytes }) in sums {
        let update = sqlx::query(
            "UPDATE batches SET succeeded = succeeded + $2, failed = failed + $3, cancelled = cancelled + $4, \
             expired = expired + $5, input_tokens = input_tokens + $6, cached_tokens = cached_tokens + $7, \
             output_tokens = output_tokens + $8, reasoning_tokens = reasoning_tokens + $9, \
             line_bytes = CASE WHEN line_bytes > $10 THEN line_bytes - $10 ELSE 0 END + $11, \
             cost = cost + $12 WHERE id = $1",
        )
        .bind(batch);
        let LineCounts { total: _, succeeded, failed, cancelled, expired } = counts;
        let LineUsage { input, cached, output, reasoning } = usage;
        let numbers =
            [succeeded, failed, cancelled, expired, input, cached, output, reasoning, line_bytes, result_bytes];
        let update = numbers.into_iter().fold(update, |update, number| update.bind(row::to_number(number)));
        tx.execute(update.bind(cost.nanos())).await?;
    }
    Ok(ended)
}

/// Results with a larger number than `after`, in order; only those that did not succeed if `only_failed`. Up to `limit`, but at most
/// [`PAGE_BYTES`] or one.
pub async fn results(
    store: &Store,
    batch: &BatchId,
    after: u64,
    limit: u32,
    only_failed: bool,
) -> Result<Vec<LineResult>, StoreError> {
    let failed = if only_failed { "AND outcome <> 'succeeded'" } else { "" };
    let text = format!(
        "SELECT number, CAST(COALESCE(LENGTH(content), 0) AS BIGINT) AS bytes FROM batch_results \
         WHERE batch_id = $1 AND number > $2 {failed} ORDER BY number LIMIT $3"
    );
    let query = sqlx::query(AssertSqlSafe(text)).bind(batch.as_str()).bind(row::to_number(after));
    let (mut last, mut total) = (None, 0);
    for found in store.rows(query.bind(i64::from(limit))).await? {
        total += row::count(&found, "bytes")?;
        if total > PAGE_BYTES && last.is_some() {
            break;
        }
        last = Some(row::count(&found, "number")?);
    }
    let Some(last) = last else { return Ok(Vec::new()) };
    let text = format!(
        "SELECT number, custom_id, outcome, status, content_key, content FROM batch_results \
         WHERE batch_id = $1 AND number > $2 AND number <= $3 {failed} ORDER BY number"
    );
    let query = sqlx::query(AssertSqlSafe(text)).bind(batch.as_str()).bind(row::to_number(after));
    store.rows(query.bind(row::to_number(last))).await?.iter().map(from_row).collect()
}

/// Deletes rows of lines whose batch has ended or no longer exists, and returns whether some may be left.
pub async fn clear_ended(store: &Store) -> Result<bool, StoreError> {
    let mut is_left = false;
    for table in ["batch_results", "batch_lines"] {
        let text = format!(
            "DELETE FROM {table} WHERE (batch_id, number) IN (SELECT r.batch_id, r.number FROM {table} r \
             WHERE NOT EXISTS (SELECT 1 FROM batches b WHERE b.id = r.batch_id AND b.is_open = 1) LIMIT {ROWS})"
        );
        is_left |= store.execute(sqlx::query(AssertSqlSafe(text))).await? == u64::from(ROWS);
    }
    Ok(is_left)
}

fn from_row(found: &AnyRow) -> Result<LineResult, StoreError> {
    use sqlx::Row;
    let bytes: Option<Vec<u8>> = found.try_get("content")?;
    let key = row::optional_text(found, "content_key")?;
    Ok(LineResult {
        number: row::count(found, "number")?,
        custom_id: row::text(found, "custom_id")?,
        outcome: row::parsed(found, "outcome", LineOutcome::parse)?,
        status: row::status(found)?,
        content: bytes.map(|bytes| StoredContent { key, bytes }),
    })
}
