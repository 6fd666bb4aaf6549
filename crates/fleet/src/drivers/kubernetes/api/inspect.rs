//! A read-only check of the cluster, for `forebay doctor`.

use super::client::{self, AccessError};
use super::requests::within;
use crate::drivers::kubernetes::{ClusterInfo, Settings};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::ListParams;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("the API server does not respond: {0}")]
    Server(String),
}

/// Reads the version of the server and checks which objects may be listed. Changes nothing.
pub async fn inspect(settings: &Settings) -> Result<ClusterInfo, InspectError> {
    let (client, own_namespace) = client::open(&settings.access).await?;
    let namespace = settings.namespace.clone().unwrap_or(own_namespace);
    let version = within(TIMEOUT, client.apiserver_version()).await;
    let version = version.map_err(|error| InspectError::Server(error.to_string()))?.git_version;
    let (pods, nodes) = (Api::<Pod>::namespaced(client.clone(), &namespace), Api::<Node>::all(client));
    let one = ListParams::default().limit(1);
    let (pods, nodes) = tokio::join!(within(TIMEOUT, pods.list(&one)), within(TIMEOUT, nodes.list(&one)));
    let pods_error = pods.err().map(|error| error.to_string());
    Ok(ClusterInfo { version, namespace, pods_error, nodes_error: nodes.err().map(|error| error.to_string()) })
}
