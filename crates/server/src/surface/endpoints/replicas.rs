//! `…/replicas`: what runs for an endpoint.

use super::Desk;
use super::ask::{Ask, List, Reply};
use super::describe::ReplicaList;
use super::error::Refused;
use control::endpoints::{self, EndpointRef};

/// The newest replicas of an endpoint, ended ones among them.
#[utoipa::path(get, path = "/v1/endpoints/{endpoint}/replicas", operation_id = "listEndpointReplicas",
    tag = "endpoints", responses((status = 200, body = ReplicaList)))]
pub(super) async fn list(desk: &Desk, ask: &Ask, which: &str) -> Result<Reply, Refused> {
    let found = endpoints::replicas(&desk.people.store, ask.scope(), &EndpointRef::parse(which)?).await?;
    Ok(Reply::json(&List::whole(found))?)
}
