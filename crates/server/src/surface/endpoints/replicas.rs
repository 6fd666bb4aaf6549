//! `…/replicas`: the replicas of an endpoint.

use super::error::ProblemError;
use super::request::{EndpointPath, ReadRequest};
use super::wire::ReplicaList;
use axum::Json;
use control::endpoints;

/// The newest replicas of an endpoint, including ended ones.
#[utoipa::path(get, path = "/v1/endpoints/{endpoint}/replicas", operation_id = "listEndpointReplicas",
    tag = "endpoints", responses((status = 200, body = ReplicaList)))]
pub(super) async fn list(request: ReadRequest, path: EndpointPath) -> Result<Json<ReplicaList>, ProblemError> {
    let found = endpoints::replicas(request.store(), request.scope(), &path.choice()?).await?;
    Ok(Json(ReplicaList::new(found, None)))
}
