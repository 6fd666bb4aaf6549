//! A read-only check of the cluster, for `forebay doctor`.

use super::client::{self, AccessError};
use super::requests::within;
use crate::drivers::kubernetes::{ClusterInfo, Settings, engine_of, pod};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::ListParams;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

const TIMEOUT: Duration = Duration::from_secs(5);
/// Replicas that are called.
const REPLICAS: u32 = 100;

#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("the API server does not respond: {0}")]
    Server(String),
}

/// Reads the version of the server, checks which objects may be listed, and calls replicas without their keys. Changes nothing.
pub async fn inspect(settings: &Settings) -> Result<ClusterInfo, InspectError> {
    let (client, own_namespace) = client::open(&settings.access).await?;
    let namespace = settings.namespace.clone().unwrap_or(own_namespace);
    let version = within(TIMEOUT, client.apiserver_version()).await;
    let version = version.map_err(|error| InspectError::Server(error.to_string()))?.git_version;
    let (pods, nodes) = (Api::<Pod>::namespaced(client.clone(), &namespace), Api::<Node>::all(client));
    let replicas =
        ListParams::default().labels(&format!("app.kubernetes.io/managed-by={}", pod::MANAGER)).limit(REPLICAS);
    let one = ListParams::default().limit(1);
    let (pods, nodes) = tokio::join!(within(TIMEOUT, pods.list(&replicas)), within(TIMEOUT, nodes.list(&one)));
    let (unprotected, has_more_pods, pods_error) = match pods {
        Ok(found) => {
            let has_more = found.metadata.continue_.is_some_and(|token| !token.is_empty());
            (unprotected(found.items, settings.port).await, has_more, None)
        }
        Err(error) => (Vec::new(), false, Some(error.to_string())),
    };
    let nodes_error = nodes.err().map(|error| error.to_string());
    Ok(ClusterInfo { version, namespace, unprotected, has_more_pods, pods_error, nodes_error })
}

/// The Pods whose engines serve their API without a key, of those that can be reached from here. Other routes of vLLM need
/// none, so they are not tried: policies of the network guard them.
async fn unprotected(pods: Vec<Pod>, port: u16) -> Vec<String> {
    let mut calls = JoinSet::new();
    for pod in pods {
        let engine = engine_of(&pod, port);
        calls.spawn(async move {
            let is_open = timeout(TIMEOUT, engine?.serves_api()).await.ok()??;
            if is_open { pod.metadata.name } else { None }
        });
    }
    let mut unprotected: Vec<String> = calls.join_all().await.into_iter().flatten().collect();
    unprotected.sort_unstable();
    unprotected
}
