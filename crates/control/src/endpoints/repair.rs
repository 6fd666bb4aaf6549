use super::Refusal;
use domain::endpoint::state::committed;
use domain::{EndpointId, EndpointName};
use store::{Store, endpoints};

/// An endpoint whose row commits something else than it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub endpoint: EndpointId,
    pub name: EndpointName,
    pub written: u32,
    pub expected: u32,
}

/// Computes every commitment again. A difference is a bug to be looked at, so nothing is corrected in silence.
pub async fn find_differences(store: &Store) -> Result<Vec<Difference>, Refusal> {
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
