//! Reads the request log.

use crate::command_error::CommandError;
use domain::Span;
use store::Store;
use store::requests::{self, ErrorCount, Filter, LoggedCall};

/// Most calls in an export, which is read page by page.
pub const MAX_EXPORTED: u64 = 1_000_000;

/// The newest calls first.
pub async fn list(store: &Store, filter: &Filter, limit: u32) -> Result<Vec<LoggedCall>, CommandError> {
    Ok(requests::list(store, filter, limit).await?)
}

/// Rejects an export with too many calls.
pub async fn check_export(store: &Store, filter: &Filter) -> Result<(), CommandError> {
    if requests::count(store, filter, MAX_EXPORTED + 1).await? <= MAX_EXPORTED {
        return Ok(());
    }
    Err(CommandError::BadValue { field: "from", why: "an export has at most 1000000 calls: choose a shorter span" })
}

/// Failed calls of all workspaces by cause and model, most frequent first.
pub async fn count_errors(store: &Store, span: Span) -> Result<Vec<ErrorCount>, CommandError> {
    Ok(requests::count_errors(store, span).await?)
}
