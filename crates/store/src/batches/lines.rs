//! The lines of a batch that have not ended.

use super::files::{FileBound, FullStorage, StoredContent, content};
use super::results::{EndedLine, end_lines};
use crate::db::{Engine, Store, Tx};
use crate::error::StoreError;
use crate::row;
use crate::stored_bytes::MaxBytes;
use crate::values::{chunks, insert_shared_text};
use domain::batches::{Batch, LineOutcome};
use domain::{BatchId, RunId, Timestamp, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

/// Lines that one transaction ends or deletes.
const LINES: u32 = 500;
/// Lines are in memory from here on, so they are taken by their size, too.
const CLAIMED_BYTES: u64 = 16 << 20;

/// A line to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLine {
    /// From 1.
    pub number: u64,
    pub custom_id: String,
    pub content: StoredContent,
}

/// A line that a run has taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedLine {
    pub batch: BatchId,
    pub number: u64,
    pub custom_id: String,
    pub content: StoredContent,
    /// Attempts before this one.
    pub attempts: u32,
}

/// Why and until when a line waits after an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deferral {
    pub available_at: Timestamp,
    /// The code of the attempt. For operators who read the table; no code reads it.
    pub code: String,
    /// Whether the attempt counts as one.
    pub counts: bool,
}

/// Waiting lines of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuedLines(pub u64);

/// Adds lines, which may be taken at once.
pub async fn insert_lines(tx: &mut Tx, batch: &BatchId, lines: &[NewLine]) -> Result<(), StoreError> {
    let bytes = lines.iter().map(|line| line.content.bytes.len() as u64).sum();
    let grow = sqlx::query("UPDATE batches SET line_bytes = line_bytes + $2 WHERE id = $1");
    tx.execute(grow.bind(batch.as_str()).bind(row::to_number(bytes))).await?;
    for chunk in chunks(lines) {
        let shared = "batch_id, run_id, available_at, attempts, last_code";
        let own = "number, custom_id, content_key, content";
        let text = insert_shared_text(tx.engine(), "batch_lines", shared, own, chunk.len());
        let mut insert = sqlx::query(AssertSqlSafe(text));
        for line in chunk {
            let content = &line.content;
            insert = insert.bind(row::to_number(line.number)).bind(line.custom_id.as_str());
            insert = insert.bind(content.key.as_deref()).bind(content.bytes.as_slice());
        }
        tx.execute(insert.bind(batch.as_str()).bind("").bind(0_i64).bind(0_i64).bind("")).await?;
    }
    Ok(())
}

/// Deletes lines of a batch that has no results, and returns whether some may be left.
pub async fn clear_lines(tx: &mut Tx, batch: &BatchId) -> Result<bool, StoreError> {
    let text = format!(
        "DELETE FROM batch_lines WHERE batch_id = $1 AND number IN \
         (SELECT number FROM batch_lines WHERE batch_id = $1 ORDER BY number LIMIT {LINES})"
    );
    let is_left = tx.execute(sqlx::query(AssertSqlSafe(text)).bind(batch.as_str())).await? == u64::from(LINES);
    if !is_left {
        let clear = sqlx::query("UPDATE batches SET line_bytes = 0 WHERE id = $1");
        tx.execute(clear.bind(batch.as_str())).await?;
    }
    Ok(is_left)
}

/// The lines of the open batches of a workspace that have not ended.
pub async fn queued(tx: &mut Tx, workspace: &WorkspaceId) -> Result<QueuedLines, StoreError> {
    let query = sqlx::query(
        "SELECT CAST(COALESCE(SUM(lines - succeeded - failed - cancelled - expired), 0) AS BIGINT) AS lines FROM batches \
         WHERE workspace_id = $1 AND is_open = 1",
    );
    tx.count(query.bind(workspace.as_str()), "lines").await.map(QueuedLines)
}

/// The bound of `max` that `more` bytes of lines of an open batch would exceed. Lines count until they have ended, and results
/// until they are in files. Results are stored past every bound, so an organization counts for at most its own: what it has
/// beyond leaves the others their room.
pub async fn lines_exceed(
    tx: &mut Tx,
    batch: &Batch,
    more: u64,
    max: MaxBytes,
) -> Result<Option<FullStorage>, StoreError> {
    let query = sqlx::query(
        "SELECT b.organization_id, CAST(SUM(CASE WHEN b.line_bytes > 0 THEN b.line_bytes ELSE 0 END) AS BIGINT) AS bytes, \
         CAST(SUM(CASE WHEN b.workspace_id = $1 AND b.line_bytes > 0 THEN b.line_bytes ELSE 0 END) AS BIGINT) AS own, \
         MAX(o.max_stored_bytes) AS bound FROM batches b LEFT JOIN organizations o ON o.id = b.organization_id \
         WHERE b.is_open = 1 GROUP BY b.organization_id",
    );
    let full = |bound, limit| Ok(Some(FullStorage { bound, limit }));
    let mut total = more;
    for found in tx.rows(query.bind(batch.workspace.as_str())).await? {
        let bytes = row::count(&found, "bytes")?;
        let bound = row::optional_count(&found, "bound")?.unwrap_or(max.organization);
        if row::count(&found, "own")? + more > max.workspace {
            return full(FileBound::Workspace, max.workspace);
        }
        if row::text(&found, "organization_id")? == batch.organization.as_str() && bytes + more > bound {
            return full(FileBound::Organization, bound);
        }
        total += bytes.min(bound);
    }
    if total > max.total { full(FileBound::Total, max.total) } else { Ok(None) }
}

/// Takes up to `limit` lines until `until`, but at most [`CLAIMED_BYTES`] or one line. No two runs take the same line.
pub async fn claim(
    tx: &mut Tx,
    batch: &BatchId,
    run: &RunId,
    (now, until): (Timestamp, Timestamp),
    limit: u32,
) -> Result<Vec<ClaimedLine>, StoreError> {
    let text = format!(
        "SELECT number, CAST(LENGTH(content) AS BIGINT) AS bytes FROM batch_lines WHERE batch_id = $1 AND available_at <= $2 \
         ORDER BY available_at, number LIMIT $3{}",
        skip_locked(tx.engine())
    );
    let select = sqlx::query(AssertSqlSafe(text)).bind(batch.as_str()).bind(now.millis()).bind(i64::from(limit));
    let (mut numbers, mut total) = (Vec::new(), 0);
    for found in tx.rows(select).await? {
        total += row::count(&found, "bytes")?;
        if total > CLAIMED_BYTES && !numbers.is_empty() {
            break;
        }
        numbers.push(row::count(&found, "number")?);
    }
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let text = format!(
        "UPDATE batch_lines SET run_id = $2, available_at = $3 WHERE batch_id = $1 AND number IN ({}) \
         RETURNING batch_id, number, custom_id, content_key, content, attempts",
        listed(&numbers)
    );
    let update = sqlx::query(AssertSqlSafe(text)).bind(batch.as_str()).bind(run.as_str()).bind(until.millis());
    tx.rows(update).await?.iter().map(claimed).collect()
}

/// On SQLite, transactions that write exclude each other.
const fn skip_locked(engine: Engine) -> &'static str {
    match engine {
        Engine::Sqlite => "",
        Engine::Postgres => " FOR UPDATE SKIP LOCKED",
    }
}

/// Keeps lines of a run until `until`.
pub async fn renew(
    store: &Store,
    run: &RunId,
    batch: &BatchId,
    numbers: &[u64],
    until: Timestamp,
) -> Result<(), StoreError> {
    let text = format!(
        "UPDATE batch_lines SET available_at = $3 WHERE batch_id = $1 AND run_id = $2 AND number IN ({})",
        listed(numbers)
    );
    let update = sqlx::query(AssertSqlSafe(text)).bind(batch.as_str()).bind(run.as_str());
    store.execute(update.bind(until.millis())).await.map(drop)
}

/// `1, 2, 3`.
fn listed(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// Gives the lines of a run back, because it ends.
pub async fn release(store: &Store, run: &RunId) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE batch_lines SET run_id = '', available_at = 0 WHERE run_id = $1 AND run_id <> ''");
    store.execute(update.bind(run.as_str())).await.map(drop)
}

/// Lets a line that a run has taken wait.
pub async fn defer(tx: &mut Tx, line: (&BatchId, u64), run: &RunId, deferral: &Deferral) -> Result<(), StoreError> {
    let update = sqlx::query(
        "UPDATE batch_lines SET run_id = '', available_at = $4, last_code = $5, attempts = attempts + $6 \
         WHERE batch_id = $1 AND number = $2 AND run_id = $3",
    );
    let Deferral { available_at, code, counts } = deferral;
    let update = update.bind(line.0.as_str()).bind(row::to_number(line.1)).bind(run.as_str());
    tx.execute(update.bind(available_at.millis()).bind(code.as_str()).bind(i64::from(*counts))).await.map(drop)
}

/// Ends lines that no node runs with this outcome, and returns whether some may be left.
pub async fn end_waiting(
    tx: &mut Tx,
    batch: &BatchId,
    outcome: LineOutcome,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let text = format!(
        "SELECT number, custom_id FROM batch_lines WHERE batch_id = $1 AND (run_id = '' OR available_at <= $2) \
         ORDER BY number LIMIT {LINES}{}",
        skip_locked(tx.engine())
    );
    let found = tx.rows(sqlx::query(AssertSqlSafe(text)).bind(batch.as_str()).bind(now.millis())).await?;
    let mut ended = Vec::with_capacity(found.len());
    for found in &found {
        let (number, custom_id) = (row::count(found, "number")?, row::text(found, "custom_id")?);
        ended.push(EndedLine::without_response(batch.clone(), number, custom_id, outcome));
    }
    end_lines(tx, &ended).await?;
    Ok(ended.len() == LINES as usize)
}

fn claimed(found: &AnyRow) -> Result<ClaimedLine, StoreError> {
    Ok(ClaimedLine {
        batch: row::parsed(found, "batch_id", |text| BatchId::parse(text).ok())?,
        number: row::count(found, "number")?,
        custom_id: row::text(found, "custom_id")?,
        content: content(found)?,
        attempts: row::small(found, "attempts")?,
    })
}
