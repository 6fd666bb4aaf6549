//! Changes of this node's downloads, with their audit entries. Other nodes ask for them through the store.

mod report;
mod users;

pub use report::DownloadReport;
pub use users::WeightsUsers;

use crate::catalogue_keeper::Snapshot;
use control::node_requests::Request;
use control::{Author, Command, CommandError, weights};
use domain::{DownloadChange, DownloadId, Timestamp, UserId};
use fleet::weights::{ChangeError, Downloads, decide};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::Store;

/// What a node responds to a request for a change.
pub type Outcome = Result<DownloadReport, ChangeError>;

/// A change that an operator asks another node for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RequestText", into = "RequestText")]
pub struct DownloadRequest {
    pub download: DownloadId,
    pub change: DownloadChange,
    pub user: UserId,
    /// The address of the operator's request.
    pub address: String,
}

impl Request for DownloadRequest {
    const KIND: &'static str = "download";

    type Response = Outcome;
}

#[derive(Serialize, Deserialize)]
struct RequestText {
    download: String,
    change: String,
    user: String,
    address: String,
}

impl From<DownloadRequest> for RequestText {
    fn from(DownloadRequest { download, change, user, address }: DownloadRequest) -> Self {
        let (download, change) = (download.to_string(), change.as_str().to_owned());
        Self { download, change, user: user.to_string(), address }
    }
}

impl TryFrom<RequestText> for DownloadRequest {
    type Error = &'static str;

    fn try_from(text: RequestText) -> Result<Self, &'static str> {
        Ok(Self {
            download: DownloadId::parse(&text.download).map_err(|_| "no id of a download")?,
            change: DownloadChange::parse(&text.change).ok_or("an unknown change")?,
            user: UserId::parse(&text.user).map_err(|_| "no id of a user")?,
            address: text.address,
        })
    }
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum ChangeFailure {
    Rejected(#[from] ChangeError),
    Command(#[from] CommandError),
}

/// Makes changes of this node's downloads.
pub struct DownloadCommands<'a> {
    pub store: &'a Store,
    pub node: &'a str,
    pub downloads: &'a Arc<Downloads>,
    pub catalogue: Arc<Snapshot>,
}

impl DownloadCommands<'_> {
    /// Makes a change. Returns the download after it, or as it was before it was deleted.
    pub async fn make(
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
        let command = Command { store: self.store, author, now };
        weights::record_change(command, change, (id, &before.weights, self.node)).await?;
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

    /// Makes a change that another node asks for.
    pub async fn carry_out(&self, request: DownloadRequest, now: Timestamp) -> Result<Outcome, CommandError> {
        let DownloadRequest { download, change, user, address } = request;
        match self.make(&Author::User { id: user, address }, change, &download, now).await {
            Ok(report) => Ok(Ok(report)),
            Err(ChangeFailure::Rejected(error)) => Ok(Err(error)),
            Err(ChangeFailure::Command(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue_keeper;
    use config::Config;
    use control::node_requests::{self, Unwritten};
    use fleet::Connector;
    use fleet::weights::{DownloadState, Order, Weights};
    use store::node_requests::NodeRequest;

    const NOW: Timestamp = Timestamp::from_millis(1);

    fn request(download: &DownloadId, change: DownloadChange) -> DownloadRequest {
        DownloadRequest { download: download.clone(), change, user: UserId::new(NOW, 1), address: "127.0.0.1".into() }
    }

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
            let catalogue = Arc::new(catalogue_keeper::inspect(&store, &config, None).await.unwrap());
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
        let (node, mut unwritten) = (Node::start().await, Unwritten::default());
        let request = NodeRequest {
            id: "one".to_owned(),
            kind: DownloadRequest::KIND.to_owned(),
            request: serde_json::to_string(&request(&node.id, DownloadChange::Cancel)).unwrap(),
        };
        for round in 1..=2 {
            let mut tx = node.store.begin().await.unwrap();
            store::node_requests::remove(&mut tx, &request.id).await.unwrap();
            store::node_requests::ask(&mut tx, "node_a", &request, NOW).await.unwrap();
            tx.commit().await.unwrap();
            let commands = node.commands();
            let carry_out = |request: DownloadRequest| commands.carry_out(request, NOW);
            node_requests::respond(&node.store, "node_a", &mut unwritten, NOW, carry_out).await.unwrap();
            let outcome = store::node_requests::read(&node.store, &request.id).await.unwrap().unwrap();
            let outcome: Outcome = serde_json::from_str(&outcome).unwrap();
            assert_eq!(outcome.unwrap().state, "cancelled", "round {round}");
        }
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
    fn nodes_read_what_others_write() {
        for change in DownloadChange::ALL {
            let request = request(&DownloadId::new(NOW, 1), change);
            let text = serde_json::to_string(&request).unwrap();
            assert_eq!(serde_json::from_str::<DownloadRequest>(&text).unwrap(), request, "{text}");
            assert!(serde_json::from_str::<DownloadRequest>(&text.replace(change.as_str(), "start")).is_err());
        }
        for error in [ChangeError::Missing, ChangeError::Inactive("done".to_owned()), ChangeError::TooMany] {
            let outcome: Outcome = Err(error);
            let text = serde_json::to_string(&outcome).unwrap();
            assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome, "{text}");
        }
    }
}
