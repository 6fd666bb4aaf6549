//! Files and batches, in the format of OpenAI's API, which `/api` uses for them, too.

use domain::batches::{Batch, BatchProblem, COMPLETION_WINDOW};
use domain::{StoredFile, Timestamp};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = File)]
pub struct FileView {
    id: String,
    /// `file`
    object: &'static str,
    bytes: u64,
    /// In seconds since 1970, as all times here.
    created_at: i64,
    expires_at: i64,
    filename: String,
    /// `batch`, or `batch_output` for results.
    purpose: &'static str,
    /// `processed`
    status: &'static str,
}

impl From<StoredFile> for FileView {
    fn from(file: StoredFile) -> Self {
        Self {
            id: file.id.to_string(),
            object: "file",
            bytes: file.bytes,
            created_at: file.created_at.seconds(),
            expires_at: file.expires_at.seconds(),
            filename: file.filename,
            purpose: file.purpose.as_str(),
            status: "processed",
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Batch)]
pub struct BatchView {
    id: String,
    /// `batch`
    object: &'static str,
    /// Such as `/v1/chat/completions`.
    endpoint: &'static str,
    /// The model of all lines; null if they name several, and before they were read.
    model: Option<String>,
    /// Null unless the input is invalid.
    errors: Option<BatchErrorList>,
    /// Null for message batches.
    input_file_id: Option<String>,
    /// `24h`
    completion_window: &'static str,
    /// `validating`, `in_progress`, `finalizing`, `completed`, `failed`, `expired`, `cancelling` or `cancelled`.
    status: &'static str,
    /// Set once the batch has ended and a line has succeeded.
    output_file_id: Option<String>,
    /// Set once the batch has ended and a line has not succeeded. Null for message batches, whose output file has all.
    error_file_id: Option<String>,
    created_at: i64,
    in_progress_at: Option<i64>,
    expires_at: i64,
    finalizing_at: Option<i64>,
    completed_at: Option<i64>,
    failed_at: Option<i64>,
    expired_at: Option<i64>,
    cancelling_at: Option<i64>,
    cancelled_at: Option<i64>,
    request_counts: RequestCounts,
    usage: BatchUsage,
    metadata: Option<BTreeMap<String, String>>,
}

/// Why the input of a batch is invalid.
#[derive(Debug, Serialize, ToSchema)]
struct BatchErrorList {
    /// `list`
    object: &'static str,
    data: Vec<BatchErrorView>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BatchError)]
struct BatchErrorView {
    code: String,
    /// The line of the input file, from 1.
    line: Option<u64>,
    message: String,
    /// The member of the line at fault.
    param: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BatchRequestCounts)]
struct RequestCounts {
    total: u64,
    completed: u64,
    /// Lines of the error file.
    failed: u64,
}

#[derive(Debug, Serialize, ToSchema)]
struct BatchUsage {
    input_tokens: u64,
    input_tokens_details: InputTokensDetails,
    output_tokens: u64,
    output_tokens_details: OutputTokensDetails,
    total_tokens: u64,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BatchInputTokensDetails)]
struct InputTokensDetails {
    cached_tokens: u64,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BatchOutputTokensDetails)]
struct OutputTokensDetails {
    reasoning_tokens: u64,
}

impl From<Batch> for BatchView {
    fn from(batch: Batch) -> Self {
        let seconds = |moment: Option<Timestamp>| moment.map(Timestamp::seconds);
        let problems = batch.problems.into_iter().map(BatchErrorView::from).collect::<Vec<_>>();
        let usage = batch.usage;
        Self {
            id: batch.id.to_string(),
            object: "batch",
            endpoint: batch.endpoint.as_str(),
            model: batch.model,
            errors: (!problems.is_empty()).then_some(BatchErrorList { object: "list", data: problems }),
            input_file_id: batch.input_file.map(|id| id.to_string()),
            completion_window: COMPLETION_WINDOW,
            status: batch.status.as_str(),
            output_file_id: batch.output_file.map(|id| id.to_string()),
            error_file_id: batch.error_file.filter(|_| !batch.endpoint.is_messages()).map(|id| id.to_string()),
            created_at: batch.created_at.seconds(),
            in_progress_at: seconds(batch.in_progress_at),
            expires_at: batch.expires_at.seconds(),
            finalizing_at: seconds(batch.finalizing_at),
            completed_at: seconds(batch.completed_at),
            failed_at: seconds(batch.failed_at),
            expired_at: seconds(batch.expired_at),
            cancelling_at: seconds(batch.cancelling_at),
            cancelled_at: seconds(batch.cancelled_at),
            request_counts: RequestCounts {
                total: batch.counts.total,
                completed: batch.counts.succeeded,
                failed: batch.counts.unsuccessful(),
            },
            usage: BatchUsage {
                input_tokens: usage.input,
                input_tokens_details: InputTokensDetails { cached_tokens: usage.cached },
                output_tokens: usage.output,
                output_tokens_details: OutputTokensDetails { reasoning_tokens: usage.reasoning },
                total_tokens: usage.input.saturating_add(usage.output),
            },
            metadata: batch.metadata,
        }
    }
}

impl From<BatchProblem> for BatchErrorView {
    fn from(problem: BatchProblem) -> Self {
        let BatchProblem { code, line, message, param } = problem;
        Self { code, line, message, param }
    }
}
