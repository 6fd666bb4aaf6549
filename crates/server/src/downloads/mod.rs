//! Changes of this node's downloads, with their audit entries. Other nodes ask for them through the store.

mod report;
mod users;

pub(crate) use report::DownloadReport;
pub(crate) use users::WeightsUsers;

use crate::catalogue_keeper::Snapshot;
use control::weights::{self, AskedChange};
use control::{Author, CommandError};
use domain::{DownloadChange, DownloadId, Timestamp};
use fleet::weights::{ChangeError, Downloads, decide};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::Store;

/// How often a node looks for requests of others.
pub(crate) const ANSWER_PERIOD: Duration = Duration::from_secs(1);

/// What a node responds to a request for a change.
pub(crate) type Outcome = Result<DownloadReport, ChangeError>;

/// Outcomes as text, by request, until the store has them: a change whose outcome could not be written must not be made
/// again, because a download that was deleted would then be missing.
pub(crate) type Outcomes = BTreeMap<String, String>;

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
    pub downloads: &'a Arc<Downloads>,
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
        let turn = self.downloads.turn().await;
        let entry = self.downloads.get(id).await?;
        let before = DownloadReport::from(&*entry);
        let users = match change {
            DownloadChange::Cancel | DownloadChange::Resume => Vec::new(),
            DownloadChange::Delete => self.users(&before.weights).await?,
        };
        if !users.is_empty() {
            return Err(ChangeError::InUse(users.join(", ")).into());
        }
        decide(change, entry.state(), self.downloads.is_full())?;
        weights::record_change(self.store, author, change, (id, &before.weights, self.node), now).await?;
        self.downloads.make(turn, change, id, &entry).await?;
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
    pub(crate) async fn answer(&self, outcomes: &mut Outcomes, now: Timestamp) -> Result<(), CommandError> {
        let asked = weights::list_asked(self.store, self.node, now).await?;
        outcomes.retain(|request, _| asked.iter().any(|asked| asked.request == *request));
        for AskedChange { request, download, change, author } in asked {
            let outcome = match outcomes.get(&request) {
                Some(outcome) => outcome.clone(),
                None => self.outcome(&author, change, &download, now).await?,
            };
            outcomes.insert(request.clone(), outcome.clone());
            weights::respond(self.store, &request, &outcome).await?;
        }
        Ok(())
    }

    async fn outcome(
        &self,
        author: &Author,
        change: DownloadChange,
        download: &DownloadId,
        now: Timestamp,
    ) -> Result<String, CommandError> {
        let outcome: Outcome = match self.make(author, change, download, now).await {
            Ok(report) => Ok(report),
            Err(ChangeFailure::Rejected(error)) => Err(error),
            Err(ChangeFailure::Command(error)) => return Err(error),
        };
        Ok(serde_json::to_string(&outcome).expect("an outcome has only text keys"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue_keeper;
    use crate::config::Config;
    use domain::UserId;
    use fleet::Connector;
    use fleet::weights::{DownloadState, Order, Weights};
    use store::download_requests::{self, DownloadRequest};

    const NOW: Timestamp = Timestamp::from_millis(1);

    fn order() -> Order {
        Order {
            repository: "acme/tiny".to_owned(),
            commit: "abcdef0".to_owned(),
            files: Vec::new(),
            is_whole: false,
            weights: "hf://acme/tiny@abcdef0/1.gguf".to_owned(),
            license: None,
        }
    }

    struct Node {
        store: Store,
        downloads: Arc<Downloads>,
        catalogue: Arc<Snapshot>,
        /// A download that waits.
        id: DownloadId,
        _scratch: tempfile::TempDir,
    }

    impl Node {
        async fn start() -> Self {
            let scratch = tempfile::tempdir().unwrap();
            let store = Store::open("sqlite:forebay.db", scratch.path()).await.unwrap();
            store.migrate().await.unwrap();
            let config = Config::load(None, &|_| None).unwrap();
            let catalogue = Arc::new(catalogue_keeper::inspect(&store, &config).await.unwrap());
            let weights = Weights::open(&config.weights, Connector::default(), scratch.path(), scratch.path()).unwrap();
            let (downloads, id) = (Arc::clone(weights.downloads()), DownloadId::new(NOW, 1));
            downloads.add(downloads.turn().await, &id, order(), NOW).await.unwrap();
            Self { store, downloads, catalogue, id, _scratch: scratch }
        }

        fn commands(&self) -> DownloadCommands<'_> {
            let (store, catalogue) = (&self.store, Arc::clone(&self.catalogue));
            DownloadCommands { store, node: "node_a", downloads: &self.downloads, catalogue }
        }
    }

    #[tokio::test]
    async fn a_change_is_made_once_if_its_outcome_is_lost() {
        let (node, mut outcomes) = (Node::start().await, Outcomes::new());
        let request = DownloadRequest {
            id: "one".to_owned(),
            download: node.id.clone(),
            change: "cancel".to_owned(),
            user: UserId::new(NOW, 1),
            address: "127.0.0.1".to_owned(),
        };
        for round in 1..=2 {
            let mut tx = node.store.begin().await.unwrap();
            download_requests::remove(&mut tx, &request.id).await.unwrap();
            download_requests::ask(&mut tx, "node_a", &request, NOW).await.unwrap();
            tx.commit().await.unwrap();
            node.commands().answer(&mut outcomes, NOW).await.unwrap();
            let outcome = download_requests::read(&node.store, &request.id).await.unwrap().unwrap();
            let outcome: Outcome = serde_json::from_str(&outcome).unwrap();
            assert_eq!(outcome.unwrap().state, "cancelled", "round {round}");
        }
        node.commands().answer(&mut outcomes, NOW).await.unwrap();
        assert!(outcomes.is_empty(), "the store has them");
    }

    #[tokio::test]
    async fn a_change_is_not_made_without_its_audit_entry() {
        let node = Node::start().await;
        node.store.close().await;
        let cancelled = node.commands().make(&Author::CommandLine, DownloadChange::Cancel, &node.id, NOW).await;
        assert!(matches!(cancelled, Err(ChangeFailure::Command(_))));
        assert_eq!(node.downloads.get(&node.id).await.unwrap().state(), DownloadState::Queued);
    }

    #[test]
    fn the_node_that_asked_reads_the_outcome() {
        for error in [ChangeError::Missing, ChangeError::Inactive("done".to_owned()), ChangeError::TooMany] {
            let outcome: Outcome = Err(error);
            let text = serde_json::to_string(&outcome).unwrap();
            assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome, "{text}");
        }
    }
}
