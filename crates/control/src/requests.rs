//! Reads the request log.

use crate::command_error::CommandError;
use domain::Span;
use store::requests::{self, CallColumn, ErrorCount, Filter, LoggedCall, SortedAfter};
use store::{Order, Store};

/// Most calls in an export, which is read page by page.
pub const MAX_EXPORTED: u64 = 1_000_000;
/// Most calls of a span that is sorted by anything but the time, because each page reads all of them.
pub const MAX_SORTED: u64 = 200_000;

/// The newest calls first.
pub async fn list(store: &Store, filter: &Filter, limit: u32) -> Result<Vec<LoggedCall>, CommandError> {
    Ok(requests::list(store, filter, limit).await?)
}

/// The calls in another order. Rejects a span with too many of them.
pub async fn list_sorted(
    store: &Store,
    filter: &Filter,
    order: Order<CallColumn>,
    after: Option<&SortedAfter>,
    limit: u32,
) -> Result<Vec<LoggedCall>, CommandError> {
    // By time, and for a call that is named by its id, an index has the calls of a page.
    let reads_all = order.by != CallColumn::StartedAt && filter.request.is_none();
    if reads_all && requests::count_sorted(store, filter, MAX_SORTED + 1).await? > MAX_SORTED {
        let why = "at most 200000 calls can be sorted by this: choose a shorter span, or sort by time";
        return Err(CommandError::BadValue { field: "from", why });
    }
    Ok(requests::list_sorted(store, filter, order, after, limit).await?)
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
