//! Reading the audit log.

use crate::refusal::Refusal;
use store::Store;
use store::audit::{self, Filter, Recorded};

/// The newest entries first.
pub async fn list(store: &Store, filter: &Filter<'_>, limit: u32) -> Result<Vec<Recorded>, Refusal> {
    Ok(audit::list(store, filter, limit).await?)
}
