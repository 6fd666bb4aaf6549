//! Changes of this node's downloads, with their audit entries. Other nodes ask for them through the store.

use super::downloads::Downloads;
use super::report::DownloadReport;
use super::users::WeightsUsers;
use crate::catalogue_keeper::Snapshot;
use control::weights::{self, AskedChange, DownloadChange};
use control::{Author, CommandError};
use domain::{DownloadId, Timestamp};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use store::Store;

/// How often a node looks for requests of others.
pub(crate) const ANSWER_PERIOD: Duration = Duration::from_secs(1);

/// Why a download is not changed. `Display` is for the operator. Nodes send it to each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChangeError {
    #[error("there is no such download")]
    Missing,
    #[error("the download is running; cancel it first")]
    Active,
    #[error("the download is {0}")]
    Inactive(String),
    #[error("too many downloads: at most 8 run or wait, and 100 are kept; delete some")]
    TooMany,
    #[error("these models and endpoints use the weights: {0}; delete or change them first")]
    InUse(String),
    #[error("a file cannot be deleted")]
    Files,
}

/// What a node responds to a request for a change.
pub(crate) type Outcome = Result<DownloadReport, ChangeError>;

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) enum ChangeFailure {
    Rejected(#[from] ChangeError),
    Command(#[from] CommandError),
}

/// Makes changes of this node's downloads.
pub(crate) struct DownloadCommands<'a> {
    pub store: &'a Store,
    pub node: &'a str,
    pub downloads: &'a Downloads,
    pub catalogue: Arc<Snapshot>,
}

impl DownloadCommands<'_> {
    /// Makes a change. Returns the download after it, or as it was before it was deleted.
    pub(crate) async fn make(
        &self,
        author: &Author,
        change: DownloadChange,
        id: &DownloadId,
        now: Timestamp,
    ) -> Result<DownloadReport, ChangeFailure> {
        let entry = self.downloads.get(id)?;
        let before = DownloadReport::from(&*entry);
        let users = match change {
            DownloadChange::Cancel | DownloadChange::Resume => Vec::new(),
            DownloadChange::Delete => self.users(&before.weights).await?,
        };
        let make = || match change {
            DownloadChange::Cancel => entry.cancel(),
            DownloadChange::Resume => self.downloads.resume(&entry),
            DownloadChange::Delete if users.is_empty() => self.downloads.delete(id),
            DownloadChange::Delete => Err(ChangeError::InUse(users.join(", "))),
        };
        let make = || make().map_err(ChangeFailure::from);
        weights::change(self.store, author, change, (id, &before.weights, self.node), now, make).await?;
        match change {
            DownloadChange::Cancel => entry.until_inactive().await,
            DownloadChange::Resume => {}
            DownloadChange::Delete => return Ok(before),
        }
        Ok(DownloadReport::from(&*entry))
    }

    async fn users(&self, weights: &str) -> Result<Vec<String>, CommandError> {
        Ok(WeightsUsers::read(self.store, &self.catalogue).await?.of(weights))
    }

    /// Makes the changes that other nodes ask for.
    pub(crate) async fn answer(&self, now: Timestamp) -> Result<(), CommandError> {
        for AskedChange { request, download, change, author } in weights::list_asked(self.store, self.node, now).await?
        {
            let outcome: Outcome = match self.make(&author, change, &download, now).await {
                Ok(report) => Ok(report),
                Err(ChangeFailure::Rejected(error)) => Err(error),
                Err(ChangeFailure::Command(error)) => return Err(error),
            };
            let outcome = serde_json::to_string(&outcome).expect("an outcome has only text keys");
            weights::respond(self.store, &request, &outcome).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_that_asked_reads_the_outcome() {
        for error in [ChangeError::Missing, ChangeError::Inactive("done".to_owned()), ChangeError::TooMany] {
            let outcome: Outcome = Err(error);
            let text = serde_json::to_string(&outcome).unwrap();
            assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome, "{text}");
        }
    }
}
