//! Changes of downloads of weights, with their audit entries. The files are on the machine of a node, not in the store: an
//! operator who is connected to another node asks that node through the store. See [`store::download_requests`].

use crate::author::{AuditedChange, Author};
use crate::command_error::CommandError;
use crate::{entropy, node_requests};
use domain::{DownloadChange, DownloadId, Timestamp, UserId};
use serde_json::json;
use store::download_requests::{self, DownloadRequest};
use store::{Store, StoreError};

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

/// Asks `node` for a change of a download on its machine. Returns the outcome that it writes.
pub async fn ask(
    store: &Store,
    (user, address): (&UserId, &str),
    change: DownloadChange,
    (download, node): (&DownloadId, &str),
    now: Timestamp,
) -> Result<String, CommandError> {
    let request = DownloadRequest {
        id: format!("{:032x}", entropy::for_id()),
        download: download.clone(),
        change: change.as_str().to_owned(),
        user: user.clone(),
        address: address.to_owned(),
    };
    let mut tx = store.begin().await?;
    download_requests::ask(&mut tx, node, &request, now).await?;
    tx.commit().await?;
    let outcome = node_requests::wait(|| download_requests::read(store, &request.id)).await;
    let mut tx = store.begin().await?;
    download_requests::remove(&mut tx, &request.id).await?;
    tx.commit().await?;
    outcome?.ok_or_else(|| CommandError::NodeUnresponsive { node: node.to_owned() })
}

/// A request of an operator who is connected to another node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedChange {
    pub request: String,
    pub download: DownloadId,
    pub change: DownloadChange,
    pub author: Author,
}

/// The changes that other nodes ask `node` for and still wait for.
pub async fn list_asked(store: &Store, node: &str, now: Timestamp) -> Result<Vec<AskedChange>, CommandError> {
    let timeout = i64::try_from(node_requests::TIMEOUT.as_millis()).unwrap_or(i64::MAX);
    let open = download_requests::list_open(store, node, now.plus_millis(-timeout)).await?;
    let asked = |request: DownloadRequest| {
        Some(AskedChange {
            // A newer version may ask for what this one does not know.
            change: DownloadChange::parse(&request.change)?,
            request: request.id,
            download: request.download,
            author: Author::User { id: request.user, address: request.address },
        })
    };
    Ok(open.into_iter().filter_map(asked).collect())
}

/// Writes the outcome of a change that another node asked for.
pub async fn respond(store: &Store, request: &str, outcome: &str) -> Result<(), StoreError> {
    let mut tx = store.begin().await?;
    download_requests::respond(&mut tx, request, outcome).await?;
    tx.commit().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_as_they_are_written() {
        for change in DownloadChange::ALL {
            assert_eq!(DownloadChange::parse(change.as_str()), Some(change));
        }
        assert_eq!(DownloadChange::parse("start"), None);
    }
}
