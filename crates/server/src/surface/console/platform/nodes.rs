//! `/api/nodes`: the processes that serve from this store.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{Id, List, NodeId, Operator, PageRequest};
use axum::Json;
use control::nodes;
use http::StatusCode;
use view::NodeView;

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
    nodes::forget(caller.command(), &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
