//! `/api/nodes`: the processes that serve from this store.

use super::Console;
use super::caller::Operator;
use super::error::Refused;
use super::list::{List, PageAsked};
use super::path::{Id, NodeId};
use axum::Json;
use axum::extract::State;
use control::nodes;
use domain::Timestamp;
use http::StatusCode;
use serde::Serialize;
use store::nodes::Node;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Node)]
pub(super) struct NodeView {
    id: String,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    seen_at: Timestamp,
    catalogue_hash: String,
}

impl From<Node> for NodeView {
    fn from(node: Node) -> Self {
        let Node { id, started_at, seen_at, catalogue_hash } = node;
        Self { id, started_at, seen_at, catalogue_hash }
    }
}

/// All nodes.
#[utoipa::path(get, path = "/api/nodes", tag = "operator", params(PageAsked),
    responses((status = 200, body = List<NodeView>)))]
pub(super) async fn list(
    State(console): State<Console>,
    _: Operator,
    asked: PageAsked,
) -> Result<Json<List<NodeView>>, Refused> {
    let found = nodes::list(&console.people.store, asked.page()).await?;
    Ok(Json(List::new(found, &asked, |node| node.id.clone(), NodeView::from)))
}

/// Remove a node that will not come back.
#[utoipa::path(delete, path = "/api/nodes/{nodeId}", tag = "operator", responses((status = 204)))]
pub(super) async fn forget(
    State(console): State<Console>,
    Operator(caller): Operator,
    Id(NodeId(id)): Id<NodeId>,
) -> Result<StatusCode, Refused> {
    nodes::forget(&console.people.store, &caller.author(), &id, caller.now()).await?;
    Ok(StatusCode::NO_CONTENT)
}
