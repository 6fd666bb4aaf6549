//! Records what operators do with downloads of weights. The files are on the machine of a node, not in the store.

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

/// Writes the audit entry of a change, before it is made: no change is without an entry.
pub async fn record(
    store: &Store,
    author: &Author,
    change: DownloadChange,
    (id, weights, node): (&DownloadId, &str, &str),
    now: Timestamp,
) -> Result<(), CommandError> {
    let mut tx = store.begin().await?;
    let after = json!({ "weights": weights, "node": node });
    let entry = AuditedChange::new(change.action(), None, id.as_str()).after(after);
    author.record(&mut tx, entry, now).await?;
    Ok(tx.commit().await?)
}
