//! Failed calls by cause, for the operator.

use crate::db::Store;
use crate::error::StoreError;
use crate::row;
use domain::{RequestId, Span, Timestamp};
use sqlx::any::AnyRow;

/// Causes and models of a report.
const MAX_LISTED: i64 = 200;
/// The most that a call starts after its request id was made.
const MAX_ID_AGE_MILLIS: i64 = 3_600_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorCount {
    pub code: String,
    /// Empty if the calls named no known model.
    pub model: String,
    pub count: u64,
    pub last_at: Timestamp,
}

/// Failed and rejected calls of all workspaces in a span, most frequent first.
///
/// No index of rejected calls begins with their start, but request ids sort by time: those before the span are skipped.
pub async fn count_errors(store: &Store, span: Span) -> Result<Vec<ErrorCount>, StoreError> {
    let query = sqlx::query(
        "SELECT calls.code AS code, calls.model AS model, COUNT(*) AS failed, MAX(calls.started_at) AS last_at FROM \
         (SELECT code, model, started_at FROM usage_failures WHERE started_at >= $1 AND started_at < $2 \
         UNION ALL SELECT code, model, started_at FROM refused_calls WHERE request_id >= $4 AND started_at >= $1 \
         AND started_at < $2) calls \
         GROUP BY calls.code, calls.model ORDER BY failed DESC, code, model LIMIT $3",
    );
    let first_id = RequestId::new(span.from.plus_millis(-MAX_ID_AGE_MILLIS), 0).to_string();
    let query = query.bind(span.from.millis()).bind(span.to.millis()).bind(MAX_LISTED).bind(first_id);
    store.rows(query).await?.iter().map(error_count).collect()
}

fn error_count(found: &AnyRow) -> Result<ErrorCount, StoreError> {
    Ok(ErrorCount {
        code: row::text(found, "code")?,
        model: row::text(found, "model")?,
        count: row::count(found, "failed")?,
        last_at: row::moment(found, "last_at")?,
    })
}
