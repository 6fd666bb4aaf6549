//! The way to the API server.

use crate::drivers::kubernetes::settings::Access;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::time::Duration;

const CONNECT_TIME: Duration = Duration::from_secs(10);

/// Why the cluster cannot even be asked.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error("the kubeconfig cannot be used: {0}")]
    Kubeconfig(#[source] Box<kube::config::KubeconfigError>),
    #[error("no service account is mounted here: {0}")]
    ServiceAccount(#[source] kube::config::InClusterError),
    #[error("the certificates for the cluster cannot be used: {0}")]
    Client(#[source] Box<kube::Error>),
}

/// A client, and the namespace of the account that it uses. Nothing is asked yet.
pub(in crate::drivers::kubernetes) async fn open(access: &Access) -> Result<(Client, String), AccessError> {
    let mut config = match access {
        Access::ServiceAccount => Config::incluster().map_err(AccessError::ServiceAccount)?,
        Access::Kubeconfig { file, context } => {
            let bad = |error| AccessError::Kubeconfig(Box::new(error));
            let read = Kubeconfig::read_from(file).map_err(bad)?;
            let options = KubeConfigOptions { context: context.clone(), ..KubeConfigOptions::default() };
            Config::from_custom_kubeconfig(read, &options).await.map_err(bad)?
        }
    };
    config.connect_timeout = Some(CONNECT_TIME);
    let namespace = config.default_namespace.clone();
    let client = Client::try_from(config).map_err(|error| AccessError::Client(Box::new(error)))?;
    Ok((client, namespace))
}
