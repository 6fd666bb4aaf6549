//! The audit log of downloads of weights. The files are on the machine of a node, not in the store.

use crate::author::{AuditedChange, Author};
use crate::command_error::CommandError;
use domain::{DownloadId, Timestamp};
use serde_json::json;
use store::Store;

/// A change of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DownloadChange {
    Start,
    Cancel,
    Resume,
    Delete,
}

impl DownloadChange {
    const fn action(self) -> &'static str {
        match self {
            Self::Start => "weights.download",
            Self::Cancel => "weights.cancel",
            Self::Resume => "weights.resume",
            Self::Delete => "weights.delete",
        }
    }
}

/// A new id.
pub fn new_id(now: Timestamp) -> DownloadId {
    DownloadId::new(now, crate::entropy::for_id())
}

/// Makes a change of a download of `node` together with its audit entry: a rejected change leaves none, and without the
/// store no change is made. `make` must not wait, because the transaction of the entry is open meanwhile.
pub async fn change<T, E: From<CommandError>>(
    store: &Store,
    author: &Author,
    change: DownloadChange,
    (id, weights, node): (&DownloadId, &str, &str),
    now: Timestamp,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let mut tx = store.begin().await.map_err(CommandError::from)?;
    let after = json!({ "weights": weights, "node": node });
    let entry = AuditedChange::new(change.action(), None, id.as_str()).after(after);
    author.record(&mut tx, entry, now).await.map_err(CommandError::from)?;
    let made = make()?;
    tx.commit().await.map_err(CommandError::from)?;
    Ok(made)
}
