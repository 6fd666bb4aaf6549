//! The record of a batch.

use crate::db::{Query, Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::batches::{Batch, BatchEndpoint, BatchProblem, BatchStatus, LineCounts, LineUsage, OutputExpiry};
use domain::usage::Actor;
use domain::{BatchId, FileId, OrganizationId, RunId, Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

/// The most batches of a page.
pub const MAX_LISTED: u32 = 1_000;
/// Open batches that nodes read at once. More wait.
const MAX_OPEN: u32 = 1_000;

const COLUMNS: &str = "id, organization_id, workspace_id, actor, endpoint, status, model, input_file_id, output_file_id, \
     error_file_id, output_expiry_secs, metadata, problems, lines, succeeded, failed, cancelled, expired, input_tokens, \
     cached_tokens, output_tokens, reasoning_tokens, cost, created_at, in_progress_at, expires_at, finalizing_at, \
     completed_at, failed_at, expired_at, cancelling_at, cancelled_at";

/// Which batches of a workspace are listed, the newest first.
#[derive(Debug, Clone, Copy)]
pub struct BatchQuery<'a> {
    /// Whether only message batches are listed, or only batches of files; `None` for both.
    pub of_messages: Option<bool>,
    /// The last batch of the page before.
    pub after: Option<&'a BatchId>,
    /// The first batch of the page after this one.
    pub before: Option<&'a BatchId>,
    pub limit: u32,
}

/// A batch that has work to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenBatch {
    pub batch: Batch,
    /// No live node reads its input or writes its results.
    pub is_free: bool,
}

/// The JSON of a problem.
#[derive(Serialize, Deserialize)]
struct ProblemRow {
    code: String,
    line: Option<u64>,
    message: String,
    param: Option<String>,
}

/// Inserts a new batch.
pub async fn insert(tx: &mut Tx, new: &Batch) -> Result<(), StoreError> {
    let metadata = new.metadata.as_ref().map(|pairs| serde_json::to_string(pairs).expect("a map of texts"));
    let insert = sqlx::query(
        "INSERT INTO batches (id, organization_id, workspace_id, actor, endpoint, status, is_open, model, input_file_id, \
         output_expiry_secs, metadata, lines, succeeded, failed, cancelled, expired, input_tokens, cached_tokens, \
         output_tokens, reasoning_tokens, cost, created_at, in_progress_at, expires_at, run_id, run_until) \
         VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $8, $9, $10, $11, 0, 0, 0, 0, 0, 0, 0, 0, 0, $12, $13, $14, '', 0)",
    )
    .bind(new.id.as_str())
    .bind(new.organization.as_str())
    .bind(new.workspace.as_str())
    .bind(new.actor.as_str())
    .bind(new.endpoint.as_str())
    .bind(new.status.as_str())
    .bind(new.model.as_deref())
    .bind(new.input_file.as_ref().map(FileId::as_str))
    .bind(new.output_expiry.map(|expiry| row::to_number(expiry.seconds)))
    .bind(metadata)
    .bind(row::to_number(new.counts.total))
    .bind(new.created_at.millis())
    .bind(row::to_optional_millis(new.in_progress_at))
    .bind(new.expires_at.millis());
    tx.execute(insert).await.map(drop)
}

/// Inserts a new batch unless the workspace has `max_open` that are open. Returns whether it was inserted.
pub async fn insert_open(tx: &mut Tx, new: &Batch, max_open: u64) -> Result<bool, StoreError> {
    let open = sqlx::query("SELECT COUNT(*) AS open FROM batches WHERE workspace_id = $1 AND is_open = 1");
    if tx.count(open.bind(new.workspace.as_str()), "open").await? >= max_open {
        return Ok(false);
    }
    insert(tx, new).await?;
    Ok(true)
}

pub async fn find(store: &Store, workspace: &WorkspaceId, id: &BatchId) -> Result<Option<Batch>, StoreError> {
    Ok(find_any(store, id).await?.filter(|batch| batch.workspace == *workspace))
}

/// A batch of any workspace.
pub async fn find_any(store: &Store, id: &BatchId) -> Result<Option<Batch>, StoreError> {
    store.row(by_id(id)).await?.as_ref().map(from_row).transpose()
}

fn by_id(id: &BatchId) -> Query<'_> {
    sqlx::query(AssertSqlSafe(format!("SELECT {COLUMNS} FROM batches WHERE id = $1"))).bind(id.as_str())
}

/// A page of the batches of a workspace.
pub async fn list(store: &Store, workspace: &WorkspaceId, query: BatchQuery<'_>) -> Result<Vec<Batch>, StoreError> {
    let backwards = query.before.is_some() && query.after.is_none();
    let (comparison, order) = if backwards { (">", "ASC") } else { ("<", "DESC") };
    let bound = query.after.or(query.before).map_or("~", BatchId::as_str);
    let api = match query.of_messages {
        None => "",
        Some(true) => "AND endpoint = '/v1/messages'",
        Some(false) => "AND endpoint <> '/v1/messages'",
    };
    let text = format!(
        "SELECT {COLUMNS} FROM batches WHERE workspace_id = $1 AND id {comparison} $2 {api} ORDER BY id {order} LIMIT $3"
    );
    let listed = sqlx::query(AssertSqlSafe(text)).bind(workspace.as_str()).bind(bound);
    let listed = listed.bind(i64::from(query.limit.clamp(1, MAX_LISTED + 1)));
    let mut found: Vec<Batch> = store.rows(listed).await?.iter().map(from_row).collect::<Result<_, _>>()?;
    if backwards {
        found.reverse();
    }
    Ok(found)
}

/// The newest batches of all workspaces, or of one.
pub async fn list_all(store: &Store, workspace: Option<&WorkspaceId>, limit: u32) -> Result<Vec<Batch>, StoreError> {
    let text = format!("SELECT {COLUMNS} FROM batches WHERE $1 = '' OR workspace_id = $1 ORDER BY id DESC LIMIT $2");
    let listed = sqlx::query(AssertSqlSafe(text)).bind(workspace.map_or("", WorkspaceId::as_str));
    store.rows(listed.bind(i64::from(limit.clamp(1, MAX_LISTED)))).await?.iter().map(from_row).collect()
}

/// The batches that have work to do, without metadata and problems: the oldest of each workspace, then the second ones, so that
/// no workspace keeps those of others out of the list.
pub async fn open(store: &Store, now: Timestamp) -> Result<Vec<OpenBatch>, StoreError> {
    // Clients choose how large these are, and nodes read this list all the time.
    let columns =
        COLUMNS.replace("metadata, problems", "CAST(NULL AS TEXT) AS metadata, CAST(NULL AS TEXT) AS problems");
    let text = format!(
        "SELECT {columns}, run_until FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY workspace_id ORDER BY id) AS turn \
         FROM batches WHERE is_open = 1) AS open_batches ORDER BY turn, id LIMIT {MAX_OPEN}"
    );
    let found = store.rows(sqlx::query(AssertSqlSafe(text))).await?;
    let read =
        |found: &AnyRow| Ok(OpenBatch { batch: from_row(found)?, is_free: row::moment(found, "run_until")? <= now });
    found.iter().map(read).collect()
}

/// Makes a run the only one that reads the input or writes the results of a batch until `until`, or renews that. Returns
/// whether it is. Every transaction of that work begins with this.
pub async fn own(tx: &mut Tx, id: &BatchId, run: &RunId, now: Timestamp, until: Timestamp) -> Result<bool, StoreError> {
    let update = sqlx::query(
        "UPDATE batches SET run_id = $2, run_until = $4 WHERE id = $1 AND is_open = 1 AND (run_id = $2 OR run_until <= $3)",
    );
    let update = update.bind(id.as_str()).bind(run.as_str()).bind(now.millis()).bind(until.millis());
    Ok(tx.execute(update).await? > 0)
}

/// The lines of a valid batch may run. Nothing happens if it was cancelled meanwhile.
pub async fn start(
    tx: &mut Tx,
    id: &BatchId,
    model: Option<&str>,
    lines: u64,
    now: Timestamp,
) -> Result<(), StoreError> {
    let update = sqlx::query(
        "UPDATE batches SET lines = $3, model = $4, run_id = '', run_until = 0, \
         status = CASE WHEN status = 'validating' THEN 'in_progress' ELSE status END, \
         in_progress_at = CASE WHEN status = 'validating' THEN $2 ELSE in_progress_at END WHERE id = $1",
    );
    let update = update.bind(id.as_str()).bind(now.millis()).bind(row::to_number(lines)).bind(model);
    tx.execute(update).await.map(drop)
}

/// The input of a batch is invalid. One that was cancelled meanwhile stays so.
pub async fn fail(tx: &mut Tx, id: &BatchId, problems: &[BatchProblem], now: Timestamp) -> Result<(), StoreError> {
    let rows: Vec<ProblemRow> = problems
        .iter()
        .map(|problem| ProblemRow {
            code: problem.code.clone(),
            line: problem.line,
            message: problem.message.clone(),
            param: problem.param.clone(),
        })
        .collect();
    let update = sqlx::query(
        "UPDATE batches SET status = 'failed', is_open = 0, failed_at = $2, problems = $3, run_id = '', run_until = 0 \
         WHERE id = $1 AND status = 'validating'",
    );
    let problems = serde_json::to_string(&rows).expect("problems have only text keys");
    tx.execute(update.bind(id.as_str()).bind(now.millis()).bind(problems)).await?;
    disown(tx, id).await
}

/// Ends what [`own`] began.
pub async fn disown(tx: &mut Tx, id: &BatchId) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE batches SET run_id = '', run_until = 0 WHERE id = $1");
    tx.execute(update.bind(id.as_str())).await.map(drop)
}

/// Begins to cancel a batch, if it can be. Returns the batch as it is then.
pub async fn cancel(
    tx: &mut Tx,
    workspace: Option<&WorkspaceId>,
    id: &BatchId,
    now: Timestamp,
) -> Result<Option<Batch>, StoreError> {
    let update = sqlx::query(
        "UPDATE batches SET status = 'cancelling', cancelling_at = $2 \
         WHERE id = $1 AND ($3 = '' OR workspace_id = $3) AND status IN ('validating', 'in_progress')",
    );
    let owner = workspace.map_or("", WorkspaceId::as_str);
    tx.execute(update.bind(id.as_str()).bind(now.millis()).bind(owner)).await?;
    let found = tx.row(by_id(id)).await?.as_ref().map(from_row).transpose()?;
    Ok(found.filter(|batch| workspace.is_none_or(|owner| batch.workspace == *owner)))
}

/// All lines have ended: the results are being written.
pub async fn start_finalizing(tx: &mut Tx, id: &BatchId, now: Timestamp) -> Result<(), StoreError> {
    let update = sqlx::query(
        "UPDATE batches SET finalizing_at = COALESCE(finalizing_at, $2), \
         status = CASE WHEN status = 'in_progress' THEN 'finalizing' ELSE status END WHERE id = $1",
    );
    tx.execute(update.bind(id.as_str()).bind(now.millis())).await.map(drop)
}

/// The results are written. `lost` lines that had succeeded count as failed.
pub async fn finish(
    tx: &mut Tx,
    id: &BatchId,
    (output, error): (Option<&FileId>, Option<&FileId>),
    status: BatchStatus,
    lost: u64,
    now: Timestamp,
) -> Result<(), StoreError> {
    let column = match status {
        BatchStatus::Expired => "expired_at",
        BatchStatus::Cancelled => "cancelled_at",
        _ => "completed_at",
    };
    let text = format!(
        "UPDATE batches SET status = $2, is_open = 0, {column} = $3, output_file_id = $4, error_file_id = $5, \
         succeeded = succeeded - $6, failed = failed + $6, run_id = '', run_until = 0 WHERE id = $1"
    );
    let update = sqlx::query(AssertSqlSafe(text)).bind(id.as_str()).bind(status.as_str()).bind(now.millis());
    let update = update.bind(output.map(FileId::as_str)).bind(error.map(FileId::as_str));
    tx.execute(update.bind(row::to_number(lost))).await.map(drop)
}

/// Deletes a batch that has ended, and returns whether there was one. Rows of its lines are removed before.
pub async fn delete(tx: &mut Tx, workspace: &WorkspaceId, id: &BatchId) -> Result<bool, StoreError> {
    let delete = sqlx::query("DELETE FROM batches WHERE id = $1 AND workspace_id = $2 AND is_open = 0");
    Ok(tx.execute(delete.bind(id.as_str()).bind(workspace.as_str())).await? > 0)
}

/// Deletes up to `limit` batches that were created before `before` and have ended. Returns their number.
pub async fn remove_old(store: &Store, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let delete = sqlx::query(
        "DELETE FROM batches WHERE id IN (SELECT id FROM batches WHERE created_at < $1 AND is_open = 0 LIMIT $2)",
    );
    store.execute(delete.bind(before.millis()).bind(i64::from(limit))).await
}

fn from_row(found: &AnyRow) -> Result<Batch, StoreError> {
    let file = |column| row::optional_parsed(found, column, |text| FileId::parse(text).ok());
    let moment = |column| row::optional_moment(found, column);
    let metadata = row::optional_text(found, "metadata")?;
    let problems: Vec<ProblemRow> = match row::optional_text(found, "problems")? {
        Some(text) => serde_json::from_str(&text).map_err(|_| row::corrupt("problems"))?,
        None => Vec::new(),
    };
    Ok(Batch {
        id: row::parsed(found, "id", |text| BatchId::parse(text).ok())?,
        organization: row::parsed(found, "organization_id", |text| OrganizationId::parse(text).ok())?,
        workspace: row::parsed(found, "workspace_id", |text| WorkspaceId::parse(text).ok())?,
        actor: row::parsed(found, "actor", Actor::parse)?,
        endpoint: row::parsed(found, "endpoint", BatchEndpoint::parse)?,
        status: row::parsed(found, "status", BatchStatus::parse)?,
        model: row::optional_text(found, "model")?,
        input_file: file("input_file_id")?,
        output_file: file("output_file_id")?,
        error_file: file("error_file_id")?,
        output_expiry: row::optional_count(found, "output_expiry_secs")?.map(|seconds| OutputExpiry { seconds }),
        metadata: metadata.map(|text| serde_json::from_str(&text).map_err(|_| row::corrupt("metadata"))).transpose()?,
        problems: problems
            .into_iter()
            .map(|ProblemRow { code, line, message, param }| BatchProblem { code, line, message, param })
            .collect(),
        counts: LineCounts {
            total: row::count(found, "lines")?,
            succeeded: row::count(found, "succeeded")?,
            failed: row::count(found, "failed")?,
            cancelled: row::count(found, "cancelled")?,
            expired: row::count(found, "expired")?,
        },
        usage: LineUsage {
            input: row::count(found, "input_tokens")?,
            cached: row::count(found, "cached_tokens")?,
            output: row::count(found, "output_tokens")?,
            reasoning: row::count(found, "reasoning_tokens")?,
        },
        cost: row::money(found, "cost")?,
        created_at: row::moment(found, "created_at")?,
        in_progress_at: moment("in_progress_at")?,
        expires_at: row::moment(found, "expires_at")?,
        finalizing_at: moment("finalizing_at")?,
        completed_at: moment("completed_at")?,
        failed_at: moment("failed_at")?,
        expired_at: moment("expired_at")?,
        cancelling_at: moment("cancelling_at")?,
        cancelled_at: moment("cancelled_at")?,
    })
}
