//! Audit entries of downloads of weights, whose files are on the machine of a node, not in the store.

use crate::command::{AuditedChange, Command};
use crate::command_error::CommandError;
use crate::entropy;
use domain::{DownloadChange, DownloadId, Timestamp};
use serde_json::json;

/// A download: its id, its weights, and its node.
pub type Subject<'a> = (&'a DownloadId, &'a str, &'a str);

/// A new id.
pub fn new_id(now: Timestamp) -> DownloadId {
    DownloadId::new(now, entropy::for_id())
}

/// Records the start of a download in the audit log. See [`record_change`].
pub async fn record_start(command: Command<'_>, subject: Subject<'_>) -> Result<(), CommandError> {
    record(command, "weights.download", subject).await
}

/// Records a change of a download in the audit log. To be called once the change is decided and before it is made: so a
/// rejected change leaves no entry, without the store no change is made, and no transaction waits for a disk.
pub async fn record_change(
    command: Command<'_>,
    change: DownloadChange,
    subject: Subject<'_>,
) -> Result<(), CommandError> {
    let action = match change {
        DownloadChange::Cancel => "weights.cancel",
        DownloadChange::Resume => "weights.resume",
        DownloadChange::Delete => "weights.delete",
    };
    record(command, action, subject).await
}

async fn record(command: Command<'_>, action: &str, (id, weights, node): Subject<'_>) -> Result<(), CommandError> {
    let mut tx = command.store.begin().await?;
    let after = json!({ "weights": weights, "node": node });
    let entry = AuditedChange::new(action, None, id.as_str()).after(after);
    command.record(&mut tx, entry).await?;
    Ok(tx.commit().await?)
}
