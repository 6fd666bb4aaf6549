//! Checks the stored commitments.

use crate::endpoints::EndpointError;
use domain::endpoint::state::committed;
use domain::{EndpointId, EndpointName};
use store::{Store, endpoints};

/// An endpoint whose stored commitment is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub endpoint: EndpointId,
    pub name: EndpointName,
    pub written: u32,
    pub expected: u32,
}

/// Recomputes every commitment and compares it with the stored one. Nothing is corrected: a difference is a bug, and
/// hiding it would not help.
pub async fn find_differences(store: &Store) -> Result<Vec<Difference>, EndpointError> {
    let mut differences = Vec::new();
    for endpoint in endpoints::list_all(store).await? {
        let expected = committed(endpoint.state, endpoint.scaling.mode, endpoint.gpu_count());
        if endpoint.committed_gpus != expected {
            let (name, written) = (endpoint.name, endpoint.committed_gpus);
            tracing::error!(endpoint.name = %name, written, expected, "endpoint {name} commits {written} GPUs, not {expected}");
            differences.push(Difference { endpoint: endpoint.id, name, written, expected });
        }
    }
    Ok(differences)
}
