//! A short look at the cluster, for who wants to know whether a gateway could work with it.

use super::questions::within;
use super::{NoAccess, Settings, client};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::ListParams;
use std::time::Duration;

const ASK_TIME: Duration = Duration::from_secs(5);

/// What was seen of a server that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub version: String,
    /// Where Pods would be made.
    pub namespace: String,
    /// Why Pods there may not be listed.
    pub no_pods: Option<String>,
    /// Why nodes may not be listed.
    pub no_nodes: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum NoSight {
    #[error(transparent)]
    Access(#[from] NoAccess),
    #[error("the API server does not answer: {0}")]
    Server(String),
}

/// Asks the server what it is and what may be seen there; changes nothing.
pub async fn look(settings: &Settings) -> Result<Seen, NoSight> {
    let (client, own_namespace) = client::open(&settings.access).await?;
    let namespace = settings.namespace.clone().unwrap_or(own_namespace);
    let version = within(ASK_TIME, client.apiserver_version()).await;
    let version = version.map_err(|error| NoSight::Server(error.to_string()))?.git_version;
    let (pods, nodes) = (Api::<Pod>::namespaced(client.clone(), &namespace), Api::<Node>::all(client));
    let one = ListParams::default().limit(1);
    let (pods, nodes) = tokio::join!(within(ASK_TIME, pods.list(&one)), within(ASK_TIME, nodes.list(&one)));
    let no_pods = pods.err().map(|error| error.to_string());
    Ok(Seen { version, namespace, no_pods, no_nodes: nodes.err().map(|error| error.to_string()) })
}
