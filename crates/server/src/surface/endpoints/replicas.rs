//! `…/replicas`: the replicas of an endpoint.

use super::Endpoints;
use super::error::ProblemError;
use super::request::{EndpointPath, ReadRequest};
use super::wire::ReplicaList;
use axum::Json;
use axum::extract::State;
use control::endpoints;

/// The newest replicas of an endpoint, including ended ones.
#[utoipa::path(get, path = "/v1/endpoints/{endpoint}/replicas", operation_id = "listEndpointReplicas",
    tag = "endpoints", responses((status = 200, body = ReplicaList)))]
pub(super) async fn list(
    State(context): State<Endpoints>,
    request: ReadRequest,
    path: EndpointPath,
) -> Result<Json<ReplicaList>, ProblemError> {
    let found = endpoints::replicas(&context.surface.store, request.scope(), &path.choice()?).await?;
    Ok(Json(ReplicaList::new(found, None)))
}
