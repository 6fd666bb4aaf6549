//! `/api/workspaces/{id}/batches` and `/files`: batches and files of a workspace, for its members.
//!
//! The records are those of `/v1/batches` and `/v1/files`, where a session can also upload, create and download.

use super::error::{self, ConsoleError};
use super::extract::{Id, List, PageRequest, WorkspaceCaller};
use axum::Json;
use control::CommandError;
use control::batches::{BatchError, BatchStorage};
use domain::{Batch, BatchId, FileId, Timestamp};
use node::clock;
use serde::Serialize;
use serde_json::Value;
use store::batches::BatchQuery;
use store::files::FileQuery;
use utoipa::ToSchema;
use view::{BatchView, FileView};

/// Failing lines that a record shows.
const SHOWN_FAILURES: u32 = 10;

/// A batch as `/v1/batches` shows it, and what its workspace wants to know of it.
#[derive(Serialize, ToSchema)]
#[schema(as = WorkspaceBatch)]
pub(crate) struct WorkspaceBatchView {
    #[serde(flatten)]
    batch: BatchView,
    /// The key or the user that created it.
    created_by: String,
    /// What its lines have cost so far. Decimal text in USD.
    cost_usd: String,
    /// When all of its lines will probably have ended, at the speed so far; null if it does not run.
    estimated_end_at: Option<i64>,
    /// Lines that ended per second since it began; null before that.
    lines_per_second: Option<f64>,
}

/// A batch, and its first lines that did not succeed.
#[derive(Serialize, ToSchema)]
#[schema(as = WorkspaceBatchDetails)]
pub(crate) struct BatchDetailsView {
    #[serde(flatten)]
    batch: WorkspaceBatchView,
    /// As in its error file.
    #[schema(value_type = Vec<Object>)]
    failing_lines: Vec<Value>,
}

impl WorkspaceBatchView {
    fn new(batch: Batch, now: Timestamp) -> Self {
        let pace = pace(&batch, now);
        let left = batch.counts.total.saturating_sub(batch.counts.ended());
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "an estimate")]
        let seconds_left = pace.filter(|pace| *pace > 0.0).map(|pace| (left as f64 / pace).ceil() as i64);
        let is_running = batch.status.is_open() && batch.in_progress_at.is_some();
        Self {
            created_by: batch.actor.as_str().to_owned(),
            cost_usd: batch.cost.to_string(),
            estimated_end_at: seconds_left.filter(|_| is_running).map(|seconds| now.seconds() + seconds),
            lines_per_second: pace,
            batch: batch.into(),
        }
    }
}

/// The lines per second since the batch began.
#[expect(clippy::cast_precision_loss, reason = "counts of lines and milliseconds are small")]
fn pace(batch: &Batch, now: Timestamp) -> Option<f64> {
    let until = batch.finalizing_at.or(batch.ended_at()).unwrap_or(now);
    let millis = until.millis_since(batch.in_progress_at?).max(1);
    Some(batch.counts.ended() as f64 * 1_000.0 / millis as f64)
}

fn storage(caller: &WorkspaceCaller) -> &BatchStorage {
    &caller.context.batches
}

/// The batches of a workspace, the newest first, those of both APIs.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/batches", tag = "workspaces", params(PageRequest),
    responses((status = 200, body = List<WorkspaceBatchView>)))]
pub(crate) async fn list(
    caller: WorkspaceCaller,
    page: PageRequest,
) -> Result<Json<List<WorkspaceBatchView>>, ConsoleError> {
    let after = page.cursor().map(BatchId::parse).transpose();
    let after = after.map_err(|_| ConsoleError::invalid("cursor", "not a cursor of this list"))?;
    let query = BatchQuery { of_messages: None, after: after.as_ref(), before: None, limit: page.limit + 1 };
    let found = store::batches::list(caller.store(), &caller.workspace.id, query).await.map_err(CommandError::from)?;
    let now = clock::now();
    let view = |batch| WorkspaceBatchView::new(batch, now);
    Ok(Json(List::new(found, &page, |batch| batch.id.to_string(), view)))
}

/// A batch, with the first lines that did not succeed.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/batches/{batchId}", tag = "workspaces",
    responses((status = 200, body = BatchDetailsView)))]
pub(crate) async fn show(caller: WorkspaceCaller, Id(id): Id<BatchId>) -> Result<Json<BatchDetailsView>, ConsoleError> {
    let batch = storage(&caller).find(&caller.workspace.id, &id).await?;
    let failing_lines = storage(&caller).failing_lines(&batch, SHOWN_FAILURES).await?;
    let batch = WorkspaceBatchView::new(batch, clock::now());
    Ok(Json(BatchDetailsView { batch, failing_lines }))
}

/// Cancel a batch. Lines that have ended keep their results.
#[utoipa::path(post, path = "/api/workspaces/{workspaceId}/batches/{batchId}/cancel", tag = "workspaces",
    responses((status = 200, body = WorkspaceBatchView),
        (status = 409, description = "`batch_not_cancellable`", body = error::ErrorBody)))]
pub(crate) async fn cancel(
    caller: WorkspaceCaller,
    Id(id): Id<BatchId>,
) -> Result<Json<WorkspaceBatchView>, ConsoleError> {
    let batch = storage(&caller).cancel(caller.command(), &caller.workspace.id, &id).await?;
    Ok(Json(WorkspaceBatchView::new(batch, caller.now())))
}

/// The files of a workspace, the newest first.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/files", tag = "workspaces", params(PageRequest),
    responses((status = 200, body = List<FileView>)))]
pub(crate) async fn list_files(
    caller: WorkspaceCaller,
    page: PageRequest,
) -> Result<Json<List<FileView>>, ConsoleError> {
    let after = page.cursor().map(FileId::parse).transpose();
    let after = after.map_err(|_| ConsoleError::invalid("cursor", "not a cursor of this list"))?;
    let query = FileQuery { purpose: None, after: after.as_ref(), newest_first: true, limit: page.limit + 1 };
    let found = store::files::list(caller.store(), &caller.workspace.id, query, clock::now()).await;
    let found = found.map_err(CommandError::from)?;
    Ok(Json(List::new(found, &page, |file| file.id.to_string(), FileView::from)))
}

impl From<BatchError> for ConsoleError {
    fn from(error: BatchError) -> Self {
        match error {
            BatchError::Missing { noun, id } => CommandError::Missing { noun, id }.into(),
            BatchError::Command(error) => error.into(),
            BatchError::NotCancellable { .. } => Self::BatchEnded,
            other => CommandError::Internal { cause: Box::new(other) }.into(),
        }
    }
}
