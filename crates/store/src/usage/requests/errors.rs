//! Failed calls by cause, for the operator.

use crate::db::Store;
use crate::error::StoreError;
use crate::row;
use domain::usage::CLIENT_GONE;
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

/// A disconnected client is not a failure. SQLite joins the tables of a CROSS JOIN in their order. No index of rejected calls begins with their start, but
/// request ids sort by time: those before the span are skipped.
const COUNT_ERRORS: &str = "SELECT calls.code AS code, calls.model AS model, COUNT(*) AS failed, MAX(calls.started_at) AS last_at FROM \
     (SELECT c.code, k.model, c.started_at FROM usage_calls c CROSS JOIN usage_kinds k \
     WHERE k.id = c.kind AND c.code <> '' AND c.code <> $5 AND c.started_at >= $1 AND c.started_at < $2 \
     UNION ALL SELECT code, model, started_at FROM refused_calls WHERE request_id >= $4 AND started_at >= $1 \
     AND started_at < $2) calls \
     GROUP BY calls.code, calls.model ORDER BY failed DESC, code, model LIMIT $3";

/// Failed and rejected calls of all workspaces in a span, most frequent first.
pub async fn count_errors(store: &Store, span: Span) -> Result<Vec<ErrorCount>, StoreError> {
    let first_id = RequestId::new(span.from.plus_millis(-MAX_ID_AGE_MILLIS), 0).to_string();
    let query = sqlx::query(COUNT_ERRORS).bind(span.from.millis()).bind(span.to.millis());
    store.rows(query.bind(MAX_LISTED).bind(first_id).bind(CLIENT_GONE)).await?.iter().map(error_count).collect()
}

fn error_count(found: &AnyRow) -> Result<ErrorCount, StoreError> {
    Ok(ErrorCount {
        code: row::text(found, "code")?,
        model: row::text(found, "model")?,
        count: row::count(found, "failed")?,
        last_at: row::moment(found, "last_at")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlx::AssertSqlSafe;

    #[tokio::test]
    async fn only_calls_of_the_span_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open("sqlite:forebay.db", folder.path()).await.unwrap();
        store.migrate().await.unwrap();
        let query = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {COUNT_ERRORS}")));
        let rows = store.rows(query.bind(0_i64).bind(1_i64).bind(MAX_LISTED).bind("a")).await.unwrap();
        let plan: Vec<String> = rows.iter().map(|step| row::text(step, "detail").unwrap()).collect();
        let of_calls = plan.iter().find(|step| step.contains(" c ")).expect("a step reads the calls");
        assert!(of_calls.starts_with("SEARCH c USING INDEX usage_calls_failed_by_time"), "{plan:?}");
        let of_rejected = plan.iter().find(|step| step.contains("refused_calls")).expect("a step reads rejected calls");
        assert!(of_rejected.starts_with("SEARCH") && of_rejected.contains("(request_id>?"), "{plan:?}");
    }
}
