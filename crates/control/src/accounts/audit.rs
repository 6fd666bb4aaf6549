//! Reads the audit log.

use crate::command_error::CommandError;
use store::Store;
use store::audit::{self, Filter, Recorded};

/// Entries, newest first.
pub async fn list(store: &Store, filter: &Filter, limit: u32) -> Result<Vec<Recorded>, CommandError> {
    Ok(audit::list(store, filter, limit).await?)
}
