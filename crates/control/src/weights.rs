//! Audit entries of downloads of weights, whose files are on the machine of a node, not in the store.

use crate::author::{AuditedChange, Author};
use crate::command_error::CommandError;
use crate::entropy;
use domain::{DownloadChange, DownloadId, Timestamp};
use serde_json::json;
use store::Store;

/// A download: its id, its weights, and its node.
pub type Subject<'a> = (&'a DownloadId, &'a str, &'a str);

/// A new id.
pub fn new_id(now: Timestamp) -> DownloadId {
    DownloadId::new(now, entropy::for_id())
}

/// Records the start of a download in the audit log. See [`record_change`].
pub async fn record_start(
    store: &Store,
    author: &Author,
    subject: Subject<'_>,
    now: Timestamp,
) -> Result<(), CommandError> {
    record(store, author, "weights.download", subject, now).await
}

/// Records a change of a download in the audit log. To be called once the change is decided and before it is made: so a
/// rejected change leaves no entry, without the store no change is made, and no transaction waits for a disk.
pub async fn record_change(
    store: &Store,
    author: &Author,
    change: DownloadChange,
    subject: Subject<'_>,
    now: Timestamp,
) -> Result<(), CommandError> {
    let action = match change {
        DownloadChange::Cancel => "weights.cancel",
        DownloadChange::Resume => "weights.resume",
        DownloadChange::Delete => "weights.delete",
    };
    record(store, author, action, subject, now).await
}

async fn record(
    store: &Store,
    author: &Author,
    action: &str,
    (id, weights, node): Subject<'_>,
    now: Timestamp,
) -> Result<(), CommandError> {
    let mut tx = store.begin().await?;
    let after = json!({ "weights": weights, "node": node });
    let entry = AuditedChange::new(action, None, id.as_str()).after(after);
    author.record(&mut tx, entry, now).await?;
    Ok(tx.commit().await?)
}
