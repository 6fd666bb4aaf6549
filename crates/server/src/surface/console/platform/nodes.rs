//! `/api/nodes`: the processes that serve from this store.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{Id, List, NodeId, Operator, PageRequest};
use axum::Json;
use control::nodes;
use domain::Timestamp;
use http::StatusCode;
use serde::Serialize;
use store::nodes::Node;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Node)]
pub(crate) struct NodeView {
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
#[utoipa::path(get, path = "/api/nodes", tag = "operator", params(PageRequest),
    responses((status = 200, body = List<NodeView>)))]
pub(crate) async fn list(Operator(caller): Operator, page: PageRequest) -> Result<Json<List<NodeView>>, ConsoleError> {
    let found = nodes::list(caller.store(), page.to_page()).await?;
    Ok(Json(List::new(found, &page, |node| node.id.clone(), NodeView::from)))
}

/// Remove a node that is gone for good.
#[utoipa::path(delete, path = "/api/nodes/{nodeId}", tag = "operator", responses((status = 204)))]
pub(crate) async fn forget(Operator(caller): Operator, Id(NodeId(id)): Id<NodeId>) -> Result<StatusCode, ConsoleError> {
    nodes::forget(caller.store(), &caller.author(), &id, caller.now()).await?;
    Ok(StatusCode::NO_CONTENT)
}
