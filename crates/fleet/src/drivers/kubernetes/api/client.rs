//! The client of the API server.

use crate::drivers::kubernetes::settings::Access;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why the cluster cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error("invalid kubeconfig: {0}")]
    Kubeconfig(#[source] Box<kube::config::KubeconfigError>),
    #[error("no service account is mounted: {0}")]
    ServiceAccount(#[source] kube::config::InClusterError),
    #[error("invalid certificates for the cluster: {0}")]
    Client(#[source] Box<kube::Error>),
}

/// Creates a client, and returns the default namespace of its account. Makes no request.
pub(in crate::drivers::kubernetes) async fn open(access: &Access) -> Result<(Client, String), AccessError> {
    let mut config = match access {
        Access::ServiceAccount => Config::incluster().map_err(AccessError::ServiceAccount)?,
        Access::Kubeconfig { file, context } => {
            let invalid = |error| AccessError::Kubeconfig(Box::new(error));
            let kubeconfig = Kubeconfig::read_from(file).map_err(invalid)?;
            let options = KubeConfigOptions { context: context.clone(), ..KubeConfigOptions::default() };
            Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(invalid)?
        }
    };
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    let namespace = config.default_namespace.clone();
    let client = Client::try_from(config).map_err(|error| AccessError::Client(Box::new(error)))?;
    Ok((client, namespace))
}
