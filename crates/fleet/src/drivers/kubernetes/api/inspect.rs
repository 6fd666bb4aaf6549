//! A short look at the cluster, for who wants to know whether a gateway could work with it.

use super::client::{self, AccessError};
use super::requests::within;
use crate::drivers::kubernetes::Settings;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::ListParams;
use std::time::Duration;

const ASK_TIME: Duration = Duration::from_secs(5);

/// What was seen of a server that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterInfo {
    pub version: String,
    /// Where Pods would be made.
    pub namespace: String,
    /// Why Pods there may not be listed.
    pub no_pods: Option<String>,
    /// Why nodes may not be listed.
    pub no_nodes: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("the API server does not answer: {0}")]
    Server(String),
}

/// Asks the server what it is and what may be seen there; changes nothing.
pub async fn inspect(settings: &Settings) -> Result<ClusterInfo, InspectError> {
    let (client, own_namespace) = client::open(&settings.access).await?;
    let namespace = settings.namespace.clone().unwrap_or(own_namespace);
    let version = within(ASK_TIME, client.apiserver_version()).await;
    let version = version.map_err(|error| InspectError::Server(error.to_string()))?.git_version;
    let (pods, nodes) = (Api::<Pod>::namespaced(client.clone(), &namespace), Api::<Node>::all(client));
    let one = ListParams::default().limit(1);
    let (pods, nodes) = tokio::join!(within(ASK_TIME, pods.list(&one)), within(ASK_TIME, nodes.list(&one)));
    let no_pods = pods.err().map(|error| error.to_string());
    Ok(ClusterInfo { version, namespace, no_pods, no_nodes: nodes.err().map(|error| error.to_string()) })
}
