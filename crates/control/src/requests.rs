//! Reading the request log.

use crate::command_error::CommandError;
use store::Store;
use store::requests::{self, Filter, Logged};

/// An export has no more calls: it is read page by page while others work.
pub const MAX_EXPORTED: u64 = 1_000_000;

/// The newest calls first.
pub async fn list(store: &Store, filter: &Filter<'_>, limit: u32) -> Result<Vec<Logged>, CommandError> {
    Ok(requests::list(store, filter, limit).await?)
}

/// Refuses what is too much to be exported at once.
pub async fn check_export(store: &Store, filter: &Filter<'_>) -> Result<(), CommandError> {
    if requests::count(store, filter, MAX_EXPORTED + 1).await? <= MAX_EXPORTED {
        return Ok(());
    }
    Err(CommandError::BadValue { field: "from", why: "an export has at most 1000000 calls: name a shorter span" })
}
